"""A server that is asked to log, and takes notes of what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from dbhone.capture.servers.base import (
    Address,
    Connection,
    LoggedServer,
    LoggingStatements,
    RefusedError,
    ServerLog,
)

ON = ("SET a = 1", "SET b = 1")
PUT_BACK = ("SET b = 0", "SET a = 0")
REMOVE = ("empty it",)


class PretendedLog(ServerLog):
    """A log with the records that a test gives."""

    def __init__(self, server: Pretended) -> None:
        self._server = server
        self.told = ("it stays in the file",)

    def fetch(self, file: BinaryIO) -> None:
        self._server.rows("fetch")
        file.write(self._server.logged)


class Pretended(LoggedServer, Connection):
    """A server and the connections to it; ``refused`` is what it does not take.

    What it was asked stands in a file, since a watcher asks from a process of its own.
    """

    port = 3306
    database = ""
    logged = b"2026-05-04T10:20:30.000000Z\t    8 Query\tSELECT 1\n"

    def __init__(self, file: Path) -> None:
        self._file = file
        self.refused: set[str] = set()
        self.sockets: tuple[str, ...] = ()

    def asked(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
        with self._file.open("a") as file:
            file.write(f"{sql}\n")
        if sql in self.refused:
            raise RefusedError(f"denied: {sql}")
        return []

    def close(self) -> None:
        """Nothing is open."""

    def password(self, address: Address) -> str | None:
        return None

    def connect_to(self, address: Address, password: str | None) -> Connection:
        self.address = address
        return self

    def usual_sockets(self, port: int) -> tuple[str, ...]:
        return self.sockets

    def claim(self, connection: Connection) -> bool:
        return True

    def logging_statements(self, connection: Connection) -> LoggingStatements:
        return LoggingStatements(
            switch_on=ON, put_back=PUT_BACK, remove=REMOVE, told=("replicas have it, too",)
        )

    def log(self, connection: Connection) -> ServerLog:
        connection.rows("the log")
        return PretendedLog(self)
