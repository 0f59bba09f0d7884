"""Finds the client programs that belong to a DBMS, such as psql and pg_dump."""

from __future__ import annotations

import shutil
from pathlib import Path

from dbhone.errors import ToolError
from dbhone.requirements import Missing, Requirement
from dbhone.versions import numbers

_DEBIAN = Path("/usr/lib/postgresql")


def distributed_program(name: str, server: str = "") -> str | None:
    """Return Debian's program of PostgreSQL: the one in the path would ask for clusters.

    It is the oldest that is not older than the server's version, because pg_restore since 17 sets
    what older servers do not know. Without such a program, or without a version, it is the newest.
    """
    folders = {
        int(path.parents[1].name): path
        for path in _DEBIAN.glob(f"*/bin/{name}")
        if path.parents[1].name.isdigit()
    }
    if not folders:
        return None
    wanted = numbers(server)[:1] or (max(folders),)
    chosen = min((major for major in folders if (major,) >= wanted), default=max(folders))
    return str(folders[chosen])


def postgresql_program(name: str, server: str = "") -> str:
    """Return a client program of PostgreSQL, for a server of this version.

    Raises ToolError if it is not installed.
    """
    return distributed_program(name, server) or client_program((name,), "postgresql-client")


def client_program(names: tuple[str, ...], package: str) -> str:
    """Return the first program that is installed. Raises ToolError that names the package."""
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return found
    need = Requirement(name=names[0], package=package)
    raise ToolError(
        f"the program {names[0]} is not installed", hint=Missing(requirements=(need,)).advice()
    )
