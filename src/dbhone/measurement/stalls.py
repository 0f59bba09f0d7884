"""Stalls: one server stands still for a while, and the others continue.

A slice belongs to a stall if it has less than half of its subject's usual rate, while the other
subjects' slices of its round do not: what stops all is the machine's. A stall lasts for a slice or
for several of its subject, one after the other. Together they must have lost a quarter of a second;
shorter pauses may be the machine's, and strike one subject by chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dbhone.measurement.sample_array import Array

_STANDSTILL = 0.5
"""The share of a slice's time that must be lost."""
_LEAST_SECONDS = 0.25


def stalled(logs: Array, seconds: Array) -> NDArray[np.bool_]:
    """Return which slices belong to a stall, rounds x subjects.

    ``logs`` has the logarithms of the slices' rates, NaN where one is missing; ``seconds`` has how
    long they took.
    """
    found = np.zeros(logs.shape, dtype=np.bool_)
    for slices, lost in _stalls(stalled_shares(logs), seconds):
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
    common = np.minimum(np.nan_to_num(np.stack(others, axis=-1)), 0.0)
    shares: Array = -np.expm1(away - common)
    return np.where(shares > _STANDSTILL, shares, 0.0)


def _stalls(shares: Array, seconds: Array) -> Iterator[tuple[NDArray[np.bool_], Array]]:
    """Yield the first stall of each subject of each trial, then the second, and so on.

    A stall is the slices that belong to it, and the seconds that each subject lost by it; 0 if they
    are too few for a stall.
    """
    still = shares > 0
    before = np.zeros_like(still)
    before[..., 1:, :] = still[..., :-1, :]
    number = np.cumsum(still & ~before, axis=-2)
    lost = np.where(still, shares * seconds, 0.0)
    for each in range(1, int(number.max(initial=0)) + 1):
        slices = still & (number == each)
        total = np.where(slices, lost, 0.0).sum(axis=-2)
        yield slices, np.where(total >= _LEAST_SECONDS, total, 0.0)
