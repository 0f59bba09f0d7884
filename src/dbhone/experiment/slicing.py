"""Which sets are measured in short slices with frozen clients, and how long a slice is.

Slices are worth it where a client can count by itself, where many operations fit in one, and
where several fit in a pass. ``docs/benchmarks.md`` has the figures that the lengths come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dbhone.workload.drivers.base import Driver
from dbhone.workload.suite import Regime
from dbhone.workload.task import Task

SETTLING = 0.1
"""Seconds after a thaw that are not counted: what was on its way ends, caches are warmed."""
_SLICE = 0.5
_FEWEST = 4
"""Rounds in a pass. For fewer, fresh clients were no worse."""
_EVENTS = 20
"""Of each client, in each slice. What is under way at a slice's two ends is then a few percent
of it, and the same for all subjects."""
_MOST_CLIENTS = 512
"""Of all subjects together. Each takes a thread of sysbench, and a thread or process of a server
with its memory, at the same time as all others."""


class Slices(StrEnum):
    """How an experiment wants its passes to be measured."""

    AUTO = "auto"
    """With frozen clients where that can be done, and where it pays."""
    FRESH = "fresh"
    """One slice of each subject, by a driver that is started for it."""
    FROZEN = "frozen"
    """With frozen clients; a set with which that cannot be done is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How a pass is cut: so many rounds, each with a slice of so many seconds of each subject."""

    seconds: float
    count: int


def frozen_sets(
    wanted: Slices, driver: Driver, regime: Regime, tasks: Mapping[str, Task], subjects: int
) -> frozenset[str]:
    """Return the sets that are measured with frozen clients, of these tasks by set."""
    if wanted is Slices.FRESH:
        return frozenset()
    return frozenset(
        name
        for name, task in tasks.items()
        if why_not(driver, regime, task) is None
        and (wanted is Slices.FROZEN or _pays(task, subjects))
    )


def why_not(driver: Driver, regime: Regime, task: Task) -> str | None:
    """Say why a task cannot be measured with frozen clients, None if it can."""
    if task.run is None:
        return f"{driver.name} has no clients that could stay connected"
    if regime is Regime.COLD:
        return "each slice of a cold server has a server of its own"
    if not driver.counts(task.run):
        return f"the clients of {task.set} cannot count what they do"
    return None


def first_rounds(seconds: float) -> Rounds:
    """Return how a pass of so many seconds for each subject is cut if nothing is known of it."""
    return Rounds(seconds=_SLICE, count=max(1, round(seconds / _SLICE)))


def fitting_rounds(first: Rounds, seconds: float, rate: float) -> Rounds | None:
    """Return how the pass is cut, by how many events each client ended in a second.

    ``rate`` is that of the slowest subject in a first slice. None if not even two slices with
    enough events fit into the pass.
    """
    needed = _EVENTS / rate if rate > 0 else math.inf
    if needed <= first.seconds:
        return first
    count = math.floor(seconds / needed)
    return Rounds(seconds=seconds / count, count=count) if count >= 2 else None


def slice_seconds(task: Task, *, frozen: bool) -> float:
    """Return how long a subject is asked in one pass, settling included; 0 if it is not known."""
    seconds = task.run.seconds if task.run else 0.0
    return seconds + (first_rounds(seconds).count * SETTLING if frozen else 0.0)


def _pays(task: Task, subjects: int) -> bool:
    """Return whether there are enough rounds, and not too many clients."""
    assert task.run is not None
    enough = first_rounds(task.run.seconds).count >= _FEWEST
    return enough and task.run.threads * subjects <= _MOST_CLIENTS
