"""A user's MySQL or MariaDB: statements are logged by the general log, into its table.

The slow log would have times, but only sessions that begin later would be in it. The table needs
no access to files. It takes the right to set global variables (SYSTEM_VARIABLES_ADMIN, or SUPER)
and SELECT on mysql.general_log.
"""

from __future__ import annotations

import configparser
import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pymysql
from pymysql.cursors import SSCursor

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
from dbhone.dbms._mysql_protocol import MYSQL

_RIGHTS = (
    "log in as root, or grant SYSTEM_VARIABLES_ADMIN (MariaDB: SUPER) ON *.*, and SELECT ON"
    " mysql.general_log"
)
# Not /tmp/mysql.sock: every user of the machine may put a socket there, and would get the password.
_SOCKETS = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock")
_LOGIN = (
    "a server may let in only the system's user of that name: for root 'sudo hone capture …'; name"
    " a socket that is elsewhere: ?socket=PATH"
)
_VARIABLES = ("general_log", "log_output", "slow_query_log", "general_log_file")
_IS_LOGGED = "SELECT 1 FROM mysql.general_log LIMIT 1"
_EMPTY = "TRUNCATE TABLE mysql.general_log"
_NOT_REPLICATED = "SET SESSION sql_log_bin = 0"
_STAYS = "what is logged, with all values, stays in the table mysql.general_log"
_STAYS_IN_FILE = "what is logged, with all values, stays in a file on the server, too: "
_ROUTINES = """\
SELECT (SELECT COUNT(*) FROM information_schema.TRIGGERS
        WHERE TRIGGER_SCHEMA NOT IN ('mysql', 'sys'))
     + (SELECT COUNT(*) FROM information_schema.ROUTINES
        WHERE ROUTINE_SCHEMA NOT IN ('mysql', 'sys'))"""
_TWICE = (
    "warning: there are triggers or routines, and the log has what they execute as if clients had"
    " asked it: what hone does not recognise of it is replayed twice"
)
_NOT_READY = frozenset({1040, 1053, 1927, 4031})
"""Too many connections, a shutdown, and an end of the connection."""


_NO_RIGHT = frozenset({1044, 1045, 1142, 1143, 1227, 1370})
"""Access denied: to a database, the server, a table, a column, what takes a right, a routine."""


