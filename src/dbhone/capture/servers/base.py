"""The interface of servers that are asked to log, and how a user names one."""

from __future__ import annotations

import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qs, quote, unquote, urlsplit

from dbhone import registry
from dbhone.errors import MachineError, UsageError

DRAWER = "dbhone.capture.servers"
_THIS_MACHINE = "localhost"
Row = Sequence[Any]
"""A row of an answer: the statement tells of which types its values are."""
SYNTAX = "postgresql://USER@HOST:PORT/DATABASE or mysql://USER@HOST:PORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a user's server is, and as whom to log in; the password is never part of it.

    ``socket`` is the path of a socket, for PostgreSQL perhaps of its folder; without one ``host``
    and ``port`` are meant.
    """

    protocol: str
    host: str
    port: int
    user: str
    database: str
    socket: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine for sure."""
        return bool(self.socket) or self.host == _THIS_MACHINE

    @property
    def text(self) -> str:
        """The address as a user would write it."""
        user, database = quote(self.user, safe=""), quote(self.database, safe="")
        host = f"[{self.host}]" if ":" in self.host else self.host
        socket = f"?socket={quote(self.socket)}" if self.socket else ""
        return f"{self.protocol}://{user}@{host}:{self.port}/{database}{socket}"


def parse_address(text: str) -> Address:
    """Return the address that a user wrote. Raises UsageError; a password in it is refused."""
    known = {"postgres": "postgresql", "mariadb": "mysql"}
    try:
        parts = urlsplit(text)
        protocol = known.get(parts.scheme, parts.scheme)
        port = parts.port
    except ValueError:
        raise UsageError("this is not an address of a server", hint=f"write {SYNTAX}") from None
    if parts.password is not None:
        raise UsageError(
            "a password on a command line can be read by everyone on this machine",
            hint="leave it out: hone takes it from PGPASSWORD, ~/.pgpass, MYSQL_PWD or ~/.my.cnf,"
            " or asks",
        )
    if protocol not in registry.names(DRAWER):
        raise UsageError(f"'{text}' is not an address of a server", hint=f"write {SYNTAX}")
    server = load_server(protocol)
    return Address(
        protocol=protocol,
        host=parts.hostname or _THIS_MACHINE,
        port=port or server.port,
        user=unquote(parts.username or "") or os.environ.get("USER", "root"),
        database=unquote(parts.path.lstrip("/")) or server.database,
        socket=_socket(parts.query),
    )


def _socket(query: str) -> str:
    """Return the one option that an address may have. Raises UsageError for any other."""
    options = parse_qs(query, keep_blank_values=True)
    others = [name for name in options if name != "socket"]
    if others:
        raise UsageError(
            f"the server's address has the option '{others[0]}', which hone does not understand",
            hint="the only option is the path of a socket: ?socket=PATH",
        )
    return options.get("socket", [""])[0]


class NoAnswerError(MachineError):
    """The server did not answer, or was not ready to: it may answer later."""


class RefusedError(MachineError):
    """The server answered, and refused what it was asked for."""


class Connection(ABC):
    """A connection to a user's server, on which each statement is a transaction of its own."""

    address: Address
    """Where the server was found, with the socket if it was one."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Return the rows of a statement.

        Raises NoAnswerError where the server does not answer, and RefusedError with its own words.
        """

    @abstractmethod
    def close(self) -> None:
        """Say goodbye."""

    def value(self, sql: str, values: Sequence[object] = ()) -> str:
        """Return the only value of the only row as text, empty if there is none."""
        rows = self.rows(sql, values)
        return str(rows[0][0]) if rows and rows[0] and rows[0][0] is not None else ""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingStatements:
    """What makes a server log, and what puts its settings back: statements, in their order.

    ``remove`` removes what was logged, once it is fetched; ``told`` is what users must know before.
    """

    switch_on: tuple[str, ...]
    put_back: tuple[str, ...]
    remove: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


class LoggedServer(ABC):
    """How servers of one protocol are asked to log."""

    port: int
    database: str
    """The database to log in to where the user names none."""

    @abstractmethod
    def password(self, address: Address) -> str | None:
        """Return the password from the user's own files or environment, None if there is none."""

    def connect(self, address: Address, password: str | None) -> Connection:
        """Return a connection. Raises NoAnswerError or RefusedError.

        For this machine the usual sockets come first, as for the servers' own clients: many servers
        let an administrator in by no other way. A refusal by a socket is told where the network
        does not answer: some servers listen on their socket only.
        """
        sockets: list[str] = []
        if address.is_local and not address.socket:
            usual = self.usual_sockets(address.port)
            sockets = [socket for socket in usual if Path(socket).is_socket()]
        failures: list[MachineError] = []
        for socket in (*sockets, address.socket):
            try:
                return self.connect_to(dataclasses.replace(address, socket=socket), password)
            except MachineError as error:
                failures.append(error)
        refusals = [error for error in failures if isinstance(error, RefusedError)]
        raise (refusals or failures)[-1]

    @abstractmethod
    def connect_to(self, address: Address, password: str | None) -> Connection:
        """Return a connection to just this address. Raises NoAnswerError or RefusedError."""

    @abstractmethod
    def usual_sockets(self, port: int) -> tuple[str, ...]:
        """Return where distributions put the socket of a server with this port."""

    @abstractmethod
    def claim(self, connection: Connection) -> bool:
        """Claim the server's logging until the connection ends; False if another capture has it."""

    @abstractmethod
    def logging_statements(self, connection: Connection) -> LoggingStatements:
        """Return what must change. Raises MachineError where the log could not be read then."""

    @abstractmethod
    def log(self, connection: Connection) -> ServerLog:
        """Return the server's log, from now on."""


class ServerLog(ABC):
    """What a server logs from one moment on."""

    line_prefix: str | None = None
    """PostgreSQL's log_line_prefix, where the log has one."""
    told: tuple[str, ...] = ()
    """What users must know before the server logs."""

    def look(self) -> None:  # noqa: B027 - most have nothing to do
        """Look where the log is now: the server may change the file."""

    @abstractmethod
    def fetch(self, file: BinaryIO) -> None:
        """Write what was logged to a file, as one of the formats of logs."""


def load_server(protocol: str) -> LoggedServer:
    """Return how servers of a protocol are asked to log. Raises UnknownName."""
    return registry.load(DRAWER, protocol, LoggedServer, what="kind of server")
