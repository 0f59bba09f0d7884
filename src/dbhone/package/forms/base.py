"""What a form of packages promises."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dbhone.package.packing import Package

DRAWER = "dbhone.package.forms"


class Form(ABC):
    """A kind of file that a package is written as."""

    name: str
    suffix: str

    @abstractmethod
    def render(self, package: Package) -> bytes:
        """Return the file."""
