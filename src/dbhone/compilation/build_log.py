"""What the log of a build shows: how far compiling is, and why it failed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from dbhone.compilation.compile_commands import count_commands

_ERROR_LINE = re.compile(r"\berror(?::| while )|^error |\*\*\* ", re.IGNORECASE)
"""An error of a compiler, linker or loader, of a program such as cmake -E, or of make itself.

The word alone is also the name of a folder, as in PostgreSQL's ``make -C error all``.
"""
_NO_ERROR = ("$ ", "-- ")
"""The beginnings of the line with the command, and of CMake's lines about its checks."""
_EXCERPT = re.compile(r"\s*\d*\s\|")
"""The beginning of a line of source that a compiler quotes; it may contain "error", too."""
_CMAKE = re.compile(r"CMake Error(?: at (\S+) \(.*\):|: |:$)")
_NO_HEADER = re.compile(r"fatal error: .*(?:No such file or directory|file not found)")
"""The message of gcc and clang for a missing header."""
_LONGEST = 300


def last_step(text: str) -> str:
    """Return the part of a log that begins with the command of the last step."""
    return text[text.rfind("\n$ ") + 1 :]


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


_TAIL = 4096
_STEP = b"\n$ "
"""The beginning of the line of the log with the command of a step."""
_COUNTS = re.compile(rb"^\[ *(\d+)/(\d+)\] ", re.MULTILINE)
"""The numbers in the lines of ninja."""
_SHARES = re.compile(rb"^\[ *(\d+%)\] ", re.MULTILINE)
"""The shares in the lines of make, where CMake wrote the makefiles."""


def advance(log: Path, commands: Path) -> str:
    """Return the progress for people: ``468 of 2,363``, ``45%`` or ``120 files``; '' at first.

    Only the build system knows the total, so its own count is preferred. Where it does not count,
    the records in the file ``commands`` do: one for each compile command. Raises BuildError for a
    file that no compiler wrote.
    """
    printed = _end_of(log)
    if counts := _COUNTS.findall(printed):
        done, total = counts[-1]
        return f"{int(done):,} of {int(total):,}"
    if shares := _SHARES.findall(printed):
        return str(shares[-1].decode())
    done = count_commands(commands)
    return f"{done:,} files" if done else ""


def _end_of(file: Path) -> bytes:
    """Return the end of the log, as far as the running step printed it."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - _TAIL))
        return opened.read().rpartition(_STEP)[2]
