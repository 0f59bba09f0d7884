"""Stalls: one server stands still for a while, and the others continue.

A slice belongs to a stall if it has less than half of its subject's usual rate, far below it, while
the other subjects' slices of its round do not: what stops all is the machine's. A stall lasts for a
slice or for several of its subject, one after the other. Together they must have lost a quarter of
a second; shorter pauses may be the machine's, and strike one subject by chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbhone.measurement.sample_array import DEVIATION, Array
from dbhone.measurement.stall_noise import StallNoise

_STANDSTILL = 0.5
"""The share of a slice's time that must be lost."""
_FAR = 4.0
"""In standard deviations of a trial's slices: normal noise is as far off in one of 30,000."""
_LEAST_SECONDS = 0.25
_UNSEEN = 0.5
"""How many stalls more than were seen are expected by Jeffreys' prior of a rate (L. D. Brown, T. T.
Cai and A. DasGupta, Statistica Sinica 13 (2003) 19-49)."""
_MOST_LOST = 0.999


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialStalls:
    """The stalls of each subject in trials: their number, and the cumulants of their noise."""

    count: Array
    variance: Array
    third: Array


def stalled(logs: Array, seconds: Array) -> NDArray[np.bool_]:
    """Return which slices belong to a stall, rounds x subjects.

    ``logs`` has the logarithms of the slices' rates, NaN where one is missing; ``seconds`` has how
    long they took.
    """
    found = np.zeros(logs.shape, dtype=np.bool_)
    for slices, lost in _stalls(logs, seconds):
        found |= slices & (lost > 0)[..., None, :]
    return found


def stalled_shares(logs: Array) -> Array:
    """Return for which share of its time each slice stood still, rounds x subjects.

    It is 0 unless it is more than half. Further axes before these are many trials at once.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a round or a subject without slices
        median = np.nanmedian if np.isnan(logs).any() else np.median  # which is ten times as fast
        away = logs - median(logs, axis=-2, keepdims=True)
        columns = range(logs.shape[-1])
        others = [median(np.delete(away, at, axis=-1), axis=-1) for at in columns]
        spread = DEVIATION * median(np.abs(away), axis=-2, keepdims=True)
    behind = away - np.minimum(np.nan_to_num(np.stack(others, axis=-1)), 0.0)
    shares: Array = -np.expm1(behind)
    return np.where((shares > _STANDSTILL) & (behind < -_FAR * spread), shares, 0.0)


def _stalls(logs: Array, seconds: Array) -> Iterator[tuple[NDArray[np.bool_], Array]]:
    """Yield the first stall of each subject of each trial, then the second, and so on.

    A stall is the slices that belong to it, and the seconds that each subject lost by it; 0 if they
    are too few for a stall.
    """
    shares = stalled_shares(logs)
    still = shares > 0
    before = np.zeros_like(still)
    before[..., 1:, :] = still[..., :-1, :]
    number = np.cumsum(still & ~before, axis=-2)
    lost = np.where(still, shares * seconds, 0.0)
    for each in range(1, int(number.max(initial=0)) + 1):
        slices = still & (number == each)
        total = np.where(slices, lost, 0.0).sum(axis=-2)
        yield slices, np.where(total >= _LEAST_SECONDS, total, 0.0)


def trial_stalls(logs: Array, seconds: Array) -> TrialStalls:
    """Return the stalls of each subject of a trial, in the order of the subjects.

    ``logs`` has the logarithms of the slices' rates, rounds x subjects, none missing; ``seconds``
    has how long they took. Further axes before these are many trials at once.
    """
    stalls = [lost for _, lost in _stalls(logs, seconds)]
    lost = np.array(stalls).reshape(-1, *logs.shape[:-2], logs.shape[-1])
    total = lost.sum(axis=0)
    share = np.minimum(total / np.sum(seconds, axis=-2), _MOST_LOST)
    # What a trial's stalls cost its level in all is divided among them by their time.
    costs = lost * -np.log1p(-share) / np.where(total > 0, total, 1.0)
    return TrialStalls(
        count=np.count_nonzero(lost, axis=0).astype(np.float64),
        variance=np.square(costs).sum(axis=0),
        third=(costs**3).sum(axis=0),
    )


def with_unseen(
    found: TrialStalls, subject: NDArray[np.integer], step: NDArray[np.integer]
) -> StallNoise:
    """Return the noise of stalls, of those too that a subject might have had.

    The stalls are those of trials in columns, an element for each subject and trial, whose subject
    and step are numbers. A subject that stalled at all might have stalled on any of its steps. So
    on each of them the rate of its stalls has Jeffreys' prior, of half a stall. If it stalled
    rarely, the prior is stretched so that its mean is the usual rate.
    """
    pairs, at = np.unique(np.stack([subject, step]), axis=1, return_inverse=True)
    blocks = np.bincount(at)[at]
    stalls = np.bincount(subject, found.count)
    usual_rate = stalls / np.maximum(np.bincount(pairs[0]), 1)
    stretched = np.where(stalls > 0, 1 + _UNSEEN / np.where(stalls > 0, usual_rate, 1.0), 1.0)

    def expected(values: Array, order: int) -> Array:
        usual = np.bincount(subject, values) / np.maximum(stalls, 1) / stretched**order
        return np.asarray(values + _UNSEEN * usual[subject] / blocks, dtype=np.float64)

    return StallNoise.of_levels(
        found.variance, expected(found.variance, 2), expected(found.third, 3)
    )
