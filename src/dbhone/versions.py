"""Versions: their numbers, their order, and ranges of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

Numbers = tuple[int, ...]
_NUMBER = r"\d{1,18}"
"""No version has a longer number, and Python makes none of thousands of digits."""
_LEADING = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})*")
_PARTS = re.compile(rf"{_NUMBER}|[A-Za-z]+")


def numbers(version: str) -> Numbers:
    """Return the numbers that a version begins with: (8, 0, 36) of ``8.0.36-28``."""
    match = _LEADING.match(version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def age(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts names of versions by age, such as 8.0.0-rc before 8.0.0."""
    parts = _PARTS.findall(name)
    return (
        *((1, int(part), "") if part.isdigit() else (-1, 0, part) for part in parts),
        (0, 0, ""),
    )


def names_version(text: str, version: str) -> bool:
    """Return whether a text has exactly this version in it: 10.11.18 does not have 10.11.1."""
    return re.search(rf"(?<![\d.]){re.escape(version)}(?!\.?\d)", text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """The versions from ``since`` on and before ``until``; an empty text is not a limit."""

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
