"""Exit codes as ``git bisect run`` reads them: what ``hone compare --bisect`` says of a commit."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from dbhone.errors import HoneError

FLAG = "--bisect"


class BisectCode(IntEnum):
    """What git does next. It takes every other code below 128 for *bad*."""

    GOOD = 0
    BAD = 1
    SKIP = 125
    ABORT = 128


def code_of_error(error: HoneError, candidate: str) -> int:
    """Return the code for what ended a run: only what is the commit's own fault skips it."""
    return BisectCode.SKIP if error.subjects == (candidate,) else code_of_failure(error.exit_code)


def code_of_failure(code: int) -> int:
    """Return a code for a failure that git does not take for an answer."""
    return code if code >= BisectCode.ABORT or code == BisectCode.SKIP else BisectCode.ABORT


def bisects(arguments: Sequence[str]) -> bool:
    """Return whether the words of a command line ask for these codes."""
    return FLAG in arguments
