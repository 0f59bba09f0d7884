"""The interface of log formats, and how a log is cut into records.

A log is read in blocks. A record begins where the format's pattern finds a beginning, and ends
where the next one begins: so a statement may have any number of lines, and what belongs to no
record is counted as unread.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO

from dbhone import registry
from dbhone.capture.sessions import Sessions

DRAWER = "dbhone.capture.logs"
_BLOCK = 1 << 20
LONGEST_RECORD = 64 << 20
_FIRST_UNREAD = 5
_SHOWN = 120


@dataclass(slots=True)
class UnreadLines:
    """Counts the lines of one log that could not be read, and keeps the first: number and text."""

    lines: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def add(self, text: str, line: int) -> None:
        """Count what could not be read; its first line has the number ``line``."""
        lines = text.strip("\n").split("\n")
        for at, one in enumerate(lines):
            if not one.strip():
                continue
            self.lines += 1
            if len(self.first) < _FIRST_UNREAD:
                self.first.append((line + at, one[:_SHOWN]))


class LogReader(ABC):
    """Reads one log: it gets text that begins with a newline, and tells the sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.unread = UnreadLines()
        self.lines = 0
        """The number of lines before the text that is read now."""

    @abstractmethod
    def read(self, text: str, *, final: bool) -> int:
        """Read the whole records in a text; return where what is not read yet begins."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do
        """Take the end of the log."""

    def not_read(self, text: str, start: int, end: int) -> None:
        """Note that a stretch of the text could not be read."""
        if text[start:end].strip():
            line = self.lines + text.count("\n", 0, start)
            line += text[start:end].startswith("\n")
            self.unread.add(text[start:end], max(line, 1))


class RecordReader(LogReader):
    """Reads a log whose records begin with ``start``, the newline before it included."""

    start: re.Pattern[str]

    def read(self, text: str, *, final: bool) -> int:
        """Read all records of which it is known where they end."""
        previous: re.Match[str] | None = None
        record = self.record
        for match in self.start.finditer(text):
            if previous is not None:
                record(previous, text, match.start())
            elif match.start() > 0:
                self.not_read(text, 0, match.start())
            previous = match
        if previous is None:
            if final or len(text) > LONGEST_RECORD:
                self.not_read(text, 0, len(text))
                return len(text)
            return 0
        if final:
            record(previous, text, len(text))
            return len(text)
        if len(text) - previous.start() > LONGEST_RECORD:
            self.not_read(text, previous.start(), len(text))
            return len(text)
        return previous.start()

    @abstractmethod
    def record(self, start: re.Match[str], text: str, end: int) -> None:
        """Take the record that begins with the match and ends before ``end``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """A format of logs; users know it by its ``title``.

    Each of its records begins with ``beginning``, and has about so many ``lines`` that no other
    format has. ``reader`` gets the beginning of a log, the sessions, and the log_line_prefix that
    the user gave, None if there is none. It raises UsageError for a log that cannot be read.
    """

    title: str
    protocol: str
    beginning: re.Pattern[str]
    reader: Callable[[str, Sessions, str | None], LogReader]
    lines: int = 1
    has_line_prefix: bool = False

    def score(self, head: str) -> int:
        """Return how many lines of a log's beginning are such as this format has."""
        return self.lines * len(self.beginning.findall(head))


def formats() -> tuple[LogFormat, ...]:
    """Return all formats."""
    return tuple(registry.load_all(DRAWER, LogFormat, what="log format").values())


def blocks(file: BinaryIO) -> Iterator[str]:
    """Yield a log's text in blocks of whole lines; the last may have no newline at its end.

    Bytes that are no UTF-8 become lone surrogates, and can be turned back.
    """
    rest = b""
    while block := file.read(_BLOCK):
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        yield (rest + block[:end]).decode("utf-8", "surrogateescape")
        rest = block[end:]
    if rest:
        yield rest.decode("utf-8", "surrogateescape")


def read_all(file: BinaryIO, reader: LogReader) -> None:
    """Read a log to its end."""
    text = "\n"
    for block in blocks(file):
        text += block
        # The newline at the end goes before the next record.
        done = reader.read(text[:-1] if text.endswith("\n") else "", final=False)
        reader.lines += text.count("\n", 0, done)
        text = text[done:]
    if text.endswith("\n"):
        reader.read(text[:-1], final=True)
    elif text:
        _read_cut(reader, text)
    reader.close()


def _read_cut(reader: LogReader, text: str) -> None:
    """Read what is before a last line without an end, which is cut, and may be part of a record."""
    done = reader.read(text, final=False)
    if done < len(text):
        reader.not_read(text, done, len(text))


_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d))?")
_SECOND = 1_000_000
_HALF_HOUR = 1800 * _SECOND
_DISORDER = 60 * _SECOND
"""How far a line may lie behind the one before it: sessions write at the same time."""
_SET_BACK = range(_HALF_HOUR // 2, 4 * _HALF_HOUR)
"""How far clocks without a zone lie behind when daylight saving time ends."""


class Clock:
    """Turns the times of a log into microseconds that go on when daylight saving time ends.

    The offset of a zone such as ``+02:00`` is applied. That of a zone such as ``CET`` is not known:
    such times count as UTC. Where the zone changes and the clock is set back, the later times get
    as many half hours as it takes. So do times without a zone.
    """

    def __init__(self) -> None:
        self._text = self._zone = ""
        self._at = 0
        self._latest = 0
        self._added: dict[str, int] = {}
        self._added_last = 0

    def second(self, text: str, zone: str = "") -> int:
        """Return the microseconds of a second that is written ``YYYY-MM-DD HH:MM:SS``."""
        if text != self._text or zone != self._zone:
            moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
            self._at = self._continued(int(moment.timestamp()) * _SECOND, zone)
            self._text, self._zone = text, zone
        return self._at

    def millisecond(self, text: str) -> int:
        """Return the microseconds of a time that is written ``YYYY-MM-DD HH:MM:SS.MMM ZONE``."""
        return self.second(text[:19], text[24:]) + int(text[20:23]) * 1000

    def _continued(self, at: int, zone: str) -> int:
        """Return a time so that it lies behind those before it, about."""
        offset = _OFFSET.fullmatch(zone)
        if offset is not None:
            minutes = int(offset[2]) * 60 + int(offset[3] or 0)
            return at - int(f"{offset[1]}1") * minutes * 60 * _SECOND
        added = self._added.get(zone, self._added_last)
        behind = self._latest - at - added
        is_new = zone not in self._added
        if (is_new and behind > _DISORDER) if zone else behind in _SET_BACK:
            added += -(-behind // _HALF_HOUR) * _HALF_HOUR
        self._added[zone] = self._added_last = added
        self._latest = max(self._latest, at + added)
        return at + added


def head_of(file: BinaryIO) -> str:
    """Return the beginning of a log, after a newline, and go back to it."""
    head = file.read(1 << 18)
    file.seek(0)
    return "\n" + head.decode("utf-8", "surrogateescape")
