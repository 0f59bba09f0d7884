"""Whether a server uses a data directory, which cannot be copied meanwhile."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from dbhone.errors import UntrustedFileError, UsageError
from dbhone.untrusted_files import open_untrusted

_POSTMASTERS = ("postgres", "postmaster")
_LOCKED = ("ibdata1", "aria_log_control")
"""Files that MySQL and MariaDB hold locked as long as they run."""
_FLOCK = "hhqqi4x"
"""The structure of fcntl(2): kind of lock, three words for the whole file, process."""


def check_unused(folder: Path) -> None:
    """Raise UsageError if a server of this machine uses the data directory."""
    if _has_postmaster(folder) or any(_is_locked(folder / name) for name in _LOCKED):
        raise UsageError(
            f"a running server uses {folder}: a copy would not be whole",
            hint="stop the server, or give a copy: a snapshot, or what pg_basebackup makes",
        )


def _has_postmaster(folder: Path) -> bool:
    """Return whether a process of PostgreSQL works in the folder.

    The number in postmaster.pid says little: in a container it counts for itself, and a snapshot of
    the folder has the file, too.
    """
    if not (folder / "postmaster.pid").exists():
        return False
    return any(_works_in(folder, process) for process in Path("/proc").glob("[0-9]*"))


def _works_in(folder: Path, process: Path) -> bool:
    try:
        is_postgresql = (process / "comm").read_text().strip() in _POSTMASTERS
        return is_postgresql and (process / "cwd").samefile(folder)
    except OSError:
        return False


def _is_locked(path: Path) -> bool:
    asked = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    try:
        with open_untrusted(path) as file:
            kind, *_ = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except (OSError, UntrustedFileError):
        return False
    return bool(kind != fcntl.F_UNLCK)
