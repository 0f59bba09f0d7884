"""The real servers of this machine's distribution, without their recipes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from dbhone import process
from dbhone.dbms._mysql_life import MysqlLife
from dbhone.dbms._postgresql_life import PostgresqlLife
from dbhone.dbms.base import BuildRequest, Recipe
from dbhone.dbms.base_server import Installation, ServerDbms

POSTGRESQL = Path("/usr/lib/postgresql/15")
MARIADB = Path("/usr")


class _NeverBuilt:
    def version(self, tree: Path) -> str:
        raise NotImplementedError

    def recipe(self, request: BuildRequest) -> Recipe:
        raise NotImplementedError

    def required_programs(self, tree: Path) -> tuple[str, ...]:
        raise NotImplementedError


class Postgresql(_NeverBuilt, PostgresqlLife):
    name = "postgresql"
    title = "PostgreSQL"


class Mariadb(_NeverBuilt, MysqlLife):
    name = "mariadb"
    title = "MariaDB"


def installed(dbms: ServerDbms, prefix: Path) -> Installation | None:
    """Return the server with the version that it tells."""
    found = dbms.installation(prefix)
    if found is None:
        return None
    said = process.output_of((str(found.server), "--version")) or ""
    version = re.search(r"\d+\.\d+(\.\d+)?", said)
    return dataclasses.replace(found, version=version[0] if version else "")
