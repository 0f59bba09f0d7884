"""Recognises the DBMS whose source a tree is, and a tree that is a server instead."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dbhone import registry
from dbhone.dbms.base import DRAWER, Dbms
from dbhone.errors import SourceError
from dbhone.measurement.record import READY_MADE
from dbhone.source.ready_made import find_server

_NAME_READY_MADE = (
    f'say so: variant = "{READY_MADE}" in an experiment, --variant {READY_MADE} with hone build,'
    f" #{READY_MADE} after the source with hone compare"
)


def recognise(tree: Path, reference: str) -> str:
    """Return the name of the DBMS whose source tree this is.

    Raises SourceError, which calls the tree by its ``reference``, if it is none that hone knows.
    """
    known = registry.load_all(DRAWER, Dbms, what="DBMS")
    for name, dbms in known.items():
        with contextlib.suppress(SourceError):
            dbms.version(tree)
            return name
    titles = ", ".join(dbms.title for dbms in known.values())
    with naming_ready_made_servers(tree):
        raise SourceError(
            f"{reference} is not the source tree of a DBMS that hone knows ({titles})"
        )


@contextlib.contextmanager
def naming_ready_made_servers(tree: Path) -> Iterator[None]:
    """Give the error that a tree has no source a hint if the tree holds a ready-made server."""
    try:
        yield
    except SourceError as error:
        server = find_server(tree)
        if server is None:
            raise
        raise SourceError(
            f"{error.message}; it holds a ready-made server, {server.program.relative_to(tree)}",
            hint=_NAME_READY_MADE,
        ) from error
