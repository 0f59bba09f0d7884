"""Tells how far compiling has come, from what the build system prints and what was recorded."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL = 4096
_STEP = b"\n$ "
"""Begins the line of the log that says what a step runs."""
_COUNTS = re.compile(rb"^\[ *(\d+)/(\d+)\] ", re.MULTILINE)
"""As ninja numbers its lines."""
_SHARES = re.compile(rb"^\[ *(\d+%)\] ", re.MULTILINE)
"""As CMake has make number them."""


def advance(log: Path, commands: Path) -> str:
    """Say how much is done, for people: ``468 of 2,363``, ``45%`` or ``120 files``; '' at first.

    The build system's own count is told, since it alone knows the whole; where it does not
    count, the commands that ``commands`` has a line for.
    """
    printed = _end_of(log)
    if counts := _COUNTS.findall(printed):
        done, whole = counts[-1]
        return f"{int(done):,} of {int(whole):,}"
    if shares := _SHARES.findall(printed):
        return str(shares[-1].decode())
    done = _lines_of(commands)
    return f"{done:,} files" if done else ""


def _end_of(file: Path) -> bytes:
    """Return the last that the step which is running printed."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - _TAIL))
        return opened.read().rpartition(_STEP)[2]


def _lines_of(file: Path) -> int:
    try:
        with file.open("rb") as opened:
            return sum(1 for _ in opened)
    except FileNotFoundError:
        return 0
