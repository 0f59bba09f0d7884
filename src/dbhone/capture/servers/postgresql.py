"""A user's PostgreSQL: statements are logged by ``log_min_duration_statement = 0``.

A superuser may do all that it takes; since version 15 the rights can be granted one by one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from pg8000 import dbapi as pg8000

from dbhone.capture.servers.base import (
    Address,
    Connection,
    LoggedServer,
    LoggingStatements,
    NoAnswerError,
    RefusedError,
    Row,
    ServerLog,
)
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.errors import MachineError, UsageError

# Not /tmp: every user of the machine may put a socket there, and would get the password.
_SOCKETS = "/var/run/postgresql"
_LOGIN = (
    "a server may let in only the system's user of that name: for postgres 'sudo -u postgres hone"
    " capture …'; name a socket that is elsewhere: ?socket=PATH"
)
_CHUNK = 1 << 20
_WANTED = {"log_min_duration_statement": "0", "log_parameter_max_length": "-1"}
_PREFIX = "%m [%p] "
_CLAIM = "hone capture: logging"
_NOT_READY = ("08", "53300", "57P")
"""How SQLSTATEs begin of lost connections, too many of them, and a starting or stopping server."""
_NO_RIGHT = "42501"
_WITHOUT_PASSWORD = "no password was provided"
"""The library's own words where the server wants one."""
_PGPASS = re.compile(r"((?:[^:\\]|\\.)*):" * 4 + r"(.*?)\r?")
"""A line of ~/.pgpass: host, port, database, user, and the password, which may have colons."""
_CLUSTER = re.compile(r"(\d+)/([\w.-]+)")
_OVERRIDDEN = """\
SELECT DISTINCT coalesce('role ' || r.rolname, 'database ' || d.datname, 'all roles'),
  split_part(s.one, '=', 1), substring(s.one FROM '=(.*)')
FROM pg_db_role_setting c
LEFT JOIN pg_roles r ON r.oid = c.setrole LEFT JOIN pg_database d ON d.oid = c.setdatabase,
  unnest(c.setconfig) AS s(one)
ORDER BY 1, 2"""
"""Settings of roles and databases, which go before those of ALTER SYSTEM."""
_RIGHTS = (
    "log in as a superuser, or grant, since version 15: GRANT pg_monitor, pg_read_server_files"
    " TO …; GRANT SET, ALTER SYSTEM ON PARAMETER log_min_duration_statement,"
    " log_parameter_max_length, log_line_prefix, log_error_verbosity TO …;"
    " GRANT SELECT ON pg_file_settings TO …; GRANT EXECUTE ON FUNCTION pg_show_all_file_settings(),"
    " pg_reload_conf(), pg_stat_file(text), pg_stat_file(text,boolean),"
    " pg_read_binary_file(text,bigint,bigint) TO …"
)


class _Pg8000(Connection):
    def __init__(self, address: Address, password: str | None) -> None:
        self.address = address
        where = (
            {"unix_sock": address.socket}
            if address.socket
            else {"host": address.host, "port": address.port}
        )
        try:
            self._connection = pg8000.connect(
                user=address.user,
                database=address.database,
                password=password,
                application_name="hone capture",
                timeout=60,
                **where,
            )
        except (pg8000.Error, OSError) as shown:
            error = _of_server(shown)
            cause = error.__cause__  # pg8000's own words are about its parameters
            if not isinstance(cause, OSError):
                why = f"cannot connect to {address.text}: {POSTGRESQL.words(error)}"
                raise _kind(error)(why, hint=_LOGIN if address.is_local else None) from error
            raise NoAnswerError(
                f"cannot connect to {address.text}: {cause.strerror or cause}",
                hint="look whether the server runs, and where it listens (a socket: ?socket=PATH)",
            ) from error
        self._connection.autocommit = True
        for setting in ("log_min_duration_statement = -1", "log_statement = 'none'"):
            # Our own statements are not part of the workload.
            with contextlib.suppress(MachineError):
                self.rows(f"SET {setting}")

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        try:
            cursor = self._connection.cursor()
            cursor.execute(sql, tuple(values))
            return list(cursor.fetchall()) if cursor.description else []
        except (pg8000.Error, OSError) as error:
            why = f"the server rejected a query: {POSTGRESQL.words(error)}"
            hint = _RIGHTS if _state(error) == _NO_RIGHT else None
            raise _kind(error)(why, hint=hint) from error

    def close(self) -> None:
        try:
            self._connection.close()
        except (pg8000.Error, OSError):
            return


