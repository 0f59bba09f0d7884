"""The real servers of this machine's distribution."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from dbhone import process
from dbhone.dbms.base_server import Installation, ServerDbms
from dbhone.dbms.mariadb import MariaDb as Mariadb
from dbhone.dbms.postgresql import Postgresql

__all__ = ["MARIADB", "POSTGRESQL", "Mariadb", "Postgresql", "installed"]

POSTGRESQL = Path("/usr/lib/postgresql/15")
MARIADB = Path("/usr")


def installed(dbms: ServerDbms, prefix: Path) -> Installation | None:
    """Return the server with the version that it tells."""
    found = dbms.installation(prefix)
    if found is None:
        return None
    said = process.output_of((str(found.server), "--version")) or ""
    version = re.search(r"\d+\.\d+(\.\d+)?", said)
    return dataclasses.replace(found, version=version[0] if version else "")
