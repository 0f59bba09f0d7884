"""What servers write: kept where an error can name it, and searched for a full disk."""

from __future__ import annotations

import contextlib
import re
import shutil
import uuid
from pathlib import Path

from dbhone.dbms.base_server import InstanceDir
from dbhone.errors import MachineError
from dbhone.home import Home

_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|[Dd]isk (is )?full\b")


def read_log(log: Path, *, start: int = 0) -> str:
    """Return what a log has from byte ``start`` on; nothing if it does not exist."""
    try:
        with log.open("rb") as file:
            file.seek(start)
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def keep_log(log: Path, home: Home, name: str) -> Path | None:
    """Copy a log to where it stays; None if that is not possible, say on a full disk."""
    kept = home.logs / f"{name}-{uuid.uuid4().hex[:8]}.log"
    with contextlib.suppress(OSError):
        shutil.copyfile(log, kept)
        return kept
    return None


def check_space(text: str, place: InstanceDir, log: Path | None) -> None:
    """Raise MachineError if a log's text says that the disk is full."""
    if _NO_SPACE.search(text):
        raise MachineError(
            f"no space left for the data directory {place.data}",
            hint="free some space ('hone builds --prune' removes builds), then run the same again",
            log=log,
        )
