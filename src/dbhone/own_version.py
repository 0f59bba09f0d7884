"""Which hone this is: its version and, in a clone, the commit."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from dbhone import __version__
from dbhone.process import output_of

_CLONE = Path(__file__).resolve().parents[2]
"""The clone's folder, if hone runs from one."""
_TIMEOUT = 5.0
_COMMIT = re.compile(r"([0-9a-f]{7,64})(-dirty)?\n")


@functools.cache
def own_version() -> str:
    """Return hone's version; in a clone with its commit, and whether files of it were changed.

    It is a local version as PEP 440 has it, such as ``0.1.0+gabcdef0.dirty``.
    """
    return __version__ + local_version(_CLONE)


def local_version(clone: Path) -> str:
    """Return what the commit of a clone adds to a version.

    That is nothing where there is no clone, no git, or no commit.
    """
    if not (clone / ".git").exists():
        return ""
    # git refuses the clone of another user, whose code we are running.
    trusted = ("-c", f"safe.directory={clone}")
    asked = ("describe", "--always", "--dirty", "--abbrev=7", "--exclude=*")
    git = ("git", "--no-optional-locks", "-C", str(clone))
    told = _COMMIT.fullmatch(output_of((*git, *trusted, *asked), timeout=_TIMEOUT) or "")
    return "" if told is None else f"+g{told[1]}{'.dirty' if told[2] else ''}"
