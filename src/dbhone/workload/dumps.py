"""Dumps of a user's database: the programs that make them, and those that restore them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.command import Command
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
_NOBODYS = ("--no-owner", "--no-privileges")
_BEGINNING = 1 << 20
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
_DEFINER = re.compile(r"(?:/\*M?!|CREATE ).*?\bDEFINER=(`(?:[^`]|``)+`@`(?:[^`]|``)+`)")
_LOCALE = re.compile(r"^CREATE DATABASE .*\b(?:ICU_LOCALE|LC_COLLATE|LOCALE) = '([^']+)'", re.M)
_USE = re.compile(r"^USE `((?:[^`]|``)+)`;", re.MULTILINE)
_OWN_ACCOUNTS = ("`root`@`localhost`", "`mysql.", "`mariadb.")
_LOCKED_ACCOUNT = (
    "CREATE USER /*!50706 IF NOT EXISTS*/ /*M!100103 IF NOT EXISTS*/ {}"
    " /*!50706 ACCOUNT LOCK*/ /*M!100402 ACCOUNT LOCK*/",
    "GRANT ALL ON *.* TO {}",
)
"""MariaDB skips the first kind of these comments, and MySQL the second."""
_ERRORS = (
    re.compile(r"^psql:[^\n]*?: (?:ERROR|FATAL|error): +(.*)$", re.MULTILINE),
    re.compile(r"^psql: error: +(.*)$", re.MULTILINE),
    re.compile(r"^pg_restore: error: +(.*)$", re.MULTILINE),
    re.compile(r"^(ERROR \d+ \(\w+\)[^\n]*)$", re.MULTILINE),
)
_TABLESPACE = re.compile(r"default_tablespace|tablespace \"[^\n]*\" does not exist")
_TABLESPACE_HINT = "dump without tablespaces: pg_dump --no-tablespaces, or -Fc"
_NEWER = re.compile(
    r"unsupported version \(|unrecognized configuration parameter|invalid command \\restrict"
    r"|Unknown (?:collation|character set|system variable)"
)
_EXTENSION = re.compile(r"^CREATE EXTENSION (?:IF NOT EXISTS )?(\"[^\"\n]+\"|\w+)", re.MULTILINE)
_LISTED = re.compile(r"^\d+; \d+ \d+ EXTENSION - (\S+)", re.MULTILINE)
_ROWS = re.compile(r"^(?:COPY|INSERT INTO) ", re.MULTILINE)
_NO_EXTENSION = re.compile(r"extension \"[^\"]+\" is not available|extension control file")
_HINT = "dump the database whole, as its owner sees it, and try the dump on an empty database"
_NEWER_HINT = (
    "the dump seems to be of a newer version than the server, or than the client programs;"
    " those for PostgreSQL 15 are in the package postgresql-client-15"
)
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


def database_of_dump(dump: Path) -> str | None:
    """Return the database that a dump of MySQL or MariaDB says it is of, None if it says none.

    One by ``--databases`` says it. Raises UsageError if the dump cannot be read.
    """
    found = _USE.search(_head(dump).decode("utf-8", "replace"))
    return found[1].replace("``", "`") if found else None


def statements_before(
    endpoint: Endpoint, dump: Path, database: str | None = None
) -> tuple[str, ...]:
    """Return what a server must be told before a dump is restored on it.

    That makes the roles and accounts that the dump names, and the ``database`` into which a dump of
    MySQL or MariaDB is restored that does not say which it is of. Raises UsageError for a file that
    is not a dump.
    """
    if endpoint.protocol.name == "postgresql":
        custom = _head(dump).startswith(_CUSTOM)
        roles = _roles(_schema(dump) if custom else _lines(dump))
        return tuple(f"CREATE ROLE {role}" for role in roles)
    accounts = _definers(_lines(dump))
    made = [one.format(name) for name in accounts for one in _LOCKED_ACCOUNT]
    absent = _absent_database(dump, database)
    if absent is not None:
        made.append("CREATE DATABASE IF NOT EXISTS `{}`".format(absent.replace("`", "``")))
    return tuple(made)


def _absent_database(dump: Path, database: str | None) -> str | None:
    """Return the database if the dump does not make it itself."""
    return database if database_of_dump(dump) is None else None


def load_command(endpoint: Endpoint, dump: Path, database: str | None = None) -> tuple[str, ...]:
    """Return the command that restores a dump on the server, and stops at the first error.

    The program reads the dump from its standard input, which hone opens: the account that it runs
    as need not be able to. A dump of MySQL or MariaDB is restored into the ``database``, if it does
    not say which it is of. Raises UsageError for a file that is not a dump, ToolError for a program
    that is missing.
    """
    head = _head(dump)
    if endpoint.protocol.name == "postgresql":
        where = (
            *("-h", str(endpoint.socket.parent), "-p", str(endpoint.port)),
            *("-U", endpoint.user, "-d", endpoint.database),
        )
        if head.startswith(_CUSTOM):
            program = postgresql_program("pg_restore", endpoint.version)
            return (program, *_NOBODYS, "--no-tablespaces", "--exit-on-error", "--jobs=1", *where)
        _check_text(head, dump, "pg_dump")
        program = postgresql_program("psql", endpoint.version)
        return (program, "-X", "-q", "-v", "ON_ERROR_STOP=1", *where, "-f", "-")
    _check_text(head, dump, "mariadb-dump or mysqldump")
    into = _absent_database(dump, database) or endpoint.database
    return (
        client_program(("mariadb", "mysql"), "mariadb-client-core"),
        "--no-defaults",
        "--default-character-set=utf8mb4",
        "--max-allowed-packet=1G",
        f"--socket={endpoint.socket}",
        f"--user={endpoint.user}",
        f"--database={into}",
    )


def other_locale_of_dump(dump: Path) -> str | None:
    """Return the locale of the database that a dump of PostgreSQL is of, None for C.

    None, too, for a dump that does not say it, as one in SQL does only if it creates the database.
    Raises UsageError if it cannot be read, ToolError for a program that is missing.
    """
    head = _head(dump)
    lines = head.decode("utf-8", "replace").splitlines()
    if head.startswith(_CUSTOM):
        lines = list(_schema(dump, "--create"))
    found = next(filter(None, map(_LOCALE.match, lines)), None)
    return found[1] if found and found[1] not in ("C", "POSIX") else None


def _schema(dump: Path, *options: str) -> Iterator[str]:
    """Yield the lines of a dump in the custom format as SQL, without its rows."""
    argv = (postgresql_program("pg_restore"), *_NOBODYS, "--schema-only", *options, "-f", "-")
    yield from process.lines(Command(argv=(*argv, str(dump)), cwd=Path("/"), isolated=True))


def error_of_dump(printed: str) -> DriverError | None:
    """Return the first error of a program that restores, None if it says of none."""
    for pattern in _ERRORS:
        found = pattern.search(printed)
        if found is not None:
            return DriverError(f"the dump has an error: {found[1][:300]}", hint=_hint_for(found[1]))
    return None


def _hint_for(error: str) -> str:
    hints = {
        _NO_EXTENSION: EXTENSIONS_HINT,
        _NEWER: _NEWER_HINT,
        _TABLESPACE: _TABLESPACE_HINT,
    }
    return next((hint for about, hint in hints.items() if about.search(error)), _HINT)


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


def _lines(dump: Path) -> Iterator[str]:
    with dump.open(encoding="utf-8", errors="replace") as file:
        yield from file


def _roles(lines: Iterable[str]) -> list[str]:
    """Return the roles that a dump in SQL names; without them it could not be restored."""
    roles: dict[str, None] = {}
    for line in lines:
        found = _NAMED_ROLES.match(line)
        for role in _ROLE.findall(found[1]) if found else ():
            own = role in _NO_ROLES or role.startswith(_PREDEFINED)
            if not own and len(roles) < _MOST_ROLES:
                roles[role] = None
    return list(roles)


def _definers(lines: Iterable[str]) -> list[str]:
    """Return the accounts as which views, triggers and routines of a dump in SQL are executed.

    Without them each use of those fails (error 1449).
    """
    found = filter(None, map(_DEFINER.match, lines))
    names = dict.fromkeys(one[1] for one in found)
    return [name for name in names if not name.startswith(_OWN_ACCOUNTS)][:_MOST_ROLES]
