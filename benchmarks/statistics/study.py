"""The study: every method on every kind of noise and every recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.statistics.cutting import Recording
from benchmarks.statistics.figures import Figures, figures
from benchmarks.statistics.kinds import CHOSEN_ON, HELD_OUT, USUAL, Kind
from benchmarks.statistics.methods.base import Method
from benchmarks.statistics.piece import Plan
from benchmarks.statistics.trace import Use
from dbhone.analysis.verdict import MINIMUM_BLOCKS

LENGTHS = (6, 8, 10, 12, 15, 18, 21, 25, 30)
"""The restarts of the runs of which the shortest that finds enough is told."""
LONGEST = Plan(restarts=LENGTHS[-1])
"""The longest runs that are tried."""
Results: TypeAlias = Mapping[str, Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What all methods are worth on one noise. ``results`` are by a method's title.

    ``longest`` is how many minutes the longest runs took that were tried.
    """

    noise: str
    held_out: bool
    longest: float
    results: Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is simulated: so many runs of each noise. ``lengths`` are restarts, the fewest first."""

    methods: Sequence[Method]
    recordings: Sequence[Recording]
    runs: int
    seed: int
    lengths: Sequence[int] = LENGTHS

    def rows(self) -> Iterator[Row]:
        """Yield a row for each noise: those to choose on first, then those that only judge."""
        for held_out, kinds in ((False, CHOSEN_ON), (True, HELD_OUT)):
            for kind in kinds:
                yield self._of_kind(kind, held_out=held_out)
            for each in self.recordings:
                if (each.use is Use.JUDGING) == held_out:
                    yield self._of_recording(each)

    def _of_kind(self, kind: Kind, *, held_out: bool) -> Row:
        piece = kind.noise(generator(self.seed, kind.name), self.runs, LONGEST)
        return Row(
            noise=kind.name,
            held_out=held_out,
            longest=LONGEST.minutes,
            results={
                method.title: figures(
                    method, piece, USUAL, restarts=USUAL.restarts, lengths=self.lengths
                )
                for method in self.methods
            },
        )

    def _of_recording(self, recording: Recording) -> Row:
        """Judge runs as long as those of synthetic noise, or as long as was recorded."""
        longest = recording.plan(USUAL)
        piece = recording.cut(generator(self.seed, recording.title), self.runs, longest)
        restarts = min(restarts_within(longest, USUAL.minutes), longest.restarts)
        lengths = _up_to(longest.restarts, self.lengths)
        return Row(
            noise=recording.title,
            held_out=recording.use is Use.JUDGING,
            longest=longest.minutes,
            results={
                method.title: figures(method, piece, longest, restarts=restarts, lengths=lengths)
                for method in self.methods
                if method.on_traces
            },
        )


def _up_to(restarts: int, lengths: Sequence[int]) -> list[int]:
    """Return the lengths of at most so many restarts, continued in steps of a fifth."""
    found = [each for each in lengths if each <= restarts]
    while found and (following := round(found[-1] * 1.2)) <= restarts:
        found.append(following)
    return found


def generator(seed: int, name: str) -> np.random.Generator:
    """Return random numbers of a noise's own, whatever other noises there are."""
    return np.random.default_rng([seed, *name.encode()])


def restarts_within(plan: Plan, minutes: float) -> int:
    """Return how many restarts fit into so many minutes: at least what a verdict needs."""
    return max(int(minutes / plan.after(1).minutes), MINIMUM_BLOCKS)
