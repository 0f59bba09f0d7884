"""Divides the time that is left between steps, rounds and blocks.

A step's log ratio, over blocks of r rounds each, has the variance between blocks plus an r-th
part of the variance within them: a nested design (T. Kalibera and R. Jones, ISMM 2013, section 5).
A block takes time before its first round, and a round takes its slices. A step whose rounds
differ widely needs more rounds; one whose blocks differ needs more blocks. The choice makes the
widest of all intervals as narrow as the time allows. It looks at spreads alone, never at
differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.estimate import MINIMUM_FOR_INTERVAL, factor
from dbhone.analysis.rounds import levels
from dbhone.measurement.sample_array import Array

LEAST_ROUNDS = 4
"""Of a step in a block: fewer have no two halves of which each shows a ratio."""
_HALVINGS = 40
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents:
    """What the blocks so far show of one step's log ratio.

    ``error`` is the variance of its mean over them. ``between`` is the variance of one block's
    ratio that more rounds cannot lessen; ``within`` is the variance of one round's.
    """

    error: float
    between: float
    within: float


def variance_components(blocks: Sequence[Array]) -> VarianceComponents | None:
    """Return what blocks show of one step, None if there are too few of them or no pair.

    Each block is an array, rounds x subjects, the base first: the logarithms of the slices'
    rates, NaN where one is missing. The even and the odd rounds of a block give a ratio each; how
    far these differ shows the variance of a round, whatever the noise is like. The rest of the
    variance of the blocks' ratios is the variance between blocks (a method of moments). All
    figures are means over the subjects.
    """
    usable = [block for block in blocks if len(block) >= LEAST_ROUNDS and _has_pairs(block)]
    if len(usable) < MINIMUM_FOR_INTERVAL:
        return None
    total = float(np.var([_ratios(block) for block in usable], axis=0, ddof=1).mean())
    apart = [np.square(_ratios(block[::2]) - _ratios(block[1::2])).mean() for block in usable]
    rounds = [len(block) for block in usable]
    within = float(np.mean(np.array(apart) * rounds)) / 4
    explained = within * float(np.mean(1 / np.array(rounds)))
    return VarianceComponents(
        error=total / len(usable), between=max(total - explained, 0.0), within=within
    )


def _has_pairs(logs: Array) -> bool:
    halves = (logs[::2], logs[1::2])
    return logs.shape[1] > 1 and not any(np.isnan(half).all(axis=0).any() for half in halves)


def _ratios(logs: Array) -> Array:
    own = levels(logs)
    ratios: Array = own[1:] - own[0]
    return ratios


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCost:
    """The time in seconds that a block takes to start all subjects, and a round of each step."""

    start: float
    rounds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """A choice: the number of further blocks, and each one's rounds of each step.

    ``half`` is the half-width, of a logarithm, that the widest of all intervals will have;
    ``seconds`` is the time that it takes.
    """

    blocks: int
    rounds: Mapping[str, int]
    half: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a choice.

    ``seconds`` are left; at least ``blocks`` more have to be made; more than ``useful_blocks`` are
    not worth their starts, None is no limit; a block has at least ``least`` and at most ``most``
    rounds of each step; no interval needs a smaller half-width than ``wanted``, of a logarithm.
    """

    seconds: float
    blocks: int
    useful_blocks: int | None = None
    least: Mapping[str, int]
    most: Mapping[str, int]
    wanted: float


def allocate(
    components: Mapping[str, VarianceComponents], cost: BlockCost, before: int, limits: Limits
) -> Allocation | None:
    """Return how to continue after some blocks, None if the time is too short for any more.

    It is the shortest way to the wanted half-width. If the time is too short for that, it is the
    way that comes nearest to it.
    """
    first = max(limits.blocks, MINIMUM_FOR_INTERVAL - before)
    least = cost.start + sum(cost.rounds[step] * limits.least[step] for step in components)
    last = math.floor(limits.seconds / least)
    if limits.useful_blocks is not None:
        last = min(last, max(limits.useful_blocks, first))
    ways = [
        _Way(components=components, cost=cost, before=before, further=further, limits=limits)
        for further in _numbers(first, last)
    ]
    allocations = [way.allocation() for way in ways]
    reached = [outcome for outcome in allocations if outcome.half <= limits.wanted]
    if reached:
        return min(reached, key=lambda outcome: outcome.seconds)
    return min(allocations, key=lambda outcome: outcome.half, default=None)


def _numbers(first: int, last: int) -> Iterator[int]:
    """Return numbers from the first to the last, at growing distances."""
    number = first
    while number <= last:
        yield number
        number += max(1, number // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A number of further blocks, between which the time is divided."""

    components: Mapping[str, VarianceComponents]
    cost: BlockCost
    before: int
    further: int
    limits: Limits

    def allocation(self) -> Allocation:
        """Return the rounds that bring all steps to the wanted half-width, or nearest to it."""
        low = max((self.limits.wanted / self._width) ** 2, self._widest(self.limits.most))
        high = self._widest(self.limits.least)
        rounds = self._rounds(low)
        if not self._fits(rounds):
            rounds = dict(self.limits.least)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                tried = self._rounds(middle)
                if self._fits(tried):
                    high, rounds = middle, tried
                else:
                    low = middle
        return Allocation(
            blocks=self.further,
            rounds=rounds,
            half=self._width * math.sqrt(self._widest(rounds)),
            seconds=self._seconds(rounds),
        )

    @property
    def _width(self) -> float:
        """The half-width of an interval, in standard errors."""
        return factor(self.before + self.further)

    def _widest(self, rounds: Mapping[str, int]) -> float:
        """Return the largest variance that a step's mean over all blocks will have."""
        return max(self._variance(step, rounds[name]) for name, step in self.components.items())

    def _variance(self, step: VarianceComponents, rounds: int) -> float:
        new = self.further * (step.between + step.within / rounds)
        return (self.before**2 * step.error + new) / (self.before + self.further) ** 2

    def _rounds(self, variance: float) -> dict[str, int]:
        """Return how many rounds of each step bring its mean to a variance."""
        return {
            name: self._needed(step, variance, self.limits.least[name], self.limits.most[name])
            for name, step in self.components.items()
        }

    def _needed(self, step: VarianceComponents, variance: float, least: int, most: int) -> int:
        total = variance * (self.before + self.further) ** 2
        new = (total - self.before**2 * step.error) / self.further - step.between
        if new * most < step.within:
            return most
        if step.within == 0:
            return least
        # A little more than a whole round is rounding.
        return max(least, math.ceil(step.within / new - _ROUNDING))

    def _fits(self, rounds: Mapping[str, int]) -> bool:
        return self._seconds(rounds) <= self.limits.seconds

    def _seconds(self, rounds: Mapping[str, int]) -> float:
        measuring = sum(self.cost.rounds[name] * count for name, count in rounds.items())
        return self.further * (self.cost.start + measuring)
