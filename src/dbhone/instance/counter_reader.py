"""Reads the counters of a running server that an experiment observes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dbhone.dbms.base_counters import CounterSource, Reading
from dbhone.errors import ServerError, UsageError
from dbhone.instance.client import Client, connect
from dbhone.instance.server import Server
from dbhone.measurement.series import Quantity, Readings, SeriesKind

MOST = 100
"""How many counters of one server may be watched at once."""


class CounterReader:
    """A connection that reads the wanted counters. Close it before the server is stopped.

    ``wanted`` are counters as experiments name them, ``SOURCE.NAME``, where ``NAME`` may have
    the wildcards ``*``, ``?`` and ``[…]``. Counters of other DBMSs' sources are ignored. What the
    server's version lacks is in ``missing``, with the nearest names. Raises ServerError if the
    server refuses the connection, UsageError if more than ``MOST`` counters match.
    """

    def __init__(self, server: Server, wanted: Sequence[str]) -> None:
        self.missing: dict[str, str] = {}
        self._client = connect(server.endpoint)
        self._sources: list[_Source] = []
        try:
            for source in server.dbms.counters:
                parts = (counter.partition(".") for counter in wanted)
                patterns = tuple(name for head, _, name in parts if head == source.name)
                if patterns:
                    self._open(source, patterns)
            self._check_number()
        except BaseException:
            self.close()
            raise

    def _open(self, source: CounterSource, patterns: tuple[str, ...]) -> None:
        try:
            available = [row.name for row in source.read(self._client.ask(source.query))]
        except ServerError:
            self._lack(source, patterns, f"'{source.name}' is {source.counts}")
            return
        names = _matching(patterns, available)
        for name in names if source.enable else ():
            self._client.tell(source.enabling(name))
        if not source.passing:
            for pattern in patterns:
                if not _matching((pattern,), available):
                    self._lack(source, (pattern,), _nearest(source, pattern, available))
        self._sources.append(_Source(source=source, patterns=patterns, names=names))

    def _lack(self, source: CounterSource, patterns: Sequence[str], why: str) -> None:
        self.missing |= {f"{source.name}.{pattern}": why for pattern in patterns}

    def _check_number(self) -> None:
        count = sum(len(source.names) for source in self._sources)
        if count > MOST:
            raise UsageError(
                f"[observe] counters matches {count} counters of the server; {MOST} can be watched",
                hint="write patterns that fewer names match",
            )

    def read(self) -> Readings:
        """Return the counters' present values. Raises ServerError."""
        values: dict[Quantity, float] = {}
        for source in self._sources:
            values.update(source.read(self._client))
        return values

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A source and the counters that are read from it."""

    source: CounterSource
    patterns: tuple[str, ...]
    names: tuple[str, ...]

    def read(self, client: Client) -> dict[Quantity, float]:
        if not self.source.passing and not self.names:
            return {}
        answer = self.source.read(client.ask(self.source.statement(self.names)))
        readings = {reading.name: reading for reading in answer}
        names = _matching(self.patterns, list(readings)) if self.source.passing else self.names
        present = (readings[name] for name in names if name in readings)
        return {self._quantity(reading): reading.value for reading in present}

    def _quantity(self, reading: Reading) -> Quantity:
        name, unit = f"{self.source.name}.{reading.name}", self.source.unit
        if self.source.passing:
            return Quantity(name=name, unit=unit, kind=SeriesKind.COUNT)
        if reading.level:
            return Quantity(name=name, unit=unit, kind=SeriesKind.LEVEL)
        return Quantity(name=name, unit=f"{unit}/s", kind=SeriesKind.RATE)


def _matching(patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a pattern matches, in the patterns' order, each once."""
    matches = (name for pattern in patterns for name in names if fnmatchcase(name, pattern))
    return tuple(dict.fromkeys(matches))


def _nearest(source: CounterSource, name: str, available: Sequence[str]) -> str:
    """Return a suggestion of at most three names: a server has too many to list them all."""
    spelling = {other.lower(): other for other in available}
    close = difflib.get_close_matches(name.lower(), spelling, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(spelling[match]) for match in close)}?"
    count = len(available)
    rest = f"{count} names, none of them similar" if count else "and has nothing yet"
    return f"'{source.name}' is {source.counts}, {rest}"
