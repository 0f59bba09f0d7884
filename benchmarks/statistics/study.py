"""The study: every method on every kind of noise and every recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.statistics.cutting import Recording
from benchmarks.statistics.figures import Figures, figures
from benchmarks.statistics.kinds import CHOSEN_ON, HELD_OUT
from benchmarks.statistics.methods.base import Method
from benchmarks.statistics.trace import Use

LENGTHS = (6, 8, 10, 12, 15, 18, 21, 25, 30)
"""The restarts of the runs of which the shortest that finds enough is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What all methods are worth on one noise. ``results`` are by a method's title.

    ``longest`` is how many minutes the longest runs took that were tried.
    """

    noise: str
    held_out: bool
    longest: float
    results: Mapping[str, Figures]


def rows(
    methods: Sequence[Method], recordings: Sequence[Recording], runs: int, seed: int
) -> Iterator[Row]:
    """Yield a row for each noise: those to choose on first, then those that only judge."""
    for held_out, kinds in ((False, CHOSEN_ON), (True, HELD_OUT)):
        recorded = (each.kind() for each in recordings if (each.use is Use.JUDGING) == held_out)
        for kind in (*kinds, *recorded):
            piece = kind.piece(runs, kind.longest, seed)
            lengths = _up_to(kind.longest.restarts)
            yield Row(
                noise=kind.name,
                held_out=held_out,
                longest=kind.longest.minutes,
                results={
                    method.title: figures(
                        method, piece, kind.longest, restarts=kind.plan.restarts, lengths=lengths
                    )
                    for method in methods
                    if method.on_traces or not kind.recorded
                },
            )


def _up_to(restarts: int) -> list[int]:
    """Return the lengths of at most so many restarts, continued in steps of a fifth."""
    found = [each for each in LENGTHS if each <= restarts]
    while found and (following := round(found[-1] * 1.2)) <= restarts:
        found.append(following)
    return found
