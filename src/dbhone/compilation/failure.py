"""Finds the cause of a failed build in its log."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_ERROR_LINE = re.compile(r"\berror[: ]|\*\*\* ", re.IGNORECASE)
_NO_ERROR = ("$ ", "-- ")
"""The beginnings of the line with the command, and of CMake's lines about its checks."""
_EXCERPT = re.compile(r"\s*\d*\s\|")
"""The beginning of a line of source that a compiler quotes; it may contain "error", too."""
_CMAKE = re.compile(r"CMake Error(?: at (\S+) \(.*\):|: |:$)")
_NO_HEADER = re.compile(r"fatal error: .*(?:No such file or directory|file not found)")
"""The message of gcc and clang for a missing header."""
_LONGEST = 300


def first_error(text: str) -> str | None:
    """Return the first error in a build's log, in one line; None if there is none.

    The first line of an error of CMake's has only the place. The reason follows, indented.
    """
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(_NO_ERROR) and not _EXCERPT.match(line)
    ]
    for number, line in enumerate(lines):
        match = _CMAKE.match(line)
        if match:
            return _cmake_error(line, match[1], lines[number + 1 :])[:_LONGEST]
        if _ERROR_LINE.search(line):
            return line.strip()[:_LONGEST]
    return None


def lacks_header(cause: str) -> bool:
    """Return whether the cause of a failure is a header that the machine may lack."""
    return _NO_HEADER.search(cause) is not None


def _cmake_error(line: str, place: str | None, below: Sequence[str]) -> str:
    text = itertools.dropwhile(lambda line: not line.strip(), below)
    indented = itertools.takewhile(lambda line: line.startswith(" "), text)
    reason = " ".join(part.strip() for part in indented)
    if not reason:
        return line.strip()
    return f"{place}: {reason}" if place else reason
