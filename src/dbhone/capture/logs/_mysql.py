"""What the logs of MySQL and MariaDB share: the heading that each start of the server writes."""

from __future__ import annotations

import re

from dbhone.capture.logs.base import RecordReader

_HEADING = re.compile(
    r"\n[^\n]+, Version: [^\n]+\nTcp port: [^\n]*\nTime\s+Id\s+Command\s+Argument(?=\n|$)"
)


class MysqlRecordReader(RecordReader):
    """Reads records between which there may be headings."""

    def not_read(self, text: str, start: int, end: int) -> None:
        """Note a stretch that could not be read, unless it is a heading."""
        if not _HEADING.fullmatch(text[start:end].rstrip("\n")):
            super().not_read(text, start, end)


def without_heading(statement: str) -> str:
    """Return a statement without the heading that follows the last one before a restart."""
    # Most statements are spared the expensive search.
    return _HEADING.sub("", statement) if "Time" in statement else statement
