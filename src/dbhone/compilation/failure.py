"""What a failed build says of its cause, out of its log."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_ERROR_LINE = re.compile(r"\berror[: ]|\*\*\* ", re.IGNORECASE)
_NO_ERROR = ("$ ", "-- ")
"""How the command's own line begins, and CMake's about what it found or did not."""
_EXCERPT = re.compile(r"\s*\d*\s\|")
"""How a compiler's quotation of the source begins, which may speak of errors, too."""
_CMAKE = re.compile(r"CMake Error(?: at (\S+) \(.*\):|: |:$)")
_NO_HEADER = re.compile(r"fatal error: .*(?:No such file or directory|file not found)")
"""What gcc and clang say of a header that is not there."""
_LONGEST = 300


def first_error(text: str) -> str | None:
    """Return the first error that a build's log tells, in one line; None if it tells none.

    CMake puts only the place in its first line, and the reason, indented, in those below.
    """
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(_NO_ERROR) and not _EXCERPT.match(line)
    ]
    for number, line in enumerate(lines):
        found = _CMAKE.match(line)
        if found:
            return _cmake_error(line, found.group(1), lines[number + 1 :])[:_LONGEST]
        if _ERROR_LINE.search(line):
            return line.strip()[:_LONGEST]
    return None


def lacks_header(cause: str) -> bool:
    """Return whether the cause of a failure is a header that the machine may lack."""
    return _NO_HEADER.search(cause) is not None


def _cmake_error(line: str, place: str | None, below: Sequence[str]) -> str:
    texts = itertools.takewhile(
        lambda each: each.startswith(" "), itertools.dropwhile(lambda each: not each.strip(), below)
    )
    reason = " ".join(text.strip() for text in texts)
    if not reason:
        return line.strip()
    return f"{place}: {reason}" if place else reason