class _PyMySql(Connection):
    def __init__(self, address: Address, password: str | None) -> None:
        self.address = address
        try:
            self.connection = pymysql.connect(
                user=address.user,
                password=password or "",
                host=address.host,
                port=address.port,
                unix_socket=address.socket or None,
                database=address.database or None,
                autocommit=True,
                connect_timeout=30,
                charset="utf8mb4",
            )
        except (pymysql.Error, OSError) as error:
            why = f"cannot connect to {address.text}: {MYSQL.words(error)}"
            raise _kind(error)(why, hint=_LOGIN if address.is_local else None) from error

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return list(self.streamed(sql, values))

    def streamed(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Yield the rows of an answer as they come, since they may not fit into memory."""
        try:
            with self.connection.cursor(SSCursor) as cursor:
                cursor.execute(sql, tuple(values) or None)
                while row := cursor.fetchone():
                    yield row
        except (pymysql.Error, OSError) as error:
            why = f"the server rejected a query: {MYSQL.words(error)}"
            hint = _RIGHTS if error.args and error.args[0] in _NO_RIGHT else None
            raise _kind(error)(why, hint=hint) from error

    def close(self) -> None:
        try:
            self.connection.close()
        except (pymysql.Error, OSError):
            return


class _Table(ServerLog):
    """The rows of mysql.general_log from now on, without our own."""

    def __init__(self, connection: _PyMySql) -> None:
        self._connection = connection
        self._own = connection.value("SELECT CONNECTION_ID()")
        self._began = connection.value("SELECT NOW(6)")

    def look(self) -> None:
        """Ask something: the server ends an idle session, and a claim of the logging with it."""
        self._connection.rows("SELECT 1")

    def fetch(self, file: BinaryIO) -> None:
        query = (
            "SELECT DATE_FORMAT(event_time, '%%Y-%%m-%%dT%%H:%%i:%%s.%%fZ'), thread_id,"
            " command_type, argument FROM mysql.general_log"
            " WHERE event_time >= %s AND thread_id <> %s"
        )
        own = (self._began, self._own)
        for time, thread, command, argument in self._connection.streamed(query, own):
            text = argument if isinstance(argument, bytes) else str(argument).encode()
            file.write(f"{time}\t{thread:6} {command}\t".encode() + text + b"\n")


class MysqlServer(LoggedServer):
    """How MySQL and MariaDB are asked to log."""

    port = 3306
    database = ""

    def password(self, address: Address) -> str | None:
        """Return MYSQL_PWD, or what ~/.my.cnf has for clients."""
        del address
        found = os.environ.get("MYSQL_PWD")
        if found is not None:
            return found
        file = configparser.ConfigParser(
            allow_no_value=True, strict=False, interpolation=None, inline_comment_prefixes=None
        )
        try:
            file.read(Path.home() / ".my.cnf", encoding="utf-8")
        except (OSError, configparser.Error, UnicodeDecodeError):
            return None
        for section in ("client", "mysql", "mariadb-client"):
            value = file.get(section, "password", fallback=None)
            if value is not None:
                return value.strip("'\"")
        return None

    def connect_to(self, address: Address, password: str | None) -> Connection:
        """Return a connection to just this address."""
        return _PyMySql(address, password)

    def usual_sockets(self, port: int) -> tuple[str, ...]:
        """Return the sockets, which have no port in their names, for the usual port."""
        return _SOCKETS if port == self.port else ()

    def claim(self, connection: Connection) -> bool:
        """Take a lock, which is the whole server's."""
        return connection.value("SELECT GET_LOCK('hone capture', 0)") == "1"

    def logging_statements(self, connection: Connection) -> LoggingStatements:
        """Return the two global variables, their values now, and what empties the log's table."""
        before = {name: connection.value(f"SELECT @@GLOBAL.{name}") for name in _VARIABLES}
        is_off = before["general_log"] == "0"
        # Logs that are on go on where they go now.
        outputs = (
            [] if is_off and before["slow_query_log"] == "0" else before["log_output"].split(",")
        )
        output = ",".join(dict.fromkeys([*(one for one in outputs if one != "NONE"), "TABLE"]))
        remove = _emptying(connection) if is_off and not connection.rows(_IS_LOGGED) else ()
        told: tuple[str, ...] = () if remove else (_STAYS,)
        if is_off and "FILE" in outputs:
            told = (*told, _STAYS_IN_FILE + before["general_log_file"])
        if connection.value(_ROUTINES) not in ("", "0"):
            told = (*told, _TWICE)
        return LoggingStatements(
            switch_on=(f"SET GLOBAL log_output = '{output}'", "SET GLOBAL general_log = 1"),
            put_back=(
                f"SET GLOBAL general_log = {before['general_log']}",
                f"SET GLOBAL log_output = '{before['log_output']}'",
            ),
            remove=remove,
            told=told,
        )

    def log(self, connection: Connection) -> ServerLog:
        """Return the rows of the log's table from now on."""
        assert isinstance(connection, _PyMySql), "a connection of this kind of server"
        return _Table(connection)


def _emptying(connection: Connection) -> tuple[str, ...]:
    """Return what empties the log's table, which is empty now, without replicas; none if refused.

    It is tried, since no catalogue says of all versions what a user may do.
    """
    with contextlib.suppress(RefusedError):
        connection.rows(_NOT_REPLICATED)
        connection.rows(_EMPTY)
        return (_NOT_REPLICATED, _EMPTY)
    return ()


def _kind(error: Exception) -> type[NoAnswerError | RefusedError]:
    """Return what an error is: the server did not answer, or it refused."""
    refused = MYSQL.is_refusal(error) and error.args[0] not in _NOT_READY
    return RefusedError if refused else NoAnswerError


PLUGIN = MysqlServer()
