"""Rounds of short slices: how many come before the servers have settled, and the subjects' levels.

After a server's start, caches fill, threads are made, and a client's script is compiled. The first
rounds may be slower than those that follow. A round has not settled if some subject's rate in it is
further from the median of that subject's later rounds than their spread explains. Rounds are
examined in order until one has settled. At most a third of them is left out, and only as many as
leave at least six. A round is left out for all subjects, which favours none. A single trial cannot
tell warm-up from a stall that happens to come first, so what counts is the median of a step's
trials so far. The rule is Conway's (Management Science 10 (1963) 47-61), with the median and the
median deviation in the place of the extremes, which a single burst would decide.

A subject's level is its operations divided by its seconds, of all its slices that count: a server
that stands still in some of them is slower by just that. A round has one slice of each subject,
moments apart, so what a moment does to all of them is in all levels alike.

All slices of a restart share some conditions, such as the layout of memory, which no number of
rounds can show. So this module gives no intervals: they are taken over restarts (``estimate.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dbhone.measurement.record import LEAST_OPERATIONS, Slice
from dbhone.measurement.sample_array import DEVIATION, Array

_FAR = 4.0
"""In standard deviations: normal noise is as far off in one of 16,000 slices."""
_LEAST = 6


def unsettled(logs: Array) -> NDArray[np.intp]:
    """Return how many rounds at the beginning are to be left out.

    ``logs`` is rounds x subjects, the logarithms of the slices' rates; NaN where one is missing.
    Further axes before these are many trials at once.
    """
    count = np.zeros(logs.shape[:-2], dtype=np.intp)
    unlike = np.ones(logs.shape[:-2], dtype=np.bool_)
    for number in range(most_unsettled(logs.shape[-2])):
        unlike &= _is_far(logs[..., number, :], logs[..., number + 1 :, :])
        count += unlike
    return count


def most_unsettled(rounds: int) -> int:
    """Return how many of a trial's rounds may be left out."""
    return max(0, min(rounds // 3, rounds - _LEAST))


def usual_unsettled(found: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many rounds to leave out of the latest of some trials of a step.

    ``found`` has how many seemed unsettled in each, along its first axis; the median is returned,
    the lower of two. A server that happens to stand still at the beginning of one trial is no
    warm-up: to leave its stalls out just there would make it faster than it is.
    """
    usual: NDArray[np.intp] = np.sort(found, axis=0)[(len(found) - 1) // 2]
    return usual


def _is_far(first: Array, later: Array) -> NDArray[np.bool_]:
    known = ~np.isnan(first) & ~np.isnan(later).any(axis=-2)
    rest = np.where(known[..., None, :], later, 0.0)
    middle = np.median(rest, axis=-2)
    spread = DEVIATION * np.median(np.abs(rest - middle[..., None, :]), axis=-2)
    away = np.abs(np.where(known, first, 0.0) - middle)
    far: NDArray[np.bool_] = (away > _FAR * spread).any(axis=-1)
    return far


def log_rate(operations: float, seconds: float) -> float:
    """Return the logarithm of a slice's operations per second.

    A slice without any counts as if it had half of one: a server that stalls is slow.
    """
    return math.log(max(operations, LEAST_OPERATIONS) / seconds)


def log_rates(subjects: Sequence[Iterable[Slice]], rounds: Sequence[int]) -> Array:
    """Return the logarithms of the rates of each subject's slices in these rounds.

    It is rounds x subjects, NaN where a subject has no slice.
    """
    return _table(subjects, rounds, lambda slice: log_rate(slice.operations, slice.seconds))


def slice_seconds(subjects: Sequence[Iterable[Slice]], rounds: Sequence[int]) -> Array:
    """Return how long the slices took, in the shape of ``log_rates``."""
    return _table(subjects, rounds, lambda slice: slice.seconds)


def _table(
    subjects: Sequence[Iterable[Slice]], rounds: Sequence[int], value: Callable[[Slice], float]
) -> Array:
    rows = {number: row for row, number in enumerate(rounds)}
    values = np.full((len(rows), len(subjects)), np.nan)
    for column, slices in enumerate(subjects):
        for slice in slices:
            if slice.round in rows:
                values[rows[slice.round], column] = value(slice)
    return values


def levels(logs: Array) -> Array:
    """Return one log level for each subject, from the logarithms of its slices' rates.

    ``logs`` is rounds x subjects, NaN where a slice is missing; further axes before these are many
    restarts at once. Slices are taken as equally long: then the mean rate is operations by seconds.
    Rounds in which a slice is missing tell nothing of differences, and are left out. The level of a
    subject without slices is NaN, and so are all where no round is whole.
    """
    known = ~np.isnan(logs)
    measured = known.any(axis=-2, keepdims=True)
    whole = (known | ~measured).all(axis=-1, keepdims=True) & measured
    count = np.count_nonzero(whole, axis=-2)
    total = np.exp(np.where(whole, logs, -np.inf)).sum(axis=-2)
    found: Array = np.log(np.where(count, total, np.nan) / np.maximum(count, 1))
    return found
