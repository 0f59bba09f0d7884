"""A trial, one set on all subjects side by side, and what it yields for each subject."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from dbhone.errors import HoneError
from dbhone.experiment.target.observer import pace
from dbhone.measurement.conditions import between, read_conditions
from dbhone.measurement.record import Invocation, Measurement, Slice, Sliced
from dbhone.measurement.sampler import Sampler, SliceSampler
from dbhone.measurement.series import Series
from dbhone.measurement.server_usage import UsedBetween
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import StepResult
from dbhone.workload.task import Task

Announce: TypeAlias = Callable[[str, int], None]
"""Tells whose slice begins, and how many of the trial's subjects are done by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One set on all subjects, in this order. ``timeout`` is for one subject, in seconds.

    ``announce`` is told of each subject. ``own_cpu_seconds`` says how much CPU time hone itself
    has used so far, with whatever it runs to keep CPUs awake.
    """

    block: int
    set: str
    task: Task
    subjects: tuple[str, ...]
    timeout: float
    announce: Announce = lambda _subject, _done: None
    own_cpu_seconds: Callable[[], float] = time.process_time


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectResult:
    """What one subject did in a trial, and what that took.

    ``used`` is what its server used meanwhile, None for an embedded DBMS. It was ``used_for`` so
    many operations; None stands for those that the driver reports. ``observed`` holds the series
    that were observed, None if nothing was. ``slices`` are those of paused clients, empty if the
    driver measured by itself. ``conditions`` are what the machine did
    meanwhile.
    """

    subject: str
    driver: DriverResult
    used: UsedBetween | None = None
    used_for: float | None = None
    observed: Sampler | SliceSampler | None = None
    slices: tuple[Slice, ...] = ()
    position: int = 0
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    conditions: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def failed(
        cls, subject: str, error: HoneError, slices: tuple[Slice, ...] = ()
    ) -> SubjectResult:
        """Return the result of a subject whose server or client failed."""
        driver = DriverResult(argv=(), output=b"", seconds=0.0, cpu_seconds=0.0, outcome=error)
        return cls(subject=subject, driver=driver, slices=slices)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the driver and of the server, in seconds."""
        server = self.used.cpu_seconds or 0.0 if self.used else 0.0
        return self.driver.cpu_seconds + server

    @property
    def series(self) -> tuple[Series, ...]:
        """What was observed, the driver's own series first; it has none of short slices."""
        if self.observed is None:
            return ()
        observed = self.observed.series()
        if isinstance(self.observed, Sampler):
            return (*pace(self.driver.report, self.observed.began), *observed)
        return observed

    def invocation(self, trial: Trial, known_steps: frozenset[str]) -> Invocation:
        """Return the record for the store, with the measurements of the steps that are known."""
        return Invocation(
            block=trial.block,
            set=trial.set,
            subject=self.subject,
            position=self.position,
            started_at=self.started_at,
            seconds=self.driver.seconds,
            command=self.driver.argv,
            raw_output=self.driver.output,
            failure=self.driver.failure,
            conditions=dict(self.conditions),
            measurements=tuple(
                measurement
                for measurement in self._measurements(trial.set)
                if measurement.step in known_steps
            ),
            series=self.series,
            slices=self.slices,
        )

    def _measurements(self, set_name: str) -> Iterator[Measurement]:
        steps = self.driver.report.steps if self.driver.report else ()
        for result in steps:
            yield self.measurement(f"{set_name}/{result.key}" if result.key else set_name, result)

    def measurement(self, step: str, result: StepResult) -> Measurement:
        """Return the record of one step.

        What the server used was used for all parts together: that is in the record of the whole.
        """
        latency = result.latency
        used = None if result.part else self.used
        served = result.operations if self.used_for is None else self.used_for
        own_cpu = _per(result.operations, result.cpu_seconds)
        return Measurement(
            step=step,
            throughput=result.throughput,
            cpu_seconds=_per(served, used.cpu_seconds) if used else own_cpu,
            instructions=None if used else _per(result.operations, result.instructions),
            peak_memory_bytes=used.peak_memory_bytes if used else result.peak_memory_bytes,
            latency_p50=latency.p50 if latency else None,
            latency_p95=latency.p95 if latency else None,
            latency_p99=latency.p99 if latency else None,
            system_seconds=_per(served, used.system_seconds) if used else None,
            client_cpu_seconds=_per(result.operations, self.driver.cpu_seconds) if used else None,
            context_switches=_per(served, used.context_switches) if used else None,
            bytes_read=_per(served, used.bytes_read) if used else None,
            bytes_written=_per(served, used.bytes_written) if used else None,
            refused_share=result.refused_share if used or result.part else None,
        )


def _per(operations: float, total: float | None) -> float | None:
    return None if total is None else total / operations


class Surroundings:
    """What the machine did around a measurement: from when this is made until ``stamp``."""

    def __init__(self, trial: Trial) -> None:
        self._used_by_hone = trial.own_cpu_seconds
        self._used_before = self._used_by_hone()
        self._started_at = datetime.now(UTC)
        self._before = read_conditions()

    def stamp(
        self, results: Iterable[SubjectResult], cpu_seconds: float, *, first: int = 0
    ) -> list[SubjectResult]:
        """Return results with their positions from ``first`` on, the time, and the conditions.

        ``cpu_seconds`` is the CPU time of what was measured. It is no noise, and neither is what
        hone itself uses to pause programs, let them go on and keep the CPUs awake.
        """
        own = cpu_seconds + self._used_by_hone() - self._used_before
        conditions = between(self._before, read_conditions(), own_cpu_seconds=own)
        return [
            dataclasses.replace(
                result, position=position, started_at=self._started_at, conditions=conditions
            )
            for position, result in enumerate(results, start=first)
        ]


def run_one_by_one(
    trial: Trial,
    drive: Callable[[str], SubjectResult],
    *,
    prepare: Callable[[str], None] | None = None,
) -> Iterator[SubjectResult]:
    """Measure one subject after the other, each by a driver that is started for it.

    ``prepare`` makes ready what the subject's slice needs; it is not measured.
    """
    for position, subject in enumerate(trial.subjects):
        trial.announce(subject, position)
        if prepare is not None:
            prepare(subject)
        surroundings = Surroundings(trial)
        result = drive(subject)
        yield from surroundings.stamp([result], result.cpu_seconds, first=position)


def trials_by_set(sliced: Iterable[Sliced]) -> dict[str, list[list[Sliced]]]:
    """Return the trials of each set that had slices, in the order of the blocks."""
    trials: dict[str, list[list[Sliced]]] = {}
    ordered = sorted(sliced, key=_set_and_block)
    for (name, _), trial in itertools.groupby(ordered, _set_and_block):
        trials.setdefault(name, []).append(list(trial))
    return trials


def _set_and_block(entry: Sliced) -> tuple[str, int]:
    return entry.set, entry.block
