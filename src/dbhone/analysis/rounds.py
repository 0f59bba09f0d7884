"""Rounds of short slices: how many come before the servers have settled, and the subjects' levels.

After a server's start, caches fill, threads are made, and a client's script is compiled. The first
rounds may be slower than those that follow. A round has not settled if some subject's rate in it is
further from the median of that subject's later rounds than their spread explains. Rounds are
examined in order until one has settled. At most a third of them is left out, and none if fewer than
six would remain. A round is left out for all subjects, which favours none. The rule is Conway's
(Management Science 10 (1963) 47-61), with the median and the median deviation in the place of the
extremes, which a single burst would decide.

A round has one slice of each subject, moments apart. The logarithm of a slice's rate is modelled as
its subject's level plus the round's effect plus noise. Levels and rounds are fitted together by
Huber's M-estimate (P. J. Huber, Annals of Mathematical Statistics 35 (1964) 73-101; Robust
Statistics, Wiley 1981, chapter 7), so that slices in a burst or a stall count less. With more than
two subjects, a subject that is slower by a tenth is found slower by a tenth whatever the others do;
differences from a round's median would not promise that.

All slices of a restart share some conditions, such as the layout of memory, which no number of
rounds can show. So this module gives no intervals: they are taken over restarts (``estimate.py``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dbhone.measurement.sample_array import Array

_FAR = 4.0
"""In standard deviations: normal noise is as far off in one of 16,000 slices."""
_LEAST = 6


def unsettled(logs: Array) -> int:
    """Return how many rounds at the beginning are to be left out.

    ``logs`` is rounds x subjects, the logarithms of the slices' rates; NaN where one is missing.
    """
    most = min(len(logs) // 3, len(logs) - _LEAST)
    for count in range(max(0, most)):
        if not _is_far(logs[count], logs[count + 1 :]):
            return count
    return max(0, most)


def _is_far(first: Array, later: Array) -> bool:
    known = ~np.isnan(first) & ~np.isnan(later).any(axis=0)
    if not known.any():
        return False
    rest = later[:, known]
    middle = np.median(rest, axis=0)
    spread = DEVIATION * np.median(np.abs(rest - middle), axis=0)
    return bool((np.abs(first[known] - middle) > _FAR * spread).any())


_BEND = 1.0
"""Residuals up to so many standard deviations of normal noise count in full."""
DEVIATION = 1.4826
"""The standard deviation of normal noise, in medians of the distance from its centre."""
_ROUNDING = 1e-12
_SETTLED = 1e-8
_MOST_TURNS = 500


def log_rate(operations: float, seconds: float) -> float:
    """Return the logarithm of a slice's operations per second.

    A slice without any counts as if it had half of one: a server that stalls is slow.
    """
    return math.log(max(operations, 0.5) / seconds)


def levels(logs: Array) -> Array:
    """Return one log level for each subject, from the logarithms of its slices' rates.

    ``logs`` is rounds x subjects, NaN where a slice is missing; further axes before these are many
    restarts at once. The fit determines the levels' differences; their common height is such that
    the median round has no effect. The level of a subject without slices is NaN.
    """
    if 0 in logs.shape:
        return np.full((*logs.shape[:-2], logs.shape[-1]), np.nan)
    tables = logs.reshape(-1, *logs.shape[-2:])
    known = ~np.isnan(tables)
    subjects, rounds = _fitted(tables, known)
    usual = _median(np.where(known.any(axis=-1), rounds, np.nan), -1)
    effects: Array = np.where(known.any(axis=-2), subjects + usual[:, None], np.nan)
    return effects.reshape(*logs.shape[:-2], logs.shape[-1])


def _fitted(tables: Array, known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the subjects' levels and the rounds' effects, of each table."""
    values = np.where(known, tables, 0.0)
    bend = np.maximum(_BEND * _spread(tables, known), _ROUNDING)[:, None, None]
    # Few rounds may leave a choice among equally good fits. From a start that moves with
    # subjects and rounds as the fit does, the choice does too.
    away = tables - _weighted_mean(values, known.astype(np.float64), -1)
    subjects = np.nan_to_num(_median(away, -2))[:, None, :]
    rounds = np.nan_to_num(_median(np.where(known, tables - subjects, np.nan), -1))[..., None]
    moving = np.arange(len(tables))
    for _ in range(_MOST_TURNS):
        moving_parts = (values[moving], known[moving], bend[moving])
        before = subjects[moving]
        rounds[moving], after = _turn(*moving_parts, rounds[moving], before)
        subjects[moving] = after
        moving = moving[np.abs(after - before).max(axis=(-2, -1)) >= _SETTLED]
        if not len(moving):
            break
    return subjects[:, 0, :], rounds[..., 0]


def _turn(
    values: Array, known: NDArray[np.bool_], bend: Array, rounds: Array, subjects: Array
) -> tuple[Array, Array]:
    """Fit the rounds to the subjects, and then the subjects to these rounds, once."""
    weights = _weights(values - rounds - subjects, known, bend)
    rounds = _weighted_mean(values - subjects, weights, -1)
    weights = _weights(values - rounds - subjects, known, bend)
    return rounds, _weighted_mean(values - rounds, weights, -2)


def _weights(residuals: Array, known: NDArray[np.bool_], bend: Array) -> Array:
    """Return 1 for small residuals, less for large ones, so that each pulls as one at the bend."""
    return np.where(known, bend / np.maximum(np.abs(residuals), bend), 0.0)


def _weighted_mean(values: Array, weights: Array, axis: int) -> Array:
    """Return the means along an axis, which is kept; 0 where nothing is known."""
    total = weights.sum(axis=axis, keepdims=True)
    mean: Array = (values * weights).sum(axis=axis, keepdims=True) / np.where(total, total, 1.0)
    return mean


def _spread(logs: Array, known: NDArray[np.bool_]) -> Array:
    """Return the residuals' standard deviation, from the differences within rounds.

    A difference has twice a slice's variance. The fit of the rounds takes one degree of freedom in
    as many as there are subjects. The result is 0 where it cannot be known.
    """
    first, second = np.triu_indices(logs.shape[-1], 1)
    differences = logs[..., first] - logs[..., second]
    if not differences.size:
        return np.zeros(logs.shape[:-2])
    distances = np.abs(differences - _median(differences, -2)[..., None, :])
    middle = np.nan_to_num(_median(distances.reshape(*logs.shape[:-2], -1), -1))
    subjects = np.maximum(np.count_nonzero(known.any(axis=-2), axis=-1), 1)
    spread: Array = DEVIATION * middle * np.sqrt((subjects - 1) / (2 * subjects))
    return spread


def _median(values: Array, axis: int) -> Array:
    """Return the medians of the known values along an axis, NaN where none is known."""
    ordered = np.sort(values, axis=axis)  # NaN comes last
    count = np.count_nonzero(~np.isnan(values), axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=axis)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[axis] - 1), axis=axis)
    middle: Array = ((low + high) / 2).squeeze(axis)
    return middle
