"""What a form of packages promises."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dbhone.package.archive import pack
from dbhone.package.image import Image
from dbhone.package.packing import Draft, Package
from dbhone.session import Session

DRAWER = "dbhone.package.forms"


class Form:
    """A kind of file that a package is written as: a tar, unless it says otherwise.

    With ``packaging`` the distribution's rules make what is in it, instead of hone's recipe.
    """

    name: str
    suffix: str
    packaging: str | None = None

    def render(self, package: Package) -> bytes:
        """Return the file."""
        return pack(package.entries, package.name, package.moment)


class ImageForm(Form, ABC):
    """A form in which the package stands in an image for containers."""

    @abstractmethod
    def image(self, draft: Draft, session: Session) -> Image:
        """Return what the image has besides the package."""
