"""What the logs of MySQL and MariaDB share: the heading that each start of the server writes."""

from __future__ import annotations

import re
from abc import abstractmethod

from dbhone.capture.logs.base import RecordReader

ENDS = ("Quit", "Change user", "Reset connection", "Reset Connection")
"""The commands that end a session; those that do not end the connection begin another."""
_HEADINGS = re.compile(
    r"(?:\n[^\n]+, Version: [^\n]+\nTcp port: [^\n]*\nTime\s+Id\s+Command\s+Argument(?=\n|$))+"
)
_OF_HEADING = "\nTcp port: "


class MysqlRecordReader(RecordReader):
    """Reads records between which there may be headings."""

    def record(self, start: re.Match[str], text: str, end: int) -> None:
        """Take a record. A heading behind it says that the server began again."""
        headings = None
        if text.find(_OF_HEADING, start.end(), end) >= 0:  # the search for a whole one is slow
            headings = _HEADINGS.search(text, start.end(), end)
        if headings is None:
            self.own_record(start, text, end)
            return
        self.own_record(start, text, headings.start())
        self.sessions.all_ended()
        self.not_read(text, headings.start(), end)

    @abstractmethod
    def own_record(self, start: re.Match[str], text: str, end: int) -> None:
        """Take the record that begins with the match and ends before ``end``."""

    def not_read(self, text: str, start: int, end: int) -> None:
        """Note a stretch that could not be read, unless it is a heading.

        One at a log's beginning ends no session: a server that goes on to another file writes it.
        """
        if not _HEADINGS.fullmatch(text[start:end].rstrip("\n")):
            super().not_read(text, start, end)
