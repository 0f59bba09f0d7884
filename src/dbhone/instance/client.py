"""A client of a running server, for occasional queries. Drivers do not use it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence

from dbhone.dbms.base_protocol import Connection, Endpoint, Protocol, Row
from dbhone.errors import ServerError, UntrustedFileError
from dbhone.untrusted_files import connect_untrusted

_TIMEOUT = 5.0
"""Seconds that an answer may take."""


class RejectedQueryError(ServerError):
    """The server refused a query. ``words`` are its own: no version of hone changes them."""

    def __init__(self, words: str) -> None:
        super().__init__(f"the server rejected the query: {words}")
        self.words = words


class Client:
    """An open connection on a socket, the ``line``. Each query is a transaction of its own."""

    def __init__(self, protocol: Protocol, connection: Connection, line: socket.socket) -> None:
        self._protocol = protocol
        self._connection = connection
        self._cursor = connection.cursor()
        self._line = line
        self._errors = _errors_of(protocol)

    def ask(self, question: str) -> Sequence[Row]:
        """Return the rows of an answer.

        Raises RejectedQueryError if the server refuses, and ServerError if it cannot be reached.
        """
        try:
            self._cursor.execute(question)
            return self._cursor.fetchall()
        except self._errors as error:
            words = self._protocol.words(error)
            if self._protocol.is_refusal(error):
                raise RejectedQueryError(words) from error
            raise ServerError(f"the server does not answer: {words}") from error

    def tell(self, statement: str) -> None:
        """Execute a statement that returns no rows. Raises ServerError."""
        try:
            self._cursor.execute(statement)
        except self._errors as error:
            words = self._protocol.words(error)
            raise ServerError(f"the server rejected '{statement}': {words}") from error

    def close(self) -> None:
        """Close the connection, with a farewell if the server still listens."""
        with contextlib.suppress(*self._errors):
            self._connection.close()
        _hang_up(self._line)


def connect(endpoint: Endpoint) -> Client:
    """Connect to a server over its socket.

    Raises ServerError if it refuses, or has put something else in the place of the socket.
    """
    # A client library may leave its socket to the garbage collector when the server has gone,
    # so we open our own and close it.
    line = socket.socket(socket.AF_UNIX)
    protocol = endpoint.protocol
    try:
        line.settimeout(_TIMEOUT)
        connect_untrusted(line, endpoint.socket)
        return Client(protocol, protocol.connect(endpoint, line, _TIMEOUT), line)
    except _errors_of(protocol) as error:
        _hang_up(line)
        raise ServerError(f"no connection to the server: {protocol.words(error)}") from error
    except UntrustedFileError as error:
        _hang_up(line)
        raise ServerError(f"no connection to the server: {error.message}") from error
    except BaseException:
        _hang_up(line)
        raise


def _errors_of(protocol: Protocol) -> tuple[type[Exception], ...]:
    return (*protocol.errors, OSError)


def _hang_up(line: socket.socket) -> None:
    """Close a socket even if a file object still uses it."""
    if line.fileno() >= 0:
        os.close(line.detach())
