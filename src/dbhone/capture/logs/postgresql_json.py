"""PostgreSQL's jsonlog, since version 15: ``log_destination = jsonlog``."""

from __future__ import annotations

import json
import re

from dbhone.capture.logs._postgresql import Messages
from dbhone.capture.logs.base import Clock, LogFormat, LogReader
from dbhone.capture.sessions import Sessions

_BEGINNING = re.compile(r'\n\{"timestamp":"\d{4}-\d\d-\d\d ')
_ERRORS = frozenset({"ERROR", "FATAL", "PANIC"})


class JsonReader(LogReader):
    """Reads one JSON object a line."""

    def __init__(self, sessions: Sessions) -> None:
        super().__init__(sessions)
        self._messages = Messages(sessions)
        self._clock = Clock()

    def read(self, text: str, *, final: bool) -> int:
        """Read all lines: no record has several."""
        del final
        start = 0
        for line in text.split("\n"):
            if line and not self._record(line):
                self.not_read(text, start, start + len(line))
            start += len(line) + 1
        return len(text)

    def _record(self, line: str) -> bool:
        """Take a line; return whether it was a record."""
        try:
            record = json.loads(line)
            level, time = record["error_severity"], record["timestamp"]
            at = self._clock.millisecond(time)
            if level == "LOG":
                self._messages.log(
                    record.get("session_id", ""),
                    at,
                    record["message"],
                    record.get("detail", ""),
                    record.get("dbname", ""),
                )
            elif level in _ERRORS:
                self._messages.error(
                    record.get("session_id", ""),
                    at,
                    record.get("message", ""),
                    record.get("statement", ""),
                    record.get("dbname", ""),
                )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False
        return True


PLUGIN = LogFormat(
    title="PostgreSQL's jsonlog",
    protocol="postgresql",
    beginning=_BEGINNING,
    reader=lambda _head, sessions, _prefix: JsonReader(sessions),
)
