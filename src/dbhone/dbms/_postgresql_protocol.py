"""The protocol of PostgreSQL and its forks."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import ClassVar

from pg8000 import dbapi as pg8000

from dbhone.dbms.base_protocol import Connection, Endpoint, Protocol

_OFF = frozenset({"off", "false", "no", "0"})


class PostgresqlProtocol(Protocol):
    """pg8000 speaks it; it is pure Python, so that no server's own client library is needed."""

    name = "postgresql"
    errors = (pg8000.Error,)
    asynchronous_commits: ClassVar[Mapping[str, frozenset[str]]] = {
        "synchronous_commit": _OFF,
        "fsync": _OFF,
    }

    def client_words(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return psql's, which is told the socket's folder and port."""
        place = ("-h", str(endpoint.socket.parent), "-p", str(endpoint.port))
        return ("psql", *place, "-U", endpoint.user, endpoint.database)

    def environment(self, endpoint: Endpoint) -> dict[str, str]:
        """Return libpq's variables."""
        return {
            "PGHOST": str(endpoint.socket.parent),
            "PGPORT": str(endpoint.port),
            "PGUSER": endpoint.user,
            "PGDATABASE": endpoint.database,
        }

    def connect(self, endpoint: Endpoint, line: socket.socket, patience: float) -> Connection:
        """Return a connection that commits by itself; the socket's own timeout holds."""
        del patience
        connection = pg8000.connect(
            user=endpoint.user, database=endpoint.database, sock=line, ssl_context=False
        )
        connection.autocommit = True
        own: Connection = connection
        return own

    def is_refusal(self, error: Exception) -> bool:
        """Return whether an error has the fields that a server sends."""
        return bool(error.args) and isinstance(error.args[-1], dict)

    def words(self, error: Exception) -> str:
        """Return the message among the fields of an error."""
        fields = error.args[-1] if error.args else None
        if isinstance(fields, dict) and "M" in fields:
            return str(fields["M"])
        return super().words(error)


POSTGRESQL = PostgresqlProtocol()
