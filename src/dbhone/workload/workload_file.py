"""Workload files: what a captured workload is kept in.

A workload file is a ZIP archive with two members, so that what it is about can be read without
reading all of it, and any tool can open it:

``workload.json``
    one JSON object, ``Header``: the templates with their counts, and what was left out.
``transactions.jsonl``
    JSON arrays, one a line, of transactions in the order in which they ended, about. A transaction
    is ``[SESSION, BEGAN, STATEMENTS]``, and a statement ``[TEMPLATE, MICROSECONDS, FAILED,
    VALUES]``. ``BEGAN`` is in microseconds; ``MICROSECONDS`` is null where the log has no times;
    ``FAILED`` is 1 where the original failed. ``VALUES`` are the literals as they stand in the
    statement, then the parameters as the server got them: strings, or null.

The file comes from outside: its reader takes nothing that is not as written here.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dbhone.errors import HoneError, UsageError, disk_full
from dbhone.safe_text import terminal_safe

SUFFIX = ".workload"
FORMAT: Final = "dbhone workload"
VERSION: Final = 1
_HEADER, _TRANSACTIONS = "workload.json", "transactions.jsonl"
LONGEST_HEADER = 256 << 20
"""The bytes of a header, and of a line of transactions with its newline, that are read at most."""
LONGEST_LINE = 256 << 20
_COMPRESSION = 1
_USUAL = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)
_ENCRYPTED = 0x1
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, UnicodeDecodeError)

StatementKind = Literal["text", "bound", "named"]
Count = Annotated[int, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Template(_Model):
    """A statement without its literals, which stand between the ``pieces``.

    A statement of the kind ``bound`` was prepared and executed once, one of the kind ``named`` can
    be executed many times: the values of both have parameters after the literals.
    ``microseconds`` is the time of all executions together, where the log has times. Answers of an
    ``inexact`` one differ each time: it has random values, the time, or sequences.
    """

    pieces: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    kind: StatementKind
    executions: Count
    microseconds: Count
    errors: Count
    inexact: bool

    @property
    def text(self) -> str:
        """The template as people read it."""
        return "?".join(self.pieces)

    def statement(self, values: Sequence[str | None]) -> tuple[str, Sequence[str | None]]:
        """Return the statement with its literals in place, and its parameters."""
        literals = len(self.pieces) - 1
        if not literals:
            return self.pieces[0], values
        parts = [self.pieces[0]]
        for literal, piece in zip(values[:literals], self.pieces[1:], strict=True):
            parts += (literal or "", piece)
        return "".join(parts), values[literals:]


class UnreadLine(_Model):
    """A line that could not be read: its number and its beginning, which anonymous files lack."""

    log: Count
    line: Count
    text: str


class Unread(_Model):
    """The lines that could not be read: how many, and the first of them."""

    lines: Count = 0
    first: Annotated[tuple[UnreadLine, ...], Field(strict=False)] = ()


class Header(_Model):
    """What a workload is about.

    The transactions that began before ``cut`` are the earlier half. ``left_out`` has the number of
    statements that are not replayed, by the reason. ``timed`` says whether the log has times.
    """

    format: Literal["dbhone workload"] = FORMAT
    version: Literal[1] = VERSION
    protocol: str
    anonymised: bool
    began: str
    first: int
    last: int
    cut: int
    timed: bool
    sessions: Count
    transactions: Count
    statements: Count
    databases: dict[str, Count]
    left_out: dict[str, Count]
    unread: Unread
    templates: Annotated[tuple[Template, ...], Field(strict=False)]

    def replayed(self) -> tuple[tuple[Template, float], ...]:
        """Return the templates that are replayed, and each one's share of the time.

        Without times it is the share of the executions. Of the other templates all transactions
        were left out.
        """
        executed = [one for one in self.templates if one.executions]
        amounts = [one.microseconds if self.timed else one.executions for one in executed]
        total = sum(amounts) or 1
        return tuple((one, amount / total) for one, amount in zip(executed, amounts, strict=True))

    @model_validator(mode="after")
    def _whole(self) -> Header:
        if not self.first <= self.cut <= self.last:
            raise ValueError("its earlier half does not end between its beginning and its end")
        return self


class Statement(NamedTuple):
    """One execution of a template; ``microseconds`` are None where the log has no times."""

    template: int
    microseconds: int | None
    failed: bool
    values: list[str | None]


class Transaction(NamedTuple):
    """One transaction of a session; ``began`` is in microseconds."""

    session: int
    began: int
    statements: list[Statement]


@contextmanager
def written(path: Path) -> Iterator[WorkloadWriter]:
    """Yield a writer of the file; without an error the file is there, whole, in the end.

    Raises UsageError where it cannot be written, MachineError for a full disk.
    """
    draft = None
    try:
        # Only the user may read it: it holds what the queries of a server hold.
        descriptor, name = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
        draft = Path(name)
        with os.fdopen(descriptor, "w+b") as raw:
            yield from _members(raw, path)
            raw.flush()
            os.fsync(raw.fileno())
        draft.replace(path)
    except OSError as error:
        raise _unwritable(error, path) from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def _members(raw: IO[bytes], path: Path) -> Iterator[WorkloadWriter]:
    """Yield a writer of the transactions, then write the header."""
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION) as file:
        with file.open(_TRANSACTIONS, "w", force_zip64=True) as member:
            writer = WorkloadWriter(member, path)
            yield writer
        assert writer.header is not None, "a workload file has a header"
        # ASCII: a text may hold undecodable bytes, as surrogates.
        header = json.dumps(writer.header.model_dump(mode="python"))
        _check_length(header, LONGEST_HEADER, path)
        file.writestr(_HEADER, header)


class WorkloadWriter:
    """Writes the lines of transactions. The ``header`` must be known when they end."""

    def __init__(self, member: IO[bytes], path: Path) -> None:
        self._member = member
        self._path = path
        self.header: Header | None = None

    def line(self, text: str) -> None:
        """Write a line of transactions, which ends in a newline.

        Raises what ``written`` raises: an OSError would be taken for one of the log.
        """
        data = text.encode()
        _check_length(data, LONGEST_LINE, self._path)
        try:
            self._member.write(data)
        except OSError as error:
            raise _unwritable(error, self._path) from error


def _check_length(text: Sized, longest: int, path: Path) -> None:
    """Raise UsageError for what no reader would take."""
    if len(text) > longest:
        raise UsageError(
            f"cannot write {path}: more than {longest >> 20} MiB in one piece could not be read",
            hint="capture a shorter stretch of time",
        )


def _unwritable(error: OSError, path: Path) -> HoneError:
    full = disk_full(error, "writing the workload file")
    return full or UsageError(f"cannot write {path}: {error.strerror}")


def read_header(path: Path) -> Header:
    """Return what a workload is about. Raises UsageError if the file is not a workload file."""
    with _opened(path) as file:
        info = file.getinfo(_HEADER)
        if info.file_size > LONGEST_HEADER:
            raise UsageError(f"{path} is not a workload file: its header is too long")
        text = file.read(info)
    try:
        found = json.loads(text)
        if isinstance(found, dict) and found.get("format") == FORMAT:
            version = found.get("version")
            if version != VERSION:
                raise UsageError(
                    f"{path} has version {version!s:.9} of the format; this hone reads {VERSION}",
                    hint="capture the logs again, or use the hone that made it",
                )
        return Header.model_validate(found)
    except (ValidationError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not a workload file: {_first_line(error)}") from None


def read_transactions(path: Path, header: Header) -> Iterator[Transaction]:
    """Yield the transactions. Raises UsageError at the first that is not as it must be."""
    literals = [(len(one.pieces) - 1, one.kind != "text") for one in header.templates]
    with _opened(path) as file, file.open(_TRANSACTIONS) as lines:
        number = 0
        while line := lines.readline(LONGEST_LINE):
            number += 1
            try:
                for transaction in json.loads(line):
                    yield _checked(transaction, literals)
            except (ValueError, TypeError, RecursionError) as error:
                raise UsageError(
                    f"{path}: line {number} of its transactions is wrong: {_first_line(error)}"
                ) from None


def _checked(found: object, literals: list[tuple[int, bool]]) -> Transaction:
    if type(found) is not list or len(found) != 3 or type(found[2]) is not list or not found[2]:
        raise ValueError("this is not a transaction")
    session, began, statements = found
    if type(session) is not int or type(began) is not int or session < 0:
        raise ValueError("this is not a transaction")
    return Transaction(session, began, [_checked_statement(one, literals) for one in statements])


def _checked_statement(found: object, literals: list[tuple[int, bool]]) -> Statement:
    if type(found) is not list or len(found) != 4:
        raise ValueError("this is not a statement")
    template, microseconds, failed, values = found
    if type(template) is not int or not 0 <= template < len(literals):
        raise ValueError("a statement has no template")
    if microseconds is not None and (type(microseconds) is not int or microseconds < 0):
        raise ValueError("a statement has no time")
    if type(failed) is not int or type(values) is not list:
        raise ValueError("this is not a statement")
    needed, bound = literals[template]
    if len(values) < needed or (len(values) > needed and not bound):
        raise ValueError("a statement's values do not fit its template")
    for at, value in enumerate(values):
        if type(value) is not str and (value is not None or at < needed):
            raise ValueError("a value is not text")
    return Statement(template, microseconds, failed == 1, values)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as file:
            if sorted(file.namelist()) != sorted((_HEADER, _TRANSACTIONS)):
                raise UsageError(f"{path} is not a workload file: it has other members")
            if any(not _is_usual(member) for member in file.infolist()):
                raise UsageError(f"{path} is not a workload file: it is packed in another way")
            yield file
    except _DAMAGED as error:
        raise UsageError(
            f"{path} is not a whole workload file: {_first_line(error)}",
            hint="'hone capture' makes workload files",
        ) from None
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", hint="'hone capture' makes a workload file"
        ) from error


def _is_usual(member: zipfile.ZipInfo) -> bool:
    """Return whether a member is packed as hone does it, and not encrypted."""
    return not member.flag_bits & _ENCRYPTED and member.compress_type in _USUAL


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:200]
    return terminal_safe(str(error).partition("\n")[0])[:200]
