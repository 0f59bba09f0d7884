"""A client of a running server, for a question now and then: private socket, short patience.

Drivers do not use it. Both libraries are pure Python, so that no server's own client library is
needed, and offer the interface of PEP 249.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence
from typing import Protocol as Interface

import pymysql
from pg8000 import dbapi as pg8000

from dbhone.dbms.base_server import Endpoint, Protocol
from dbhone.errors import ServerError

_PATIENCE = 5.0
"""Seconds that an answer may take."""
Row = Sequence[object]


class _Cursor(Interface):
    def execute(self, operation: str, /) -> object: ...

    def fetchall(self) -> Sequence[Row]: ...

    def close(self) -> None: ...


class _Connection(Interface):
    def cursor(self) -> _Cursor: ...

    def close(self) -> None: ...


class Client:
    """An open connection on a socket, the ``line``. Each question is a transaction of its own."""

    def __init__(self, connection: _Connection, line: socket.socket) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._line = line

    def ask(self, question: str) -> Sequence[Row]:
        """Return the rows of an answer. Raises ServerError with the server's own words."""
        try:
            self._cursor.execute(question)
            return self._cursor.fetchall()
        except (pymysql.Error, pg8000.Error, OSError) as error:
            raise ServerError(f"the server refuses the question: {_words(error)}") from error

    def tell(self, statement: str) -> None:
        """Have a statement executed that has no answer. Raises ServerError."""
        try:
            self._cursor.execute(statement)
        except (pymysql.Error, pg8000.Error, OSError) as error:
            raise ServerError(f"the server refuses '{statement}': {_words(error)}") from error

    def close(self) -> None:
        """Say goodbye, if the server still listens."""
        with contextlib.suppress(pymysql.Error, pg8000.Error, OSError):
            self._connection.close()
        _hang_up(self._line)


def connect(endpoint: Endpoint) -> Client:
    """Connect with a server over its socket. Raises ServerError if it does not let us in."""
    # A socket of our own: both libraries may leave theirs to the garbage collector when the
    # server is not there or has gone.
    line = socket.socket(socket.AF_UNIX)
    try:
        line.settimeout(_PATIENCE)
        line.connect(str(endpoint.socket))
        return Client(_introduced(endpoint, line), line)
    except (pymysql.Error, pg8000.Error, OSError) as error:
        _hang_up(line)
        raise ServerError(f"no connection with the server: {_words(error)}") from error
    except BaseException:
        _hang_up(line)
        raise


def _introduced(endpoint: Endpoint, line: socket.socket) -> _Connection:
    if endpoint.protocol is Protocol.MYSQL:
        mysql = pymysql.Connection(
            user=endpoint.user,
            unix_socket=str(endpoint.socket),
            read_timeout=_PATIENCE,
            write_timeout=_PATIENCE,
            autocommit=True,
            defer_connect=True,
        )
        mysql.connect(line)
        return mysql
    connection = pg8000.connect(
        user=endpoint.user, database=endpoint.database, sock=line, ssl_context=False
    )
    connection.autocommit = True
    postgresql: _Connection = connection
    return postgresql


def _hang_up(line: socket.socket) -> None:
    """Close a socket even if some file still holds it."""
    if line.fileno() >= 0:
        os.close(line.detach())


def _words(error: Exception) -> str:
    """Return what an error says: PyMySQL gives a number and a text, pg8000 its fields."""
    said = error.args[-1] if error.args else type(error).__name__
    return str(said["M"]) if isinstance(said, dict) and "M" in said else str(said)
