"""PostgreSQL's csvlog: ``log_destination = csvlog``."""

from __future__ import annotations

import re

from dbhone.capture.logs._postgresql import Messages
from dbhone.capture.logs.base import LONGEST_RECORD, Clock, LogFormat, LogReader
from dbhone.capture.sessions import Sessions

_Q = r'(?:"[^"]*(?:""[^"]*)*")?'
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
_BEGINNING = re.compile(rf"\n{_TIME} [^\s,]+,{_Q},{_Q},\d*,")
_RECORD = re.compile(
    rf"\n({_TIME} [^\s,]+),{_Q},({_Q}),\d*,{_Q},([0-9a-f.]*),\d*,{_Q},[^,\n]*,[^,\n]*,[^,\n]*,"
    # Severity, SQLSTATE, message, detail; hint, internal query and position, context; the query.
    rf"([A-Z0-9]+),[^,\n]*,({_Q}),({_Q}),{_Q},{_Q},[^,\n]*,{_Q},({_Q})"
    rf"(?:,(?:{_Q}|[^\",\n]*))*(?=\n|$)"
)


class CsvReader(LogReader):
    """Reads records of 23 columns and more."""

    def __init__(self, sessions: Sessions) -> None:
        super().__init__(sessions)
        self._messages = Messages(sessions)
        self._clock = Clock()

    def read(self, text: str, *, final: bool) -> int:
        """Read the records that match as a whole; what is between them is not read."""
        end = 0
        log = self._messages.log
        for match in _RECORD.finditer(text):
            if not final and match.end() == len(text):
                break  # its end is known only by what follows
            if match.start() != end:
                self.not_read(text, end, match.start())
            end = match.end()
            time, database, key, level, message, detail, query = match.groups()
            if level == "LOG":
                at = self._clock.millisecond(time)
                log(key, at, _unquoted(message), _unquoted(detail), _unquoted(database))
            elif level in ("ERROR", "FATAL", "PANIC"):
                at = self._clock.millisecond(time)
                self._messages.error(
                    key, at, _unquoted(message), _unquoted(query), _unquoted(database)
                )
        if final or len(text) - end > LONGEST_RECORD:
            self.not_read(text, end, len(text))
            return len(text)
        return end


def _unquoted(text: str) -> str:
    inner = text[1:-1]
    return inner.replace('""', '"') if '"' in inner else inner


PLUGIN = LogFormat(
    title="PostgreSQL's csvlog",
    protocol="postgresql",
    beginning=_BEGINNING,
    reader=lambda _head, sessions, _prefix: CsvReader(sessions),
)
