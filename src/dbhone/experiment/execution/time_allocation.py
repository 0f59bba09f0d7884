"""How long each set is measured in the next blocks, once blocks have shown which are noisy.

The first blocks measure every set for as long as the suite says. Then the time that is left goes
where intervals are widest, to rounds or to further blocks, whichever narrows them more. Only sets
that are measured in short slices take part. A block yields one ratio for any other set, which does
not show how precise it is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbhone.analysis.allocation import (
    LEAST_ROUNDS,
    BlockCost,
    Limits,
    allocate,
    variance_components,
)
from dbhone.analysis.rounds import log_rates
from dbhone.experiment.declaration.interleaved_sets import LEAST_SECONDS
from dbhone.experiment.target.trial import trials_by_set
from dbhone.measurement.record import Design, Sliced
from dbhone.measurement.sample_array import Array

_MOST = 8
"""By which factor a set may be measured longer than the suite says: a block has to end some day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAllocation:
    """The seconds for which each set is measured on each subject, and about those of a block."""

    seconds: Mapping[str, float]
    block_seconds: float


def allocate_time(
    sliced: Sequence[Sliced],
    subjects: Sequence[str],
    usual: Mapping[str, float],
    design: Design,
    *,
    layouts: int,
    events: Mapping[str, int],
    block_seconds: float,
    left: float,
) -> TimeAllocation | None:
    """Return the time of the next blocks, None if too little is known or no set would gain.

    ``subjects`` are those that are left, the base first; ``usual`` the suite's seconds by set;
    ``layouts`` how many each subject has, 0 for the usual one: further blocks repeat their effect;
    ``events`` how many of a set there are before one comes again, where there is an end to them.
    ``block_seconds`` is what the last block took, ``left`` what is left of the budget.
    """
    trials = _trials(sliced, subjects)
    components = {
        name: variance_components([trial.logs for trial in own]) for name, own in trials.items()
    }
    steps = {name: step for name, step in components.items() if step is not None}
    if not steps:
        return None
    last = {name: trials[name][-1] for name in steps}
    blocks = max(len(own) for own in trials.values())
    cost = BlockCost(
        start=max(block_seconds - sum(trial.seconds for trial in last.values()), 0.0),
        rounds={name: trial.seconds / trial.rounds for name, trial in last.items()},
    )
    limits = Limits(
        seconds=left,
        blocks=max(design.min_blocks - blocks, 1),
        useful_blocks=max(layouts - blocks, 1) if layouts else None,
        least={name: _least(last[name], usual[name]) for name in steps},
        most={name: _most(last[name], usual[name], events.get(name)) for name in steps},
        wanted=math.log1p(design.target),
    )
    chosen = allocate(steps, cost, blocks, limits)
    if chosen is None:
        return None
    return TimeAllocation(
        seconds={name: count * last[name].slice for name, count in chosen.rounds.items()},
        block_seconds=chosen.seconds / chosen.blocks,
    )


def last_trial_seconds(sliced: Sequence[Sliced]) -> dict[str, float]:
    """Return how long the last trial of each set took all subjects together, in seconds."""
    subjects = sorted({entry.subject for entry in sliced})
    return {name: own[-1].seconds for name, own in _trials(sliced, subjects).items()}


def _least(last: _Trial, usual: float) -> int:
    """Return the fewest rounds of a set: what the first blocks show is not sure enough for less."""
    return max(LEAST_ROUNDS, math.floor(min(usual, LEAST_SECONDS) / last.slice))


def _most(last: _Trial, usual: float, events: int | None) -> int:
    """Return the most rounds of a set.

    Where its events come to an end, they last for all rounds; but the suite's own time stands.
    """
    enough = math.ceil(usual / last.slice)
    if events is None:
        return _MOST * enough
    return min(_MOST * enough, max(enough, math.floor(events / last.events)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """A set in one block.

    ``logs`` are the logarithms of the rates, rounds that count x subjects. ``rounds`` is the number
    of all rounds, which took ``seconds``; ``slice`` is the usual length of a slice in seconds, and
    ``events`` what the fastest subject's clients begin in one.
    """

    logs: Array
    rounds: int
    events: float
    seconds: float
    slice: float


def _trials(sliced: Sequence[Sliced], subjects: Sequence[str]) -> dict[str, list[_Trial]]:
    """Return the trials of each set of which something counts, in the order of the blocks."""
    counted = (entry for entry in sliced if any(slice.counted for slice in entry.slices))
    return {
        name: [_trial(trial, subjects) for trial in own]
        for name, own in trials_by_set(counted).items()
    }


def _trial(sliced: Sequence[Sliced], subjects: Sequence[str]) -> _Trial:
    by_subject = {entry.subject: entry.slices for entry in sliced}
    slices = [slice for own in by_subject.values() for slice in own]
    rounds = sorted({slice.round for slice in slices if slice.counted})
    counted = [[slice for slice in by_subject.get(name, ()) if slice.counted] for name in subjects]
    return _Trial(
        logs=log_rates(counted, rounds),
        rounds=len({slice.round for slice in slices}),
        events=max(
            statistics.fmean(slice.operations + slice.errors for slice in own)
            for own in by_subject.values()
        ),
        seconds=max(slice.began + slice.seconds for slice in slices),
        slice=statistics.median(slice.seconds for slice in slices if slice.counted),
    )
