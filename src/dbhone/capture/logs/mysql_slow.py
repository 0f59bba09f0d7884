"""The slow log of MySQL and MariaDB, with every statement in it: ``long_query_time = 0``.

It has the time of each statement, and the values of prepared ones filled in.
"""

from __future__ import annotations

import re
from datetime import datetime

from dbhone.capture.logs._mysql import ENDS, MysqlRecordReader
from dbhone.capture.logs.base import LogFormat
from dbhone.capture.sessions import Sessions
from dbhone.capture.sql import OF_ROUTINE

# A record begins with its time, which MariaDB leaves out within a second, or with the user.
_START = re.compile(r"\n(?:# Time: ([^\n]*)\n)?# User@Host: ([^\n]*)")
_ID = re.compile(r" Id: +(\d+)")
_THREAD = re.compile(r"# Thread_id: (\d+)")
_QUERY_TIME = re.compile(r"# Query_time: (\d+)\.(\d{6})")
_OF_ROUTINE = "# Stored_routine: "
"""What MariaDB and Percona Server write before a statement that a routine executed."""
_SAMPLED = re.compile(r"# Log_slow_rate_.*?limit: (\d+)")
"""What MariaDB and Percona Server write where they log one of so many statements or sessions."""
_SCHEMA = re.compile(r"# .*?\bSchema: (\S*)")
"""What MariaDB and Percona Server write of each statement."""
_DATABASE = re.compile(r"use ([^;\n]+);\n")
"""What the server writes where a statement is on another database than the one before it."""
_TIMESTAMP = re.compile(
    r"SET (?:last_insert_id=\d+,)?(?:insert_id=\d+,)?timestamp=(\d+)[^;\n]*;(?:\n|$)"
)
_ADMINISTRATOR = "# administrator command: "


class SlowReader(MysqlRecordReader):
    """Reads records of a few lines with a mark and a statement."""

    start = _START

    def __init__(self, sessions: Sessions) -> None:
        super().__init__(sessions)
        self._database = ""

    def own_record(self, start: re.Match[str], text: str, end: int) -> None:
        """Take a record without a heading."""
        whole = text[start.end() : end]
        position = 0
        thread, took, sampled, schema, of_routine = None, None, None, None, False
        while whole.startswith("\n#", position) and not whole.startswith(
            _ADMINISTRATOR, position + 1
        ):
            next_line = whole.find("\n", position + 1)
            if next_line < 0:
                next_line = len(whole)
            line = whole[position + 1 : next_line]
            thread = thread or _THREAD.match(line)
            took = took or _QUERY_TIME.match(line)
            sampled = sampled or _SAMPLED.match(line)
            schema = schema or _SCHEMA.match(line)
            of_routine = of_routine or line.startswith(_OF_ROUTINE)
            position = next_line
        number = thread or _ID.search(start[2])
        if number is None or took is None:
            self.not_read(text, start.start(), end)
            return
        if sampled is not None:
            counted = self.sessions.counted
            counted.sampled = max(counted.sampled, int(sampled[1]))
        rest = whole[position + 1 :]
        if not rest.endswith(";"):
            self.not_read(text, start.start(), end)
            return
        if schema is not None:
            self._database = schema[1]
        if of_routine:
            self.sessions.counted.left_out[OF_ROUTINE] += 1
            return
        self._statement(number[1], start, rest[:-1], took)

    def _statement(self, key: str, start: re.Match[str], rest: str, took: re.Match[str]) -> None:
        duration = int(took[1]) * 1_000_000 + int(took[2])
        database = _DATABASE.match(rest)
        if database is not None:
            self._database = database[1].strip("`")
            rest = rest[database.end() :]
        stamp = _TIMESTAMP.match(rest)
        at = self._moment(start[1], stamp)
        if stamp is not None:
            rest = rest[stamp.end() :]
        if rest.startswith(_ADMINISTRATOR):
            if rest.startswith(ENDS, len(_ADMINISTRATOR)):
                self.sessions.ended(key)
            return
        if rest and self.sessions.takes(self._database):
            self.sessions.statement(key, at, rest, None, duration)

    @staticmethod
    def _moment(time: str | None, stamp: re.Match[str] | None) -> int:
        if time is not None and "T" in time:
            moment = datetime.fromisoformat(time.strip())
            return int(moment.timestamp() * 1_000_000)
        return int(stamp[1]) * 1_000_000 if stamp is not None else 0


PLUGIN = LogFormat(
    title="the slow log of MySQL or MariaDB",
    protocol="mysql",
    beginning=_START,
    reader=lambda _head, sessions, _prefix: SlowReader(sessions),
    lines=4,
)
