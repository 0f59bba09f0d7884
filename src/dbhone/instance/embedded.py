"""Instances of embedded systems: no server, only a private place for a database file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dbhone.files import remove_tree
from dbhone.home import Session


@contextlib.contextmanager
def fresh_database(session: Session) -> Iterator[Path]:
    """Yield the path of a database file that does not exist yet, in a folder of its own.

    The folder is private and goes when the instance ends.
    """
    folder = session.workdir("data")
    try:
        yield folder / "database"
    finally:
        remove_tree(folder)
