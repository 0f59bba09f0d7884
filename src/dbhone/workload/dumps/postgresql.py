"""Dumps of PostgreSQL: SQL, or the custom format of pg_dump."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from dbhone import process
from dbhone.command import Command
from dbhone.dbms.base_protocol import Endpoint
from dbhone.workload.client_programs import distributed_program, postgresql_program
from dbhone.workload.dumps.base import DumpProgram, Dumps, head_of, lines_of

EXTENSIONS_HINT = (
    "hone's own build of PostgreSQL has no extension but plpgsql; builds by Debian's rules have"
    " those of PostgreSQL's source, but not PostGIS or others: 'hone tune --packaging deb', or"
    ' packaging = "deb" in an experiment'
)
_NEWER_HINT = (
    "the dump seems to be of a newer version than the server, or than the client programs;"
    " those for PostgreSQL 15 are in the package postgresql-client-15"
)
_CUSTOM = b"PGDMP"
_NOBODYS = ("--no-owner", "--no-privileges")
_NAME = r"(?:\"(?:[^\"]|\"\")+\"|\w+)"
_NAMED_ROLES = re.compile(
    r"(?:ALTER [^;\n]* OWNER TO|GRANT [^;\n]* TO|REVOKE [^;\n]* FROM|ALTER DEFAULT PRIVILEGES"
    rf" FOR ROLE|CREATE POLICY {_NAME} ON {_NAME}\.{_NAME}(?: AS \w+)?(?: FOR \w+)? TO)"
    rf" ({_NAME}(?:, {_NAME})*)"
)
_ROLE = re.compile(_NAME)
_NO_ROLES = frozenset({"PUBLIC", "public", "CURRENT_USER", "SESSION_USER", "dbhone"})
_PREDEFINED = ("pg_", '"pg_')
_MOST_ROLES = 500
_LOCALE = re.compile(r"^CREATE DATABASE .*\b(?:ICU_LOCALE|LC_COLLATE|LOCALE) = '([^']+)'")
_EXTENSION = re.compile(r"^CREATE EXTENSION (?:IF NOT EXISTS )?(\"[^\"\n]+\"|\w+)", re.MULTILINE)
_LISTED = re.compile(r"^\d+; \d+ \d+ EXTENSION - (\S+)", re.MULTILINE)
_ROWS = re.compile(r"^(?:COPY|INSERT INTO) ", re.MULTILINE)


class PostgresqlDumps(Dumps):
    """What pg_dump makes. A database sees no other, so its name does not matter."""

    programs = (DumpProgram("postgresql", ("pg_dump", "-Fc"), ".dump"),)
    errors = (
        re.compile(r"^psql:[^\n]*?: (?:ERROR|FATAL|error): +(.*)$", re.MULTILINE),
        re.compile(r"^psql: error: +(.*)$", re.MULTILINE),
        re.compile(r"^pg_restore: error: +(.*)$", re.MULTILINE),
    )
    hints: ClassVar = {
        re.compile(
            r"extension \"[^\"]+\" is not available|extension control file"
        ): EXTENSIONS_HINT,
        re.compile(
            r"unsupported version \(|unrecognized configuration parameter"
            r"|invalid command \\restrict"
        ): _NEWER_HINT,
        re.compile(r"default_tablespace|tablespace \"[^\n]*\" does not exist"): (
            "dump without tablespaces: pg_dump --no-tablespaces, or -Fc"
        ),
    }

    def check(self, dump: Path) -> None:
        """Look at the beginning of a dump in SQL; one in the custom format is known by its own."""
        if not _is_custom(dump):
            super().check(dump)

    def other_locale(self, dump: Path) -> str | None:
        """Return the locale unless it is C; a dump in SQL says it if it creates the database."""
        if _is_custom(dump):
            lines: Iterable[str] = _schema(dump, "--create")
        else:
            lines = head_of(dump).decode("utf-8", "replace").splitlines()
        found = next(filter(None, map(_LOCALE.match, lines)), None)
        return found[1] if found and found[1] not in ("C", "POSIX") else None

    def extensions(self, dump: Path) -> tuple[str, ...]:
        """Return the extensions that a dump creates before its first row."""
        if _is_custom(dump):
            program = distributed_program("pg_restore") or "pg_restore"
            found = _LISTED.findall(process.output_of((program, "--list", str(dump))) or "")
        else:
            before_rows = _ROWS.split(head_of(dump).decode(errors="replace"), maxsplit=1)[0]
            found = [name.strip('"') for name in _EXTENSION.findall(before_rows)]
        return tuple(dict.fromkeys(found))

    def statements_before(self, dump: Path, database: str | None) -> tuple[str, ...]:
        """Return what makes the roles that a dump names; without them it cannot be restored."""
        del database
        roles = _roles(_schema(dump) if _is_custom(dump) else lines_of(dump))
        return tuple(f"CREATE ROLE {role}" for role in roles)

    def load_command(self, endpoint: Endpoint, dump: Path, database: str | None) -> tuple[str, ...]:
        """Return the command of pg_restore or psql, of the server's own version."""
        del database
        where = (
            *("-h", str(endpoint.socket.parent), "-p", str(endpoint.port)),
            *("-U", endpoint.user, "-d", endpoint.database),
        )
        if _is_custom(dump):
            program = postgresql_program("pg_restore", endpoint.version)
            return (program, *_NOBODYS, "--no-tablespaces", "--exit-on-error", "--jobs=1", *where)
        self.check(dump)
        program = postgresql_program("psql", endpoint.version)
        return (program, "-X", "-q", "-v", "ON_ERROR_STOP=1", *where, "-f", "-")


def _is_custom(dump: Path) -> bool:
    return head_of(dump).startswith(_CUSTOM)


def _schema(dump: Path, *options: str) -> Iterator[str]:
    """Yield the lines of a dump in the custom format as SQL, without its rows."""
    argv = (postgresql_program("pg_restore"), *_NOBODYS, "--schema-only", *options, "-f", "-")
    yield from process.lines(Command(argv=(*argv, str(dump)), cwd=Path("/"), isolated=True))


def _roles(lines: Iterable[str]) -> list[str]:
    """Return the roles that a dump in SQL names."""
    roles: dict[str, None] = {}
    for line in lines:
        found = _NAMED_ROLES.match(line)
        for role in _ROLE.findall(found[1]) if found else ():
            own = role in _NO_ROLES or role.startswith(_PREDEFINED)
            if not own and len(roles) < _MOST_ROLES:
                roles[role] = None
    return list(roles)


PLUGIN = PostgresqlDumps()
