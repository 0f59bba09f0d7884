"""Trials of an embedded DBMS in short slices: all subjects' drivers are started, one runs.

A driver executes its steps once and ends, so a trial has no rounds of equal content as on servers
(``interleaved.py``). But two drivers that alternate every few hundredths of a second reach the same
step at about the same time, and what the machine does meanwhile affects both alike. A step's
time is the sum of the slices in which it was executed.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping

from dbhone.experiment.order import round_order
from dbhone.experiment.trial import Announce, SubjectResult, Surroundings, Trial
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.workload.drive import DriverResult, PausableRun

_SLICE = 0.05
"""Seconds. ``docs/benchmarks.md`` has the figures that it comes from."""


def run_interleaved(
    trial: Trial,
    seed: int,
    start: Callable[[str, Trial], contextlib.AbstractContextManager[PausableRun]],
    inhibitor: IdleInhibitor,
    announce: Announce,
) -> list[SubjectResult]:
    """Run all drivers to their ends, alternating; return the subjects' results, in order.

    ``start`` starts a subject's driver, which is paused and ends with the context.
    """
    surroundings = Surroundings(inhibitor)
    with contextlib.ExitStack() as stack:
        runs: dict[str, PausableRun] = {}
        for position, subject in enumerate(trial.subjects):
            announce(subject, position)
            runs[subject] = stack.enter_context(start(subject, trial))
        drivers = _alternate(runs, trial, seed)
    results = (SubjectResult(subject=name, driver=drivers[name]) for name in trial.subjects)
    return surroundings.stamp(results, sum(driver.cpu_seconds for driver in drivers.values()))


def _alternate(runs: Mapping[str, PausableRun], trial: Trial, seed: int) -> dict[str, DriverResult]:
    """Let one driver after the other run for a slice, in random order, until all have ended."""
    results: dict[str, DriverResult] = {}
    for round in itertools.count():
        for name in round_order(seed, trial.block, trial.set, round, trial.subjects):
            if (result := runs[name].proceed(_SLICE)) is not None:
                results[name] = result
        if len(results) == len(runs):
            return results
    raise AssertionError("rounds do not end by themselves")
