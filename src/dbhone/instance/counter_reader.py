"""The counters of a running server that somebody wants to watch: found, enabled, read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dbhone.dbms.base_counters import CounterSource, Reading
from dbhone.errors import ServerError, UsageError
from dbhone.instance.client import Client, connect
from dbhone.instance.server import Server
from dbhone.measurement.series import Kind, Quantity, Readings

MOST = 100
"""How many counters of one server may be watched at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A counter that was asked for and that this server cannot tell; ``why`` has the nearest."""

    counter: str
    why: str


class CounterReader:
    """A connection that reads the wanted counters. Close it before the server is stopped.

    ``wanted`` are counters as experiments name them, ``SOURCE.NAME``, where ``NAME`` may have
    the wildcards ``*``, ``?`` and ``[…]``; those of sources that the DBMS has not are none of
    its. What the server's version lacks is in ``missing``. Raises ServerError if the server
    does not let us in, UsageError if more than ``MOST`` counters are meant.
    """

    def __init__(self, server: Server, wanted: Sequence[str]) -> None:
        self.missing: list[Missing] = []
        self._client = connect(server.endpoint)
        self._sources: list[_Source] = []
        try:
            for source in server.dbms.counters:
                patterns = [each.partition(".") for each in wanted]
                mine = tuple(name for head, _, name in patterns if head == source.name)
                if mine:
                    self._open(source, mine)
            self._check_number()
        except BaseException:
            self.close()
            raise

    def _open(self, source: CounterSource, patterns: tuple[str, ...]) -> None:
        try:
            there = [each.name for each in source.read(self._client.ask(source.query))]
        except ServerError:
            self._lack(source, patterns, f"'{source.name}' is {source.counts}")
            return
        names = _chosen(patterns, there)
        if source.enable:
            self._enable(source, names)
        if not source.passing:
            for each in patterns:
                if not _chosen((each,), there):
                    self._lack(source, (each,), _nearest(source, each, there))
        self._sources.append(_Source(source=source, patterns=patterns, names=names))

    def _enable(self, source: CounterSource, names: Sequence[str]) -> None:
        for name in names:
            self._client.tell(source.enabling(name))

    def _lack(self, source: CounterSource, patterns: Sequence[str], why: str) -> None:
        counters = (f"{source.name}.{each}" for each in patterns)
        self.missing.extend(Missing(counter=each, why=why) for each in counters)

    def _check_number(self) -> None:
        count = sum(len(each.names) for each in self._sources)
        if count > MOST:
            raise UsageError(
                f"[observe] counters means {count} counters of the server; {MOST} can be watched",
                hint="write patterns that fewer names match",
            )

    def read(self) -> Readings:
        """Return what the counters are now. Raises ServerError."""
        found: dict[Quantity, float] = {}
        for each in self._sources:
            found.update(each.read(self._client))
        return found

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A source with what of it is wanted."""

    source: CounterSource
    patterns: tuple[str, ...]
    names: tuple[str, ...]

    def read(self, client: Client) -> dict[Quantity, float]:
        if not self.source.passing and not self.names:
            return {}
        answer = self.source.read(client.ask(self.source.statement(self.names)))
        found = {each.name: each for each in answer}
        wanted = _chosen(self.patterns, list(found)) if self.source.passing else self.names
        return {self._quantity(found[each]): found[each].value for each in wanted if each in found}

    def _quantity(self, reading: Reading) -> Quantity:
        name, unit = f"{self.source.name}.{reading.name}", self.source.unit
        if self.source.passing:
            return Quantity(name=name, unit=unit, kind=Kind.COUNT)
        if reading.level:
            return Quantity(name=name, unit=unit, kind=Kind.LEVEL)
        return Quantity(name=name, unit=f"{unit}/s", kind=Kind.RATE)


def _chosen(patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a pattern matches, in the patterns' order, each once."""
    found = (name for each in patterns for name in names if fnmatchcase(name, each))
    return tuple(dict.fromkeys(found))


def _nearest(source: CounterSource, name: str, there: Sequence[str]) -> str:
    """Tell the names closest to one that is not there; they are too many to tell them all."""
    spelled = {each.lower(): each for each in there}
    close = difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(spelled[each]) for each in close)}?"
    said = f"{len(there)} names, and none is like it" if there else "and there is nothing yet"
    return f"'{source.name}' is {source.counts}, {said}"
