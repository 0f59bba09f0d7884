"""What clients speak with a server. Each protocol says how one of hone's own clients connects."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from typing import Protocol as Interface

Row = Sequence[object]


class Cursor(Interface):
    """A cursor as PEP 249 has it."""

    def execute(self, operation: str, /) -> object:
        """Have the server execute a statement."""

    def fetchall(self) -> Sequence[Row]:
        """Return the rows of the answer."""

    def close(self) -> None:
        """Close it."""


class Connection(Interface):
    """A connection as PEP 249 has it."""

    def cursor(self) -> Cursor:
        """Return a new cursor."""

    def close(self) -> None:
        """Say goodbye."""


class Protocol(ABC):
    """A protocol. Drivers and suites name it; a DBMS has it as a value."""

    name: ClassVar[str]
    errors: ClassVar[tuple[type[Exception], ...]]
    """What its client library raises, besides OSError."""
    asynchronous_commits: ClassVar[Mapping[str, frozenset[str]]] = {}
    """Settings of its servers, with the values by which a commit does not wait for the disk."""

    def waits_nevertheless(self, values: Mapping[str, str]) -> bool:
        """Return whether by these settings a commit waits for the disk for another reason."""
        del values
        return False

    @abstractmethod
    def connect(self, endpoint: Endpoint, line: socket.socket, patience: float) -> Connection:
        """Return a connection on a socket that is connected already.

        An answer may take ``patience`` seconds; each statement is a transaction of its own.
        """

    def client_words(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return the command of the usual client in a terminal; nothing where there is none."""
        del endpoint
        return ()

    def environment(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the variables by which the usual clients find the server."""
        del endpoint
        return {}

    def is_refusal(self, error: Exception) -> bool:
        """Return whether the server sent this error, and did not just become unreachable."""
        return not isinstance(error, OSError)

    def words(self, error: Exception) -> str:
        """Return what an error of the client library says."""
        return str(error.args[-1]) if error.args else type(error).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How a client reaches the server: by a socket file, as a user without a password.

    ``socket`` is the socket file itself; for PostgreSQL its folder and the port in its name
    are what clients are told. ``version`` is the server's, empty if it is not known.
    """

    protocol: Protocol
    socket: Path
    user: str
    database: str
    port: int = 0
    version: str = ""