class _Files(ServerLog):
    """The server's log file, and those that follow it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        destinations = connection.value("SHOW log_destination")
        kinds = [kind for kind in ("csvlog", "jsonlog", "stderr") if kind in destinations]
        collects = connection.value("SHOW logging_collector") == "on"
        self._kind = kinds[0] if kinds and collects else None
        self._of_cluster = _log_of_cluster(connection) if "stderr" in kinds else ""
        if self._kind is None and not self._of_cluster:
            raise MachineError(
                "the server writes no log file that hone could find: logging_collector is off",
                hint="let it log (docs/guides/captured-workloads.md) and capture the file:"
                " hone capture FILE",
            )
        self._files: dict[str, int] = {}
        self.look()
        (first,) = self._files
        self.told = (f"what is logged, with all values, stays in the server's log, {first}",)
        self._files[first] = int(connection.value("SELECT size FROM pg_stat_file(%s)", (first,)))

    def look(self) -> None:
        self._look_for_files()
        if self._kind in (None, "stderr"):
            self.line_prefix = self._connection.value("SHOW log_line_prefix") or None

    def _look_for_files(self) -> None:
        path = self._of_cluster
        if self._kind is not None:
            path = self._connection.value("SELECT pg_current_logfile(%s)", (self._kind,))
        if not path:
            raise MachineError(f"the server has no log file of the kind {self._kind}")
        self._files.setdefault(path, 0)

    def fetch(self, file: BinaryIO) -> None:
        self._look_for_files()  # the prefix may be the server's own again
        for path, start in self._files.items():
            position = start
            while data := self._read(path, position):
                file.write(data)
                position += len(data)

    def _read(self, path: str, start: int) -> bytes:
        rows = self._connection.rows(
            "SELECT pg_read_binary_file(%s, %s, %s)", (path, start, _CHUNK)
        )
        found = rows[0][0]
        return bytes(found) if isinstance(found, bytes | bytearray | memoryview) else b""


def _log_of_cluster(connection: Connection) -> str:
    """Return the file that gets the errors of a cluster of Debian's or Ubuntu's, empty if none.

    Their ``pg_ctlcluster`` names it by the cluster, and gives the server that name, too.
    """
    cluster = _CLUSTER.fullmatch(connection.value("SHOW cluster_name"))
    if cluster is None:
        return ""
    path = f"/var/log/postgresql/postgresql-{cluster[1]}-{cluster[2]}.log"
    # The path may lie anywhere: it is the server that reads it, with the rights of the login.
    return path if connection.value("SELECT size FROM pg_stat_file(%s, true)", (path,)) else ""


class PostgresqlServer(LoggedServer):
    """How PostgreSQL is asked to log."""

    port = 5432
    database = "postgres"

    def password(self, address: Address) -> str | None:
        """Return PGPASSWORD, or what PGPASSFILE or ~/.pgpass has."""
        found = os.environ.get("PGPASSWORD")
        if found is not None:
            return found
        path = Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")
        return _from_pgpass(path, address)

    def connect_to(self, address: Address, password: str | None) -> Connection:
        """Return a connection to just this address, whose socket may be a folder, as for psql."""
        if address.socket and Path(address.socket).is_dir():
            socket = Path(address.socket, f".s.PGSQL.{address.port}")
            address = dataclasses.replace(address, socket=str(socket))
        return _Pg8000(address, password)

    def usual_sockets(self, port: int) -> tuple[str, ...]:
        """Return the socket in the folder that distributions use."""
        return (f"{_SOCKETS}/.s.PGSQL.{port}",)

    def claim(self, connection: Connection) -> bool:
        """Name the connection, then look for another of that name: a lock is one database's."""
        connection.rows(f"SET application_name = '{_CLAIM}'")
        others = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        return connection.value(f"{others} AND application_name = %s", (_CLAIM,)) == "0"

    def logging_statements(self, connection: Connection) -> LoggingStatements:
        """Return the settings that are not as they must be, by ALTER SYSTEM and back."""
        messages = connection.value("SHOW lc_messages")
        if not re.match(r"(?:C|POSIX|en)\b|en_|$", messages):
            raise UsageError(
                f"the server's messages are in the language {messages}",
                hint="hone reads English ones: lc_messages = 'C'",
            )
        known = {
            str(name): str(value)
            for name, value in connection.rows(
                "SELECT name, setting FROM pg_settings WHERE name LIKE 'log%%'"
            )
        }
        wanted = {name: value for name, value in _WANTED.items() if name in known}
        if not re.search(r"%-?\d*[pc]", known.get("log_line_prefix", "")):
            wanted["log_line_prefix"] = _PREFIX
        if known.get("log_error_verbosity") == "terse":  # without the parameters
            wanted["log_error_verbosity"] = "default"
        before = {
            str(name): str(value)
            for name, value in connection.rows(
                "SELECT name, setting FROM pg_file_settings"
                " WHERE sourcefile LIKE '%%postgresql.auto.conf'"
            )
        }
        changed = {name: value for name, value in wanted.items() if known.get(name) != value}
        reload = "SELECT pg_reload_conf()"
        back = (
            f"ALTER SYSTEM SET {name} = {_quoted(before[name])}"
            if name in before
            else f"ALTER SYSTEM RESET {name}"
            for name in changed
        )
        return LoggingStatements(
            switch_on=(
                *(f"ALTER SYSTEM SET {name} = {_quoted(value)}" for name, value in changed.items()),
                reload,
            ),
            put_back=(*back, reload),
            told=_overridden(connection, wanted),
        )

    def log(self, connection: Connection) -> ServerLog:
        """Return the log files, as far as they are written from now on."""
        return _Files(connection)


