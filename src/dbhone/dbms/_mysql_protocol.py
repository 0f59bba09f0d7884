"""The protocol of MySQL and its forks."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import ClassVar

import pymysql

from dbhone.dbms.base_protocol import Connection, Endpoint, Protocol

_OF_CLIENT = range(2000, 3000)
"""The numbers of errors that a client finds itself: no connection, or one that was lost. The
library gives 0 to a connection that is closed."""


class MySqlProtocol(Protocol):
    """PyMySQL speaks it; it is pure Python, so that no server's own client library is needed."""

    name = "mysql"
    errors = (pymysql.Error,)
    asynchronous_commits: ClassVar[Mapping[str, frozenset[str]]] = {
        "innodb_flush_log_at_trx_commit": frozenset({"0", "2"}),
        "rocksdb_flush_log_at_trx_commit": frozenset({"0", "2"}),
    }

    def waits_nevertheless(self, values: Mapping[str, str]) -> bool:
        """Return whether each commit waits until the binary log is on the disk."""
        is_on = values.get("log_bin", "").lower() not in ("", "0", "off", "false")
        return is_on and values.get("sync_binlog") == "1"

    def client_words(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return that of mysql, which MariaDB's client is called by, too."""
        return (
            "mysql",
            f"--socket={endpoint.socket}",
            f"--user={endpoint.user}",
            endpoint.database,
        )

    def environment(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the variable in which the client library looks for the socket."""
        return {"MYSQL_UNIX_PORT": str(endpoint.socket)}

    def connect(self, endpoint: Endpoint, line: socket.socket, patience: float) -> Connection:
        """Return a connection that commits by itself."""
        connection = pymysql.Connection(
            user=endpoint.user,
            unix_socket=str(endpoint.socket),
            read_timeout=patience,
            write_timeout=patience,
            autocommit=True,
            defer_connect=True,
        )
        connection.connect(line)
        return connection

    def is_refusal(self, error: Exception) -> bool:
        """Return whether the number of an error is one of the server's."""
        number = error.args[0] if isinstance(error, pymysql.Error) and error.args else 0
        return isinstance(number, int) and number != 0 and number not in _OF_CLIENT


MYSQL = MySqlProtocol()
