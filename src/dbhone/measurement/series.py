"""What was observed while a slice ran: typed values, no clock and no process.

A series is what one thing was at moments of a slice, or how fast it grew between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from dbhone.measurement.metric import THROUGHPUT


class SeriesKind(StrEnum):
    """What a series' values are."""

    RATE = "rate"
    """How fast something grew, in a second, since the moment before."""
    LEVEL = "level"
    """What something was at the moment."""
    COUNT = "count"
    """How many of something there were at the moment; of what is not told there were none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Something that can be observed. ``unit`` is that of the values that a series of it has."""

    name: str
    unit: str
    kind: SeriesKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One quantity over a slice. ``at`` has seconds since the slice began, as many as values.

    The value of a rate is the mean since the moment before, which is not in ``at`` if it was
    the first.
    """

    quantity: Quantity
    at: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was observed of one subject on one set in one block."""

    block: int
    set: str
    subject: str
    series: tuple[Series, ...]


PACE = Quantity(name=THROUGHPUT.name, unit=THROUGHPUT.unit, kind=SeriesKind.RATE)
"""What the driver finished in each interval, by its own word."""
CPU = Quantity(name="cpu", unit="cores", kind=SeriesKind.RATE)
READ = Quantity(name="read", unit="B/s", kind=SeriesKind.RATE)
WRITTEN = Quantity(name="written", unit="B/s", kind=SeriesKind.RATE)
MEMORY = Quantity(name="memory", unit="B", kind=SeriesKind.LEVEL)
OF_ALL = (PACE, CPU, READ, WRITTEN, MEMORY)
"""What is observed of every server, without its help."""

Readings = Mapping[Quantity, float]
"""What was read at one moment; of a rate, the sum so far."""


def series_of(moments: Sequence[tuple[float, Readings]]) -> tuple[Series, ...]:
    """Return a series for each quantity in one probe's readings at growing moments.

    A quantity may be missing at some: a rate's next value is then the mean over the gap, a
    count is nought. A sum that shrank was reset, as by a restart: how fast it grew
    cannot be known, and that moment is left out, so that no rate is negative.
    """
    quantities = dict.fromkeys(reading for _, readings in moments for reading in readings)
    series = (_series(quantity, moments) for quantity in quantities)
    return tuple(one_series for one_series in series if one_series.at)


def _series(quantity: Quantity, moments: Sequence[tuple[float, Readings]]) -> Series:
    if quantity.kind is SeriesKind.COUNT:
        points = [(at, readings.get(quantity, 0.0)) for at, readings in moments]
    else:
        points = [(at, readings[quantity]) for at, readings in moments if quantity in readings]
    if quantity.kind is SeriesKind.RATE:
        points = _rates(points)
    return Series(
        quantity=quantity,
        at=tuple(at for at, _ in points),
        values=tuple(value for _, value in points),
    )


def _rates(read: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [
        (at, (value - before) / (at - began))
        for (began, before), (at, value) in pairwise(read)
        if value >= before and at > began
    ]
