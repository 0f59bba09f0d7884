"""Which versions of a DBMS something holds for: options, settings, fixes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

Numbers = tuple[int, ...]
_LEADING = re.compile(r"\d+(?:\.\d+)*")


def numbers(version: str) -> Numbers:
    """Return the numbers that a version begins with: (8, 0, 36) of ``8.0.36-28``."""
    found = _LEADING.match(version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """The versions from ``since`` on and before ``until``; an empty text is no limit."""

    since: str = ""
    until: str = ""

    def holds(self, version: str) -> bool:
        """Return whether a version is one of them. 8.0.12 is not before ``until="8.0"``."""
        here = numbers(version)
        return numbers(self.since) <= here and (not self.until or here < numbers(self.until))

    def __str__(self) -> str:
        """Return it in words."""
        since = f"{self.since} and newer" if self.since else "all versions"
        if not self.until:
            return since
        return f"{self.since} to before {self.until}" if self.since else f"before {self.until}"


ALWAYS = VersionRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A build option with the value that hone gives it, in the versions that have it so."""

    name: str
    value: str
    span: VersionRange = ALWAYS


HasSpan = TypeVar("HasSpan", bound=Option)


def options_of(table: Iterable[HasSpan], version: str) -> tuple[HasSpan, ...]:
    """Return the options of a table that hold for a version, in the table's order."""
    return tuple(each for each in table if each.span.holds(version))
