"""The study: every method on every kind of noise and every recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.statistics.cutting import Recording
from benchmarks.statistics.figures import Figures, figures
from benchmarks.statistics.methods.base import Method
from benchmarks.statistics.noise import CHOSEN_ON, HELD_OUT, Noise
from benchmarks.statistics.piece import Plan
from benchmarks.statistics.trace import Use
from dbhone.analysis.verdict import MINIMUM_BLOCKS

LENGTHS = (6, 8, 10, 12, 15, 18, 21, 25, 30)
"""The restarts of the runs of which the shortest that finds enough is told."""
USUAL, LONGEST = Plan(restarts=15), Plan(restarts=LENGTHS[-1])
"""Runs of 30 minutes, of which most figures are, and the longest that are tried."""
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
        for held_out, noises in ((False, CHOSEN_ON), (True, HELD_OUT)):
            for name, noise in noises.items():
                yield self._of_noise(name, noise, held_out=held_out)
            for each in self.recordings:
                if (each.use is Use.JUDGING) == held_out:
                    yield self._of_recording(each)

    def _of_noise(self, name: str, noise: Noise, *, held_out: bool) -> Row:
        piece = noise(self._generator(name), self.runs, LONGEST)
        return Row(
            noise=name,
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
        piece = recording.cut(self._generator(recording.title), self.runs, longest)
        restarts = min(_restarts_within(longest, USUAL.minutes), longest.restarts)
        lengths = [each for each in self.lengths if each <= longest.restarts]
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

    def _generator(self, name: str) -> np.random.Generator:
        """Return random numbers of a noise's own, whatever other noises there are."""
        return np.random.default_rng([self.seed, *name.encode()])


def _restarts_within(plan: Plan, minutes: float) -> int:
    """Return how many restarts fit into so many minutes: at least what a verdict needs."""
    return max(int(minutes / plan.after(1).minutes), MINIMUM_BLOCKS)
