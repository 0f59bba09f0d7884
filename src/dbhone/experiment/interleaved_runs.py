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
from datetime import UTC, datetime

from dbhone.experiment.order import round_order
from dbhone.experiment.trial import Announce, SubjectResult, Trial
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.conditions import between, read_conditions
from dbhone.workload.drive import DriverResult, PausableRun

_SLICE = 0.05
"""Seconds. ``docs/benchmarks.md`` has the figures that it comes from."""


class InterleavedRuns:
    """One trial: ``start`` starts a subject's driver, which is paused and ends with the context."""

    def __init__(
        self,
        trial: Trial,
        seed: int,
        start: Callable[[str, Trial], contextlib.AbstractContextManager[PausableRun]],
    ) -> None:
        self._trial = trial
        self._seed = seed
        self._start = start

    def measure(self, inhibitor: IdleInhibitor, announce: Announce) -> list[SubjectResult]:
        """Run all drivers to their ends, alternating; return the subjects' results, in order."""
        idle_before = inhibitor.cpu_seconds()
        started_at, before = datetime.now(UTC), read_conditions()
        with contextlib.ExitStack() as stack:
            runs: dict[str, PausableRun] = {}
            for position, subject in enumerate(self._trial.subjects):
                announce(subject, position)
                runs[subject] = stack.enter_context(self._start(subject, self._trial))
            results = self._take_turns(runs)
        drivers = sum(result.cpu_seconds for result in results.values())
        own = drivers + inhibitor.cpu_seconds() - idle_before
        conditions = between(before, read_conditions(), own_cpu_seconds=own)
        return [
            SubjectResult(
                subject=subject,
                driver=results[subject],
                position=position,
                started_at=started_at,
                conditions=conditions,
            )
            for position, subject in enumerate(self._trial.subjects)
        ]

    def _take_turns(self, runs: Mapping[str, PausableRun]) -> dict[str, DriverResult]:
        """Let one driver after the other run for a slice, in random order, until all have ended."""
        trial = self._trial
        results: dict[str, DriverResult] = {}
        for round in itertools.count():
            for name in round_order(self._seed, trial.block, trial.set, round, trial.subjects):
                if (result := runs[name].proceed(_SLICE)) is not None:
                    results[name] = result
            if len(results) == len(runs):
                return results
        raise AssertionError("rounds do not end by themselves")