def _overridden(connection: Connection, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Return warnings of the roles and databases whose own settings are not as they must be."""
    return tuple(
        f"warning: {whose} has a {name} of its own (ALTER … SET): of its sessions the server may"
        " log nothing, or not all"
        for whose, name, value in connection.rows(_OVERRIDDEN)
        if name in wanted and wanted[name] != value
    )


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _from_pgpass(path: Path, address: Address) -> str | None:
    """Return the password of the first line that fits; a file that others may read is none."""
    try:
        if path.stat().st_mode & 0o077:
            return None
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    own = (address.host, str(address.port), address.database, address.user)
    for line in text.split("\n"):
        found = _PGPASS.fullmatch(line)
        if found is None:
            continue
        *fields, password = found.groups()
        if all(
            given == "*" or _unescaped(given) == mine
            for given, mine in zip(fields, own, strict=True)
        ):
            return _unescaped(password)
    return None


def _unescaped(field: str) -> str:
    return re.sub(r"\\(.)", r"\1", field)


def _kind(error: Exception) -> type[NoAnswerError | RefusedError]:
    """Return what an error is: the server did not answer, or it refused."""
    if _WITHOUT_PASSWORD in POSTGRESQL.words(error):
        return RefusedError
    if not POSTGRESQL.is_refusal(error):
        return NoAnswerError
    return NoAnswerError if _state(error).startswith(_NOT_READY) else RefusedError


def _of_server(error: Exception) -> Exception:
    """Return what the server said: behind a refusal by a socket, the library's goodbye fails."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, Exception) and POSTGRESQL.is_refusal(found):
            return found
        found = found.__context__
    return error


def _state(error: Exception) -> str:
    """Return the SQLSTATE of an error, empty if the server did not send one."""
    return str(error.args[-1].get("C", "")) if POSTGRESQL.is_refusal(error) else ""


PLUGIN = PostgresqlServer()
