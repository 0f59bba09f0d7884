"""What PostgreSQL says of statements in a log, in whatever format the log is."""

from __future__ import annotations

import re

from dbhone.capture.sessions import Sessions
from dbhone.capture.templates import Value
from dbhone.workload.workload_file import StatementKind

_DURATION = "duration: "
_STATEMENT = "statement: "
_EXECUTE = "execute "
_PREPARING = ("parse ", "bind ")
_UNNAMED = "<unnamed>"
_END = "disconnection: "
_PARAMETER = re.compile(r"\$\d+ = (?:'([^']*(?:''[^']*)*)'|(NULL))(?:, |$)")
_CUT = "..."
_CANCELED = "canceling statement due to "


class Messages:
    """Tells sessions what the server's messages mean. Times are microseconds."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._databases = sessions.counted.databases

    def log(self, key: str, at: int, message: str, detail: str, database: str = "") -> None:
        """Take a message of level LOG, with its detail."""
        duration: int | None = None
        if message.startswith(_DURATION):
            end = message.find(" ms", 10)
            try:
                duration = round(float(message[10:end]) * 1000)
            except ValueError:
                return
            if len(message) <= end + 5:
                self._sessions.took(key, duration)
                return
            message = message[end + 5 :]
        if message.startswith(_STATEMENT):
            if database:
                self._databases[database] += 1
            self._sessions.statement(key, at, message[11:], None, duration)
        elif message.startswith(_EXECUTE):
            self._execute(key, at, message, detail, duration, database)
        elif message.startswith(_PREPARING) and duration is not None:
            self._sessions.prepared(key, duration)
        elif message.startswith(_END):
            self._sessions.ended(key)

    def _execute(
        self, key: str, at: int, message: str, detail: str, duration: int | None, database: str
    ) -> None:
        colon = message.find(": ")
        if colon < 0:
            return
        if message.startswith("execute fetch from "):
            # The next rows of a portal: the server continues with what is counted already.
            return
        if database:
            self._databases[database] += 1
        kind: StatementKind = "bound" if message.startswith(_UNNAMED, 8) else "named"
        self._sessions.statement(
            key, at, message[colon + 2 :], self._parameters(detail), duration, kind
        )

    def _parameters(self, detail: str) -> list[Value]:
        if "arameters: " not in detail[:12]:
            return []
        values: list[Value] = []
        for text, null in _PARAMETER.findall(detail):
            if null:
                values.append(None)
                continue
            if text.endswith(_CUT):
                self._sessions.counted.perhaps_cut += 1
            values.append(text.replace("''", "'") if "'" in text else text)
        return values

    def error(self, key: str, at: int, message: str, statement: str) -> None:
        """Take an error, with its statement if the log has one."""
        if message.startswith(_CANCELED):
            self._sessions.canceled(key, statement or None)
        else:
            self._sessions.failed(key, at, statement or None)
