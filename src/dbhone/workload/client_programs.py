"""Finds the client programs that belong to a DBMS, such as psql and pg_dump."""

from __future__ import annotations

import shutil
from pathlib import Path

from dbhone.errors import ToolError

_DEBIAN = Path("/usr/lib/postgresql")


def distributed_program(name: str) -> str | None:
    """Return Debian's newest program of PostgreSQL: the one in the path would ask for clusters."""
    versions = sorted(
        (path for path in _DEBIAN.glob(f"*/bin/{name}") if path.parts[4].isdigit()),
        key=lambda path: int(path.parts[4]),
    )
    return str(versions[-1]) if versions else None


def postgresql_program(name: str) -> str:
    """Return a client program of PostgreSQL. Raises ToolError if it is not installed."""
    return distributed_program(name) or client_program((name,), "postgresql-client")


def client_program(names: tuple[str, ...], package: str) -> str:
    """Return the first program that is installed. Raises ToolError that names the package."""
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return found
    raise ToolError(
        f"the program {names[0]} is not installed", hint=f"install it: apt-get install {package}"
    )
