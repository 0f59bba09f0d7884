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
_FETCH = "execute fetch from "
_END = "disconnection: "
_PARAMETER = re.compile(r"\$\d+ = (?:'([^']*(?:''[^']*)*)'|(NULL))(?:, |$)")
_CUT = "..."
_CANCELED = "canceling statement due to "


class Messages:
    """Tells sessions what the server's messages mean. Times are microseconds."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

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
        if message.startswith(_PREPARING):
            if duration is not None and not self._sessions.is_other(database):
                self._sessions.prepared(key, duration)
        elif message.startswith(_END):
            self._sessions.ended(key)
        else:
            self._statement(key, at, message, detail, duration, database)

    def _statement(
        self, key: str, at: int, message: str, detail: str, duration: int | None, database: str
    ) -> None:
        kind: StatementKind = "text"
        if message.startswith(_EXECUTE):
            kind = "bound" if message.startswith(_UNNAMED, len(_EXECUTE)) else "named"
        elif not message.startswith(_STATEMENT):
            return
        _, colon, sql = message.partition(": ")
        # Of the next rows of a portal the statement is counted already.
        if not colon or message.startswith(_FETCH) or not self._sessions.takes(database):
            return
        parameters = None if kind == "text" else self._parameters(detail)
        self._sessions.statement(key, at, sql, parameters, duration, kind)

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

    def error(self, key: str, at: int, message: str, statement: str, database: str = "") -> None:
        """Take an error, with its statement if the log has one."""
        if self._sessions.is_other(database):
            return
        if message.startswith(_CANCELED):
            self._sessions.canceled(key, statement or None)
        else:
            self._sessions.failed(key, at, statement or None)
