"""Dumps of a user's database: the programs that make them, and those that restore them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError
from dbhone.workload.client_programs import (
    client_program,
    distributed_program,
    postgresql_program,
)


@dataclass(frozen=True, slots=True)
class DumpProgram:
    """A program that dumps databases of a DBMS and of others that speak its protocol.

    ``suffix`` is that of its files.
    """

    dbms: str
    protocol: str
    command: tuple[str, ...]
    suffix: str

    def line(self, database: str, file: Path, *, host: str | None = None) -> str:
        """Return the shell's line that dumps a database into a file."""
        program, *options = self.command
        where = ("-h", host) if host is not None else ()
        return f"{' '.join((program, *where, *options, database))} > {file}"


_PROGRAMS = (
    DumpProgram("postgresql", "postgresql", ("pg_dump", "-Fc"), ".dump"),
    DumpProgram("mariadb", "mysql", ("mariadb-dump", "--single-transaction", "--routines"), ".sql"),
    DumpProgram("mysql", "mysql", ("mysqldump", "--single-transaction", "--routines"), ".sql"),
)
_CUSTOM = b"PGDMP"
_BEGINNING = 1 << 20
_ROLE = re.compile(
    r"^(?:ALTER [^;\n]* OWNER TO|GRANT [^;\n]* TO|REVOKE [^;\n]* FROM|ALTER DEFAULT PRIVILEGES"
    r" FOR ROLE) (\"(?:[^\"]|\"\")+\"|\w+)",
    re.MULTILINE,
)
_NO_ROLES = frozenset({"PUBLIC", "public", "CURRENT_USER", "SESSION_USER", "dbhone"})
_PREDEFINED = ("pg_", '"pg_')
_MOST_ROLES = 500
_ERRORS = (
    re.compile(r"^psql:[^\n]*?: (?:ERROR|FATAL|error): +(.*)$", re.MULTILINE),
    re.compile(r"^psql: error: +(.*)$", re.MULTILINE),
    re.compile(r"^pg_restore: error: +(.*)$", re.MULTILINE),
    re.compile(r"^(ERROR \d+ \(\w+\)[^\n]*)$", re.MULTILINE),
    re.compile(r"^(ERROR: Failed to open file[^\n]*)$", re.MULTILINE),
)
_NEWER = re.compile(
    r"unsupported version \(|unrecognized configuration parameter|invalid command \\restrict"
    r"|Unknown (?:collation|character set|system variable)"
)
_EXTENSION = re.compile(r"^CREATE EXTENSION (?:IF NOT EXISTS )?(\"[^\"\n]+\"|\w+)", re.MULTILINE)
_LISTED = re.compile(r"^\d+; \d+ \d+ EXTENSION - (\S+)", re.MULTILINE)
_ROWS = re.compile(r"^(?:COPY|INSERT INTO) ", re.MULTILINE)
_NO_EXTENSION = re.compile(r"extension \"[^\"]+\" is not available|extension control file")
_HINT = "dump the database whole, as its owner sees it, and try the dump on an empty database"
_NEWER_HINT = "the dump seems to be of a newer version than the server, or than the client programs"
EXTENSIONS_HINT = (
    "hone's own build of PostgreSQL has no extension but plpgsql; builds by Debian's rules have"
    " those of PostgreSQL's source, but not PostGIS or others: 'hone tune --packaging deb', or"
    ' packaging = "deb" in an experiment'
)


def dump_programs(protocol: str) -> tuple[DumpProgram, ...]:
    """Return the programs that dump databases of servers that speak a protocol."""
    return tuple(program for program in _PROGRAMS if program.protocol == protocol)


def dump_program(dbms: str, protocol: str) -> DumpProgram:
    """Return the program that dumps databases of a DBMS: its own, or that of its protocol.

    Raises UsageError for a protocol of which hone knows none.
    """
    programs = dump_programs(protocol)
    if not programs:
        raise UsageError(f"hone knows no program that dumps databases of {dbms}")
    return next((program for program in programs if program.dbms == dbms), programs[-1])


def load_command(endpoint: Endpoint, dump: Path) -> tuple[str, ...]:
    """Return the command that restores a dump on the server, and stops at the first error.

    Raises UsageError for a file that is not a dump, ToolError for a program that is missing.
    """
    head = _head(dump)
    if endpoint.protocol.name == "postgresql":
        reach = ("-h", str(endpoint.socket.parent), "-p", str(endpoint.port), "-U", endpoint.user)
        if head.startswith(_CUSTOM):
            program = postgresql_program("pg_restore")
            options = ("--no-owner", "--no-privileges", "--exit-on-error", "--jobs=1")
            return (program, *options, *reach, "-d", endpoint.database, str(dump))
        _check_text(head, dump, "pg_dump")
        roles = (f"CREATE ROLE {role}" for role in _roles(dump))
        program = postgresql_program("psql")
        commands = (word for role in roles for word in ("-c", role))
        options = ("-X", "-q", "-v", "ON_ERROR_STOP=1")
        return (program, *options, *reach, "-d", endpoint.database, *commands, "-f", str(dump))
    _check_text(head, dump, "mariadb-dump or mysqldump")
    return (
        client_program(("mariadb", "mysql"), "mariadb-client-core"),
        "--no-defaults",
        "--default-character-set=utf8mb4",
        f"--socket={endpoint.socket}",
        f"--user={endpoint.user}",
        f"--database={endpoint.database}",
        f"--execute=source {dump}",
    )


def error_of_dump(printed: str) -> DriverError | None:
    """Return the first error of a program that restores, None if it says of none."""
    for pattern in _ERRORS:
        found = pattern.search(printed)
        if found is not None:
            return DriverError(f"the dump has an error: {found[1][:300]}", hint=_hint_for(found[1]))
    return None


def _hint_for(error: str) -> str:
    if _NO_EXTENSION.search(error):
        return EXTENSIONS_HINT
    return _NEWER_HINT if _NEWER.search(error) else _HINT


def extensions_of(dump: Path) -> tuple[str, ...]:
    """Return the extensions of PostgreSQL that a dump creates; none where that cannot be read.

    Dumps name them before the first row. Raises UsageError for a file that cannot be read.
    """
    head = _head(dump)
    if head.startswith(_CUSTOM):
        program = distributed_program("pg_restore") or "pg_restore"
        found = _LISTED.findall(process.output_of((program, "--list", str(dump))) or "")
    else:
        before_rows = _ROWS.split(head.decode(errors="replace"), maxsplit=1)[0]
        found = [name.strip('"') for name in _EXTENSION.findall(before_rows)]
    return tuple(dict.fromkeys(found))


def _head(dump: Path) -> bytes:
    try:
        with dump.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError as error:
        raise UsageError(f"cannot read the dump {dump}: {error.strerror}") from error


def _check_text(head: bytes, dump: Path, maker: str) -> None:
    if not head.strip():
        raise UsageError(f"the dump {dump} is empty")
    if b"\0" in head or head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7z")):
        raise UsageError(
            f"{dump} is not a dump that hone can restore",
            hint=f"give what {maker} makes, unpacked: SQL, or PostgreSQL's custom format (-Fc)",
        )


def _roles(dump: Path) -> list[str]:
    """Return the roles that a dump in SQL names; without them it could not be restored."""
    roles: dict[str, None] = {}
    with dump.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            found = _ROLE.match(line)
            if found is None or found[1] in _NO_ROLES or found[1].startswith(_PREDEFINED):
                continue
            if len(roles) < _MOST_ROLES:
                roles[found[1]] = None
    return list(roles)
