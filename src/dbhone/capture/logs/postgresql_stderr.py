"""PostgreSQL's log to standard error, whose lines begin as ``log_line_prefix`` says.

The prefix stands in no log, so the usual ones are tried; another can be given. It must tell
sessions apart: by ``%c`` or by ``%p``.
"""

from __future__ import annotations

import re

from dbhone.capture.logs._postgresql import Messages
from dbhone.capture.logs.base import Clock, LogFormat, RecordReader
from dbhone.capture.sessions import Sessions
from dbhone.errors import UsageError

USUAL = (
    "%m [%p] %q%u@%d ",  # Debian's
    "%m [%p] ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",  # pgBadger's proposals
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%t [%p]: [%l-1] %u@%d ",
    "%t [%p]: ",
    "%t [%p] ",
    "%m [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: [%l-1] user=%u,db=%d ",
    "%t:%r:%u@%d:[%p]:",  # Amazon RDS
    "%m:%r:%u@%d:[%p]:",
    "%m [%p] %d %u %a %h ",
    "%m %c ",
    "%m [%c] ",
    "%n [%p] ",
    "%m [%p] %u@%d/%a ",
    "%m %u@%d [%p] ",
    "%m [%p-%l] %q%u@%d ",
    "%m [%p] [%u] [%d] ",
)
_LEVELS = "LOG|ERROR|FATAL|PANIC|DETAIL|STATEMENT|WARNING|NOTICE|INFO|HINT|CONTEXT|QUERY|LOCATION"
_LEVELS += "|DEBUG[1-5]?"
_STATE = "(?:[0-9A-Z]{5}: )?"
"""The SQLSTATE that log_error_verbosity = verbose puts before a message."""
_SYSLOG = re.compile(
    r"\n(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)"
    r" \S+ [^\s\[]+\[\d+\]: \[\d+(?:-\d+)?\] "
)
"""A line by syslog: time, host, program and process, number of the message and of its part."""
_HAS_DETAIL = "execute "
_LINE = re.compile(rf"\n[^\n\t][^\n]*?(?:{_LEVELS}):  ")
_NAME = r"(?:\[unknown\]|[^\n@,\]\[]*?)"
_WORD = r"(?:[^\s@,\]\[/:]*|\[unknown\])"
_ZONE = r"(?:[A-Za-z]\w*|[+-]\d\d(?::?\d\d)?)"
_ESCAPES = {
    "m": rf"(?P<time>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}} {_ZONE})",
    "t": rf"(?P<time>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d {_ZONE})",
    "n": r"(?P<epoch>\d{10}\.\d{3})",
    "p": r"(?P<process>\d+)",
    "c": r"(?P<session>[0-9a-f]+\.[0-9a-f]+)",
    "l": r"\d+",
    "x": r"\d+",
    "v": r"(?:\d+/\d+)?",
    "e": r"[0-9A-Z]{5}",
    "s": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+",
    "P": r"\d*",
    "Q": r"-?\d+",
    "d": rf"(?P<database>{_WORD})",
    "u": _WORD,
    "r": r"[^\s\n]*?",
    "h": r"[^\s\n]*?",
    "L": r"[^\s\n]*?",
}
# Once the prefix is known, names may have any characters: what follows tells where they end. Their
# lengths are limited so that a line that does not fit takes no time. The server limits names to 63
# bytes, and writes up to four characters for each byte of an application's name.
_ANY_NAMES = {
    "a": r"[^\n]{0,252}?",
    "u": r"[^\n]{0,63}?",
    "d": r"(?P<database>[^\n@]{0,63}?)",
}
_ESCAPE = re.compile(r"%(-?\d*)(.)", re.DOTALL)


def prefix_pattern(prefix: str, *, any_names: bool = False) -> str:
    """Return the regular expression of what ``log_line_prefix`` makes, with groups of our names.

    With ``any_names`` it fits all names, without it only such as tell one prefix from another.
    Raises UsageError for a prefix that does not identify sessions.
    """
    escapes = _ESCAPES | _ANY_NAMES if any_names else _ESCAPES
    pattern, end, optional = "", 0, False
    for match in _ESCAPE.finditer(prefix):
        pattern += re.escape(prefix[end : match.start()])
        end = match.end()
        padding, letter = match.groups()
        if letter == "q":
            pattern += "(?:"
            optional = True
        elif letter == "%":
            pattern += "%"
        else:
            space = r"\ *" if padding else ""
            pattern += space + escapes.get(letter, _NAME) + space
    pattern += re.escape(prefix[end:]) + (")??" if optional else "")
    for name in ("time", "epoch", "process", "session", "database"):
        first, *others = pattern.split(f"(?P<{name}>")
        pattern = first + "".join(
            (f"(?P<{name}>" if at == 0 else "(?:") + part for at, part in enumerate(others)
        )
    if "(?P<process>" not in pattern and "(?P<session>" not in pattern:
        raise UsageError(
            f"the prefix '{prefix}' does not identify sessions",
            hint="log with log_line_prefix = '%m [%p] ', or to csvlog or jsonlog",
        )
    return pattern


