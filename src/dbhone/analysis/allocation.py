"""How the time that is left is divided between steps, rounds and restarts.

What differs between restarts, and what between rounds of one restart.

How the time that is left is best spent: on which steps, and on restarts or on rounds.

The variance of a step's log ratio, over restarts of r rounds each, is that between restarts plus
r-th part of that within: a nested design (T. Kalibera and R. Jones, ISMM 2013, section 5). A
restart takes time of its own before its first round, a round its slices. So a step whose rounds
differ widely is told best by more rounds, one whose restarts differ by more restarts, and one that
is known well by few of either. What is chosen lets the widest of all intervals become as narrow as
the time allows. It looks at spreads alone, never at differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.comparison import CONFIDENCE
from dbhone.analysis.estimate import MINIMUM_FOR_INTERVAL, degrees, reach
from dbhone.analysis.rounds import levels
from dbhone.measurement.sample_array import Array


def known(restarts: Sequence[Array]) -> Known | None:
    """Return what restarts tell of one step, None if they are too few or there is no pair.

    Each is rounds x subjects, the base first: the logarithms of the slices' rates, NaN where one
    is missing. Every other round of a restart gives ratios of its own; how far these lie from
    the other rounds' tells what a round is worth, whatever the noise is like. What that does not
    explain of how the restarts' ratios vary is between them (a method of moments). All are means
    over the subjects.
    """
    usable = [
        restart for restart in restarts if len(restart) >= LEAST_ROUNDS and _has_pairs(restart)
    ]
    if len(usable) < MINIMUM_FOR_INTERVAL:
        return None
    total = float(np.var([_ratios(block) for block in usable], axis=0, ddof=1).mean())
    apart = [np.square(_ratios(block[::2]) - _ratios(block[1::2])).mean() for block in usable]
    rounds = [len(block) for block in usable]
    within = float(np.mean(np.array(apart) * rounds)) / 4
    explained = within * float(np.mean(1 / np.array(rounds)))
    return Known(error=total / len(usable), between=max(total - explained, 0.0), within=within)


def _has_pairs(logs: Array) -> bool:
    halves = (logs[::2], logs[1::2])
    return logs.shape[1] > 1 and not any(np.isnan(half).all(axis=0).any() for half in halves)


def _ratios(logs: Array) -> Array:
    variances = levels(logs)
    ratios: Array = variances[1:] - variances[0]
    return ratios


LEAST_ROUNDS = 4
"""Of each step in each restart: fewer have no two halves that could be fitted."""
_HALVINGS = 40
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the restarts so far tell of one step's log ratio.

    ``error`` is the variance of its mean over them; ``between`` and ``within`` are the variances
    of one restart's ratio that more rounds cannot lessen, and of one round's.
    """

    error: float
    between: float
    within: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What measuring takes, in seconds: a restart of all subjects, and a round of each step."""

    restart: float
    rounds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What is chosen: so many further restarts, each with these rounds of each step.

    ``half`` is the half-width, of a logarithm, that the widest of all intervals will then have;
    ``seconds`` is what it takes.
    """

    restarts: int
    rounds: Mapping[str, int]
    half: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a choice has to keep to.

    ``seconds`` are left; at least ``restarts`` more have to be made; a restart has no more than
    ``rounds`` of a step; no interval needs a smaller half-width than ``wanted``, of a logarithm.
    """

    seconds: float
    restarts: int
    rounds: int
    wanted: float


def allocate(
    known: Mapping[str, Known], cost: Cost, before: int, bounds: Bounds
) -> Allocation | None:
    """Return how to go on after so many restarts, None if the time is too short for it.

    It is the shortest way to the wanted half-width, or if that cannot be reached in time, what
    comes nearest to it.
    """
    first = max(bounds.restarts, MINIMUM_FOR_INTERVAL - before)
    least = cost.restart + sum(cost.rounds[step] * LEAST_ROUNDS for step in known)
    ways = [
        _Way(known=known, cost=cost, before=before, further=further, bounds=bounds)
        for further in _numbers(first, math.floor(bounds.seconds / least))
    ]
    allocations = [way.allocation() for way in ways]
    reached = [outcome for outcome in allocations if outcome.half <= bounds.wanted]
    if reached:
        return min(reached, key=lambda outcome: outcome.seconds)
    return min(allocations, key=lambda outcome: outcome.half, default=None)


def _numbers(first: int, last: int) -> Iterator[int]:
    """Return numbers from the first to the last, ever further apart."""
    number = first
    while number <= last:
        yield number
        number += max(1, number // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A number of further restarts, between which the time is divided."""

    known: Mapping[str, Known]
    cost: Cost
    before: int
    further: int
    bounds: Bounds

    def allocation(self) -> Allocation:
        """Return the rounds that bring all steps to the wanted half-width, or nearest to it."""
        fewest = dict.fromkeys(self.known, LEAST_ROUNDS)
        most = dict.fromkeys(self.known, self.bounds.rounds)
        low = max((self.bounds.wanted / self._width) ** 2, self._widest(most))
        high = self._widest(fewest)
        rounds = self._rounds(low)
        if not self._fits(rounds):
            rounds = fewest
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                tried = self._rounds(middle)
                if self._fits(tried):
                    high, rounds = middle, tried
                else:
                    low = middle
        return Allocation(
            restarts=self.further,
            rounds=rounds,
            half=self._width * math.sqrt(self._widest(rounds)),
            seconds=self._seconds(rounds),
        )

    @property
    def _width(self) -> float:
        """The half-width of an interval, in standard errors."""
        return float(reach(degrees(np.array(self.before + self.further)), CONFIDENCE))

    def _widest(self, rounds: Mapping[str, int]) -> float:
        """Return the largest variance that a step's mean over all restarts will have."""
        return max(self._variance(step, rounds[name]) for name, step in self.known.items())

    def _variance(self, step: Known, rounds: int) -> float:
        new = self.further * (step.between + step.within / rounds)
        return (self.before**2 * step.error + new) / (self.before + self.further) ** 2

    def _rounds(self, variance: float) -> dict[str, int]:
        """Return how many rounds of each step bring its mean to a variance."""
        return {name: self._needed(step, variance) for name, step in self.known.items()}

    def _needed(self, step: Known, variance: float) -> int:
        total = variance * (self.before + self.further) ** 2
        new = (total - self.before**2 * step.error) / self.further - step.between
        if new * self.bounds.rounds < step.within:
            return self.bounds.rounds
        if new <= 0:
            return LEAST_ROUNDS
        # A little more than a whole round is rounding.
        return max(LEAST_ROUNDS, math.ceil(step.within / new - _ROUNDING))

    def _fits(self, rounds: Mapping[str, int]) -> bool:
        return self._seconds(rounds) <= self.bounds.seconds

    def _seconds(self, rounds: Mapping[str, int]) -> float:
        measuring = sum(self.cost.rounds[name] * count for name, count in rounds.items())
        return self.further * (self.cost.restart + measuring)
