"""What the trials of a run's earlier sessions show of the next trial of each set.

A run that is continued measures as if it had not been interrupted. So it knows how long a slice
of a set is, and how many rounds of a set seemed unsettled in each trial.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbhone.analysis.rounds import log_rates, unsettled
from dbhone.experiment.target.trial import trials_by_set
from dbhone.measurement.record import Slice, Sliced

_AS_LONG = 0.95
"""A round whose slices are shorter than this share of those that count, or longer by as much, was
tried at another length. Slices end with an operation, so those of one length differ by a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTrials:
    """The trials of one set: the usual length of the last one's slices, in seconds.

    ``unsettled`` says how many rounds seemed unsettled in each.
    """

    slice_seconds: float
    unsettled: tuple[int, ...]


def earlier_trials(sliced: Sequence[Sliced]) -> dict[str, EarlierTrials]:
    """Return the trials of each set that has any of which something counts."""
    found: dict[str, EarlierTrials] = {}
    for name, trials in trials_by_set(sliced).items():
        counted = [trial for trial in trials if any(slice.counted for slice in _slices(trial))]
        if counted:
            found[name] = EarlierTrials(
                slice_seconds=statistics.median(_counted_seconds(counted[-1])),
                unsettled=tuple(_unsettled(trial) for trial in counted),
            )
    return found


def _slices(trial: Sequence[Sliced]) -> Iterator[Slice]:
    return (slice for entry in trial for slice in entry.slices)


def _counted_seconds(trial: Sequence[Sliced]) -> list[float]:
    return [slice.seconds for slice in _slices(trial) if slice.counted]


def _unsettled(trial: Sequence[Sliced]) -> int:
    """Return how many rounds seemed unsettled, of those that were not only tried."""
    rounds = range(_tried(trial), 1 + max(slice.round for slice in _slices(trial)))
    return int(unsettled(log_rates([entry.slices for entry in trial], rounds)))


def _tried(trial: Sequence[Sliced]) -> int:
    """Return how many rounds were tried, at another length than those that count."""
    shortest: dict[int, float] = {}
    for slice in _slices(trial):
        shortest[slice.round] = min(slice.seconds, shortest.get(slice.round, slice.seconds))
    counted = _counted_seconds(trial)
    least, most = _AS_LONG * min(counted), max(counted) / _AS_LONG
    of_another_length = itertools.takewhile(
        lambda one: not least <= shortest[one] <= most, sorted(shortest)
    )
    return sum(1 for _ in of_another_length)