class StderrReader(RecordReader):
    """Reads lines that begin with a prefix; the others of a record begin with a tab."""

    def __init__(self, sessions: Sessions, prefix: str) -> None:
        super().__init__(sessions)
        pattern = prefix_pattern(prefix, any_names=True)
        self.start = re.compile(rf"\n{pattern}(?P<level>{_LEVELS}):  {_STATE}")
        groups = self.start.groupindex
        self._time = "time" if "time" in groups else "epoch" if "epoch" in groups else ""
        key = "session" if "session" in groups else "process"
        # Where the prefix has no such thing, its level stands for it.
        names = (key, "level", self._time or "level", "database" if "database" in groups else "")
        self._groups = tuple(groups.get(name, groups["level"]) for name in names)
        self._database = "database" in groups
        self._messages = Messages(sessions)
        self._clock = Clock()
        self._at = 0
        self._pending: tuple[str, str, int, str, str] | None = None

    def record(self, start: re.Match[str], text: str, end: int) -> None:
        """Take a line. What some say is known only when the one after it is not a detail of it."""
        key, level, time, database = start.group(*self._groups)
        message = text[start.end() : end]
        if "\n" in message:
            message = self._joined(message, text, start.end())
        if self._pending is not None:
            self._take_pending(key, level, message)
        database = (database or "") if self._database else ""
        if level == "LOG":
            at = self._moment(time)
            if _HAS_DETAIL in message[:40]:
                self._pending = ("DETAIL", key, at, message, database)
            else:
                self._messages.log(key, at, message, "", database)
        elif level in ("ERROR", "FATAL", "PANIC"):
            self._pending = ("STATEMENT", key, self._moment(time), message, database)

    def _take_pending(self, key: str, level: str, message: str) -> None:
        """Take the line before, with this one if it is of it; wait on if this one is another."""
        assert self._pending is not None
        wanted, own, at, before, database = self._pending
        fits = own == key
        if fits and level != wanted and level in ("DETAIL", "HINT", "CONTEXT", "QUERY", "LOCATION"):
            return
        self._pending = None
        more = message if fits and level == wanted else ""
        if wanted == "DETAIL":
            self._messages.log(own, at, before, more, database)
        else:
            self._messages.error(own, at, before, more, database)

    def _joined(self, message: str, text: str, start: int) -> str:
        """Return a message of several lines; those that have no tab do not belong to it."""
        first, *others = message.split("\n")
        lines = [first]
        position = start + len(first)
        for line in others:
            if line.startswith("\t"):
                lines.append(line[1:])
            elif line:
                self.not_read(text, position, position + 1 + len(line))
            position += 1 + len(line)
        return "\n".join(lines)

    def _moment(self, time: str) -> int:
        if self._time == "time":
            if time[19] == ".":
                self._at = self._clock.millisecond(time)
            else:
                self._at = self._clock.second(time[:19], time[20:])
        elif self._time:
            self._at = round(float(time) * 1_000_000)
        return self._at

    def close(self) -> None:
        """Take the message that was waited with."""
        if self._pending is not None:
            self._take_pending("", "", "")


def _reader(head: str, sessions: Sessions, prefix: str | None) -> StderrReader:
    """Return a reader that knows the prefix.

    Raises UsageError if it is not recognised, and for what went through syslog.
    """
    lines = len(_LINE.findall(head))
    if len(_SYSLOG.findall(head)) >= lines:
        raise UsageError(
            "this is a log by syslog, which divides long statements",
            hint="log to stderr, csvlog or jsonlog: log_destination = 'csvlog'",
        )
    if prefix is None:
        prefix = max(USUAL, key=lambda usual: _fitting(usual, head))
        if _fitting(prefix, head) * 10 < lines * 9:
            raise UsageError(
                "the log_line_prefix of this log was not recognised",
                hint="give the server's own: --line-prefix '%m [%p] ' (SHOW log_line_prefix)",
            )
    return StderrReader(sessions, prefix)


def _fitting(prefix: str, head: str) -> int:
    return len(re.findall(rf"\n{prefix_pattern(prefix)}(?:{_LEVELS}):  ", head))


PLUGIN = LogFormat(
    title="PostgreSQL's log to stderr",
    protocol="postgresql",
    beginning=_LINE,
    reader=_reader,
    has_line_prefix=True,
)
