"""How long each set is asked in the next block, when blocks have told which are hard to tell.

The first blocks ask every set for as long as the suite says. Then the time that is left goes
where intervals are widest, to rounds or to further blocks, whichever narrows them more. Only sets
that are measured in short slices take part: of the others a block tells one ratio, and not how
far it can be trusted.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.allocation import Bounds, Cost, allocate
from dbhone.analysis.nested import known
from dbhone.analysis.rounds import log_rate
from dbhone.analysis.sample_array import Array
from dbhone.measurement.record import Design, Slice, Sliced

_MOST = 8
"""How many times as long as the suite says a set may be asked: a block has to end some day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """For how many seconds each set asks each subject, and about how many a block takes."""

    seconds: Mapping[str, float]
    block_seconds: float


def allot(
    sliced: Sequence[Sliced],
    subjects: Sequence[str],
    usual: Mapping[str, float],
    design: Design,
    *,
    block_seconds: float,
    left: float,
) -> Allotment | None:
    """Return how to go on, None while too little is known or where no set can be told more of.

    ``subjects`` are those that are left, the base first; ``usual`` the suite's seconds by set.
    ``block_seconds`` is what the last block took, ``left`` what is left of the budget.
    """
    passes = {name: _passes(own, subjects) for name, own in _by_set(sliced).items()}
    steps = {name: known([each.logs for each in own]) for name, own in passes.items() if own}
    told = {name: step for name, step in steps.items() if step is not None}
    if not told:
        return None
    last = {name: passes[name][-1] for name in told}
    blocks = max(len(own) for own in passes.values())
    cost = Cost(
        restart=max(block_seconds - sum(each.seconds for each in last.values()), 0.0),
        rounds={name: each.seconds / each.rounds for name, each in last.items()},
    )
    bounds = Bounds(
        seconds=left,
        restarts=max(design.min_blocks - blocks, 1),
        rounds=_MOST * max(math.ceil(usual[name] / last[name].slice) for name in told),
        wanted=math.log1p(design.target),
    )
    chosen = allocate(told, cost, blocks, bounds)
    if chosen is None:
        return None
    return Allotment(
        seconds={name: count * last[name].slice for name, count in chosen.rounds.items()},
        block_seconds=chosen.seconds / chosen.restarts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """A set in one block.

    ``logs`` are those of the rates, rounds that count x subjects; ``rounds`` are all, which
    took ``seconds``; ``slice`` is how long a slice is.
    """

    logs: Array
    rounds: int
    seconds: float
    slice: float


def _by_set(sliced: Sequence[Sliced]) -> dict[str, list[Sliced]]:
    ordered = sorted(sliced, key=lambda each: (each.set, each.block))
    return {name: list(own) for name, own in itertools.groupby(ordered, lambda each: each.set)}


def _passes(sliced: Sequence[Sliced], subjects: Sequence[str]) -> list[_Pass]:
    """Return a set's passes, in the order of the blocks."""
    counted = (each for each in sliced if any(one.counted for one in each.slices))
    return [
        _pass({each.subject: each.slices for each in own}, subjects)
        for _, own in itertools.groupby(counted, lambda each: each.block)
    ]


def _pass(slices: Mapping[str, Sequence[Slice]], subjects: Sequence[str]) -> _Pass:
    every = [each for own in slices.values() for each in own]
    counted = sorted({each.round for each in every if each.counted})
    logs = np.full((len(counted), len(subjects)), np.nan)
    for column, name in enumerate(subjects):
        for each in slices.get(name, ()):
            if each.counted:
                logs[counted.index(each.round), column] = log_rate(each.operations, each.seconds)
    return _Pass(
        logs=logs,
        rounds=len({each.round for each in every}),
        seconds=max(each.began + each.seconds for each in every),
        slice=statistics.median(each.seconds for each in every if each.counted),
    )
