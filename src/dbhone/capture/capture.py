"""Reads logs and writes the workload file."""

from __future__ import annotations

import contextlib
import gc
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast

from dbhone.capture.anonymise import Anonymiser
from dbhone.capture.counted import Counted
from dbhone.capture.logs.base import LogFormat, LogReader, formats, head_of, read_all
from dbhone.capture.sessions import Sessions
from dbhone.capture.sql import LEXICAL_RULES
from dbhone.errors import UsageError, nearest
from dbhone.workload.workload_file import Header, Unread, UnreadLine, WorkloadWriter, written

_GZIP = b"\x1f\x8b"


class NoStatementError(UsageError):
    """The logs hold no statement at all, not even one that cannot be replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedLog:
    """One log that was read: what it is, and what could not be read of it."""

    name: str
    title: str
    unread: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What was captured: the header of the file, the logs, and what was counted in them."""

    header: Header
    logs: tuple[CapturedLog, ...]
    counted: Counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """How logs are read.

    ``line_prefix`` is PostgreSQL's log_line_prefix, None to find it out. With a ``database``
    statements on others are left out.
    """

    anonymise: bool = False
    line_prefix: str | None = None
    database: str | None = None


def capture(
    logs: Sequence[Path], output: Path, options: CaptureOptions, *, server: str | None = None
) -> Captured:
    """Write the workload that the logs hold, in this order, to a file.

    ``server`` is the address of the server whose log it is, where the log has no name of its own.
    Raises UsageError for a log that hone cannot read and if no statement can be replayed, such as
    for a database that no statement is on, and NoStatementError if no log has any.
    """
    named = [_Log(path=path, server=server) for path in logs]
    known = {log: _format_of(log) for log in named}
    protocols = {found.protocol for found in known.values()}
    if len(protocols) > 1:
        raise UsageError("the logs are of servers that speak different protocols")
    if options.line_prefix is not None and not any(one.has_line_prefix for one in known.values()):
        titles = ", ".join(sorted({found.title for found in known.values()}))
        raise UsageError(
            f"there is no log with a line prefix: {titles} has none", hint="leave --line-prefix out"
        )
    with written(output) as writer:
        return _Capture(protocols.pop(), writer, options).read(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    path: Path
    server: str | None

    def __str__(self) -> str:
        return self.server or str(self.path)

    @property
    def name(self) -> str:
        return self.server or self.path.name


class _Capture:
    def __init__(self, protocol: str, writer: WorkloadWriter, options: CaptureOptions) -> None:
        self._writer = writer
        self._options = options
        self._protocol = protocol
        self._sessions = Sessions(
            LEXICAL_RULES[protocol],
            writer.line,
            replaced=Anonymiser() if options.anonymise else None,
            database=options.database,
        )

    def read(self, logs: dict[_Log, LogFormat]) -> Captured:
        readers = [self._read(log, found) for log, found in logs.items()]
        self._sessions.finish()
        counted, database = self._sessions.counted, self._options.database
        if not counted.transactions or counted.first is None:
            if database is not None and counted.databases and database not in counted.databases:
                raise UsageError(
                    f"{', '.join(map(str, logs))}: no statement is on a database '{database}'",
                    hint=nearest(database, counted.databases),
                )
            is_read = counted.left_out or any(reader.unread.lines for reader in readers)
            raise (UsageError if is_read else NoStatementError)(
                f"{' and '.join(map(str, logs))}: no statement to replay in {_lines(readers)}"
                f"{_reasons(counted.left_out)}",
                hint="log all statements, in English: docs/guides/captured-workloads.md says how",
            )
        header = self._header(readers)
        self._writer.header = header
        return Captured(
            header=header,
            logs=tuple(
                CapturedLog(name=log.name, title=found.title, unread=reader.unread.lines)
                for (log, found), reader in zip(logs.items(), readers, strict=True)
            ),
            counted=counted,
        )

    def _read(self, log: _Log, found: LogFormat) -> LogReader:
        with _opened(log) as file, _without_collector():
            reader = found.reader(head_of(file), self._sessions, self._options.line_prefix)
            read_all(file, reader)
        return reader

    def _header(self, readers: Sequence[LogReader]) -> Header:
        counted = self._sessions.counted
        templates = self._sessions.templates.replayed()
        assert counted.first is not None
        return Header(
            protocol=self._protocol,
            anonymised=self._options.anonymise,
            began=_moment(counted.first),
            first=counted.first,
            last=counted.last,
            cut=counted.middle(),
            timed=any(template.microseconds for template in templates),
            sessions=counted.sessions,
            transactions=counted.transactions,
            statements=counted.statements,
            databases={
                name: statements
                for name, statements in counted.databases.items()
                if not self._sessions.is_other(name)
            },
            left_out=dict(counted.left_out),
            unread=Unread(
                lines=sum(reader.unread.lines for reader in readers),
                first=tuple(
                    UnreadLine(log=at, line=line, text="" if self._options.anonymise else text)
                    for at, reader in enumerate(readers)
                    for line, text in reader.unread.first
                )[:5],
            ),
            templates=templates,
        )


def _format_of(log: _Log) -> LogFormat:
    """Return the format of a log, by what its beginning is most like."""
    with _opened(log) as file:
        head = head_of(file)
    scored = [(found.score(head), found) for found in formats()]
    score, chosen = max(scored, key=lambda pair: pair[0])
    if not score:
        titles = ", ".join(found.title for _, found in scored)
        hint = f"it reads {titles}"
        if not head.strip():
            raise NoStatementError(f"{log} is empty", hint=hint)
        raise UsageError(f"{log} is not a log that hone can read", hint=hint)
    return chosen


@contextlib.contextmanager
def _opened(log: _Log) -> Iterator[BinaryIO]:
    """Open a log, also one that gzip has made smaller. Raises UsageError."""
    try:
        with log.path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{log} is not a whole gzip file: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot read {log}: {error.strerror or error}") from error


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Let Python look for no cycles meanwhile: there are none, and looking takes a twentieth."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _lines(readers: Sequence[LogReader]) -> str:
    return f"{sum(reader.lines for reader in readers):,} lines"


def _reasons(left_out: Mapping[str, int]) -> str:
    words = (f"{count:,} {why}" for why, count in left_out.items())
    return f" (left out: {'; '.join(words)})" if left_out else ""
