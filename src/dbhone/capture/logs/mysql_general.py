"""The general log of MySQL and MariaDB: ``general_log = ON``.

It has every statement as it came, without times and without errors. Of a prepared statement it has
the execution with its values filled in, but with question marks if it was prepared before the log
began.
"""

from __future__ import annotations

import re

from dbhone.capture.logs._mysql import ENDS, MysqlRecordReader
from dbhone.capture.logs.base import Clock, LogFormat
from dbhone.capture.sessions import Sessions

_COMMANDS = (
    "Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Statistics|Field List|Ping"
    "|Change user|Fetch|Long Data|Set option|Shutdown|Refresh|Processlist|Kill|Debug|Daemon|Sleep"
    "|Binlog Dump|Binlog Dump GTID|Register Slave|Reset [Cc]onnection|Bulk_execute|Delayed insert"
    "|Table Dump|Time|Error|Connect Out|Create DB|Drop DB|Register Replica"
)
# MariaDB writes the time when the second changes, MySQL since 5.7 always.
_TIME = r"\d{6} [ \d]\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)"
_START = re.compile(rf"\n({_TIME}|)\t+ *(\d+) ({_COMMANDS})(?:\t|(?=\n)|$)")
_BEGINNINGS = ("Connect", "Change user")
"""Both name an account and its database; what was before has ended, whether that is told or not."""
_DATABASE = re.compile(r" on (\S*)(?: using |$)")
_USE = re.compile(r"\s*use\s+(`[^`]+`|\w+)\s*;?\s*", re.IGNORECASE)


class GeneralReader(MysqlRecordReader):
    """Reads records that begin with a time, the number of the session and a command."""

    start = _START

    def __init__(self, sessions: Sessions) -> None:
        super().__init__(sessions)
        self._clock = Clock()
        self._time = ""
        self._at = 0
        self._databases: dict[str, str] = {}
        """Which database each session asks, where the log has told it."""

    def own_record(self, start: re.Match[str], text: str, end: int) -> None:
        """Take a record without a heading."""
        time, key, command = start.groups()
        if time and time != self._time:
            self._time, self._at = time, self._moment(time)
        if command in ("Query", "Execute"):
            self._statement(key, text[start.end() : end])
        elif command in _BEGINNINGS:
            self.sessions.ended(key)
            found = _DATABASE.search(text, start.end(), end)
            self._databases[key] = found[1] if found is not None else ""
        elif command in ENDS:
            self.sessions.ended(key)
            if command == "Quit":  # a reset leaves the database as it is
                self._databases.pop(key, None)
        elif command == "Init DB":
            self._databases[key] = text[start.end() : end].strip()

    def _statement(self, key: str, sql: str) -> None:
        used = _USE.fullmatch(sql)
        if used is not None:
            self._databases[key] = used[1].strip("`")
        if self.sessions.takes(self._databases.get(key, "")):
            self.sessions.statement(key, self._at, sql)

    def _moment(self, time: str) -> int:
        if "T" in time:
            second = self._clock.second(f"{time[:10]} {time[11:19]}", time[26:])
            return second + int(time[20:26])
        day = f"20{time[:2]}-{time[2:4]}-{time[4:6]}"
        return self._clock.second(f"{day} {time[7:].replace(' ', '0')}")


PLUGIN = LogFormat(
    title="the general log of MySQL or MariaDB",
    protocol="mysql",
    beginning=_START,
    reader=lambda _head, sessions, _prefix: GeneralReader(sessions),
)
