"""What it took to load kept data and to copy it, by which a plan tells what it takes again.

The facts are in a file beside the data, which goes with it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import UntrustedFileError
from dbhone.files import write_whole
from dbhone.home import Home
from dbhone.untrusted_files import walk

_FILE = "facts.json"
_BLOCK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """How long data of this ``volume``, in the driver's own unit, took to be loaded and copied.

    ``copy_seconds`` is None until it was copied.
    """

    dbms: str
    driver: str
    volume: float
    load_seconds: float
    copy_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFacts:
    """The facts of some kept data, and how many bytes of disk it takes."""

    facts: DataFacts
    size: int


def note_load(kept: Path, facts: DataFacts) -> None:
    """Keep what loading took beside the data."""
    write_whole(kept / _FILE, json.dumps(dataclasses.asdict(facts)))


def note_copy(kept: Path, seconds: float) -> None:
    """Keep how long the first copy took, if it is known what loading took."""
    facts = _facts_of(kept)
    if facts is not None and facts.copy_seconds is None:
        note_load(kept, dataclasses.replace(facts, copy_seconds=seconds))


def kept_facts(home: Home) -> Iterator[KeptFacts]:
    """Yield what is known of all kept data."""
    for kept in sorted(home.data.iterdir()) if home.data.is_dir() else ():
        facts = _facts_of(kept)
        if facts is not None:
            yield KeptFacts(facts=facts, size=disk_size(kept))


def _facts_of(kept: Path) -> DataFacts | None:
    """Return the facts; None of data of an older hone, or where they make no sense."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return DataFacts(**json.loads((kept / _FILE).read_text(encoding="utf-8")))
    return None


def disk_size(folder: Path) -> int:
    """Return how many bytes of disk the files below a folder take, 0 if it cannot be read."""
    size = 0
    with contextlib.suppress(OSError, UntrustedFileError):
        for found, _, names in walk(folder):
            size += sum((found / name).lstat().st_blocks * _BLOCK for name in names)
    return size
