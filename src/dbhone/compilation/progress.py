"""Computes the progress of a compilation from its log and from the recorded commands."""

from __future__ import annotations

import re
from pathlib import Path

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
    the lines of the file ``commands`` do: one for each compile command.
    """
    printed = _end_of(log)
    if counts := _COUNTS.findall(printed):
        done, total = counts[-1]
        return f"{int(done):,} of {int(total):,}"
    if shares := _SHARES.findall(printed):
        return str(shares[-1].decode())
    done = _lines_of(commands)
    return f"{done:,} files" if done else ""


def _end_of(file: Path) -> bytes:
    """Return the end of the log, as far as the running step printed it."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - _TAIL))
        return opened.read().rpartition(_STEP)[2]


def _lines_of(file: Path) -> int:
    try:
        with file.open("rb") as opened:
            return sum(1 for _ in opened)
    except FileNotFoundError:
        return 0
