"""Files that a user asked for by name."""

from __future__ import annotations

from pathlib import Path

from dbhone.errors import UsageError, disk_full
from dbhone.files import write_whole


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file where the user wants it. Raises UsageError where that cannot be."""
    try:
        write_whole(path, content)
    except OSError as error:
        if disk_full(error, "writing") is not None:
            raise
        missing = not path.parent.exists()
        why = f"there is no folder {path.parent}" if missing else error.strerror
        raise UsageError(f"cannot write {path}: {why}", hint="name another file") from error
