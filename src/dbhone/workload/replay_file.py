"""Writes a captured workload as its clients read it: ``suites/replay/scripts/transactions.lua``.

Long sessions are cut into stretches of some transactions each. A stretch is written when it is
full, or when it has waited long; so the stretches are in the order of the workload, about, and only
some transactions are held. The file has a head, the stretches, and an index of where they begin.
All numbers are little-endian, and each begins at a multiple of four bytes.
"""

from __future__ import annotations

import re
import struct
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from dbhone.errors import UsageError
from dbhone.measurement.record import Group
from dbhone.workload.verb import from_verb
from dbhone.workload.workload_file import Header, Template, Transaction, read_transactions

_MAGIC = b"DBHONE-1"
_HEAD = struct.Struct("<8sIIQ")
_STATEMENT = struct.Struct("<5I")
_NULL = 0xFFFFFFFF
_FAILED, _BOUND, _NAMED, _STABLE, _FRAME = 1, 2, 4, 8, 16
_STRETCH = 20
"""Transactions of a stretch: few, so that many stretches fit in a slice."""
_HELD = 20_000
"""Transactions that are held at most."""
_MOST_PARAMETERS = 65_535
_MOST_PARTS = 10
_REST = "rest"
_LONGEST_KEY = 40

_LIST = re.compile(r"(\?|\$\d+)(?:\s*,\s*(?:\?|\$\d+))+")
_ROWS = re.compile(r"\((?:\?…)\)(?:\s*,\s*\((?:\?…)\))+")
_TABLE = re.compile(r"\b(?:from|into|update|join)\s+(?:only\s+)?([\w.\"`$]+)", re.IGNORECASE)
_UNFIT = re.compile(r"[^A-Za-z0-9_.]+")
_READS = re.compile(r"\s*(?:\(\s*)*(?:select|values|show|table|with)\b", re.IGNORECASE)
_CHANGES = re.compile(r"\s*with\b.*\b(?:insert|update|delete|merge)\b", re.IGNORECASE | re.DOTALL)
_OF_SESSION = re.compile(r"\s*(?:set|use|discard)\b", re.IGNORECASE)
_UNORDERED = re.compile(
    r"\b(?:limit|offset|fetch|for\s+update|for\s+share|string_agg|array_agg|group_concat|json_agg"
    r"|jsonb_agg|xmlagg|row_number|rank|float|double|avg|sum|stddev|variance|version)\b"
    r"|pg_catalog|information_schema|pg_stat|\bpg_|@@|\bshow\b",
    re.IGNORECASE,
)
"""What an answer may have that differs between two sound servers."""
_FRAMES = re.compile(
    r"\s*(?:begin|start\s+transaction|commit|rollback|end|abort)\b(?!.*\b(?:to|prepared)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""What begins or ends a transaction: it is executed around whichever statements are chosen."""
_AGGREGATE = re.compile(
    r"\b(?:sum|count|avg|min|max|distinct|group\s+by|order\s+by)\b", re.IGNORECASE
)
_RANGE = re.compile(r"\bbetween\b|[<>]|\blike\b", re.IGNORECASE)


class Half(StrEnum):
    """One half of a workload, told apart by time. One is trained on, the other is for testing."""

    EARLIER = "earlier"
    LATER = "later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The templates that are one step: their key, a title and a group.

    The title begins with their share of the original's time, or of its executions.
    """

    key: str
    title: str
    group: Group


def is_read(text: str) -> bool:
    """Return whether a template only reads, by its words."""
    verb = from_verb(text)
    return _READS.match(verb) is not None and _CHANGES.match(verb) is None


def writes(texts: Iterable[str]) -> bool:
    """Return whether one of these templates changes data, and not only its session."""
    return any(
        not (is_read(text) or _FRAMES.match(text) or _OF_SESSION.match(from_verb(text)))
        for text in texts
    )


def group_of(text: str) -> Group:
    """Return the group of a template, by its words.

    What begins and ends transactions belongs to writes, which it waits for.
    """
    if not is_read(text):
        return Group.WRITE
    if _AGGREGATE.search(text):
        return Group.AGGREGATE
    return Group.RANGE if _RANGE.search(text) else Group.POINT


def parts_of(header: Header) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """Return the parts of a workload, the heaviest first, and the part of each template.

    Templates that differ only in how long their lists are belong together. What is not among the
    heaviest is the last part.
    """
    weights: dict[str, float] = {}
    for template, weight in header.replayed():
        text = _normal(template)
        weights[text] = weights.get(text, 0.0) + weight
    ordered = sorted(weights, key=lambda text: -weights[text])
    heaviest = ordered[:_MOST_PARTS]
    parts = [
        Part(
            key=f"{at + 1}-{_key(text)}",
            title=f"{weights[text]:.1%} · {shortened(text)}",
            group=group_of(text),
        )
        for at, text in enumerate(heaviest)
    ]
    if len(weights) > len(heaviest):
        rest = sum(weights.values()) - sum(weights[text] for text in heaviest)
        title = f"{rest:.1%} · all other statements"
        others = ordered[_MOST_PARTS:]
        group = Group.WRITE if writes(others) else group_of(others[0])
        parts.append(Part(key=_REST, title=title, group=group))
    numbers = {text: at for at, text in enumerate(heaviest)}
    texts = (_normal(template) for template in header.templates)
    return tuple(parts), tuple(numbers.get(text, len(heaviest)) for text in texts)


def _normal(template: Template) -> str:
    text = " ".join(template.text.split()).rstrip("; ")
    return _ROWS.sub("(?…), …", _LIST.sub("?…", text))


def shortened(text: str) -> str:
    """Return a template's text, cut off if it is long."""
    return text if len(text) <= 160 else text[:159] + "…"


def _key(text: str) -> str:
    verb = from_verb(text).partition(" ")[0].lower()
    table = _TABLE.search(text)
    words = f"{verb}-{table[1]}" if table else verb
    return _UNFIT.sub("-", words).strip("-.")[:_LONGEST_KEY] or "statement"


def write_half(workload: Path, header: Header, half: Half, path: Path) -> None:
    """Write the transactions of one half. Raises UsageError if there are none."""
    parts, numbers = parts_of(header)
    with path.open("wb") as file:
        file.write(bytes(_HEAD.size))
        writer = _Writer(file, header, numbers)
        for transaction in read_transactions(workload, header):
            if (transaction.began < header.cut) == (half is Half.EARLIER):
                writer.take(transaction)
        writer.flush()
        if not writer.index:
            raise UsageError(
                f"{workload} has no transactions in its {half} half",
                hint="capture a longer stretch of time",
            )
        index = file.tell()
        file.write(struct.pack(f"<{len(writer.index)}Q", *writer.index))
        file.seek(0)
        file.write(_HEAD.pack(_MAGIC, len(parts), len(writer.index), index))


class _Writer:
    def __init__(self, file: BinaryIO, header: Header, parts: Sequence[int]) -> None:
        self._file = file
        self._templates = header.templates
        self._flags = [_flags(template) for template in header.templates]
        self._parts = parts
        self._held: OrderedDict[int, list[Transaction]] = OrderedDict()
        self._count = 0
        self.index: list[int] = []

    def take(self, transaction: Transaction) -> None:
        held = self._held.setdefault(transaction.session, [])
        held.append(transaction)
        self._count += 1
        if len(held) == _STRETCH:
            del self._held[transaction.session]
            self._write(held)
        elif self._count > _HELD:
            self._write(self._held.popitem(last=False)[1])

    def flush(self) -> None:
        while self._held:
            self._write(self._held.popitem(last=False)[1])
        self._file.write(bytes(-self._file.tell() % 8))

    def _write(self, stretch: Sequence[Transaction]) -> None:
        self._count -= len(stretch)
        self.index.append(self._file.tell())
        self._file.write(struct.pack("<I", len(stretch)))
        for transaction in stretch:
            self._file.write(b"".join(self._bytes_of(transaction)))

    def _bytes_of(self, transaction: Transaction) -> Iterator[bytes]:
        yield struct.pack("<I", len(transaction.statements))
        for one in transaction.statements:
            sql, parameters = self._templates[one.template].statement(one.values)
            text = _encoded(sql)
            flags = self._flags[one.template] | (_FAILED if one.failed else 0)
            if len(parameters) > _MOST_PARAMETERS:
                raise UsageError("a statement of the workload has too many parameters")
            part = self._parts[one.template]
            yield _STATEMENT.pack(one.template, part, flags, len(text), len(parameters))
            yield _padded(text)
            for value in parameters:
                if value is None:
                    yield struct.pack("<I", _NULL)
                else:
                    data = _encoded(value)
                    yield struct.pack("<I", len(data))
                    yield _padded(data)


def _flags(template: Template) -> int:
    flags = {"text": 0, "bound": _BOUND, "named": _BOUND | _NAMED}[template.kind]
    text = template.text
    if is_read(text) and not template.inexact and not _UNORDERED.search(text):
        flags |= _STABLE
    if _FRAMES.match(text):
        flags |= _FRAME
    return flags


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\0", b"")


def _padded(data: bytes) -> bytes:
    """Return the bytes followed by at least one zero, padded to a multiple of four bytes."""
    return data + bytes(4 - len(data) % 4)
