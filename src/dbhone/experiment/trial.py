"""A trial, one set on all subjects side by side, and what it tells of each subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from dbhone.errors import HoneError
from dbhone.experiment.observe import pace
from dbhone.measurement.record import Invocation, Measurement, Slice
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.series import Series
from dbhone.measurement.server_usage import UsedBetween
from dbhone.measurement.slice_sampler import SliceSampler
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import StepResult
from dbhone.workload.task import Task

Announce: TypeAlias = Callable[[str, int], None]
"""Tells whose turn it is, and how many of the trial's subjects are done by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One set on all subjects, in this order. ``timeout`` is for one subject, in seconds."""

    block: int
    set: str
    task: Task
    subjects: tuple[str, ...]
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of asking a subject: the driver's output, and what its server used meanwhile.

    ``used`` is None for an embedded DBMS. ``observed`` has the series that were read of the server,
    None if nothing was read. ``slices`` are those of interleaved clients, none if the driver
    measured by itself; ``throughput`` is then the one that was fitted to them.
    """

    driven: DriverResult
    used: UsedBetween | None = None
    observed: Sampler | SliceSampler | None = None
    slices: tuple[Slice, ...] = ()
    throughput: float | None = None

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the driver, of the server and of the observer, in seconds."""
        server = self.used.cpu_seconds or 0.0 if self.used else 0.0
        observing = self.observed.cpu_seconds if self.observed else 0.0
        return self.driven.cpu_seconds + server + observing

    @property
    def series(self) -> tuple[Series, ...]:
        """What was observed, the driver's own series first."""
        if self.observed is None:
            return ()
        return (*pace(self.driven.outcome, self.observed.began), *self.observed.series())

    def measurement(self, step: str, result: StepResult) -> Measurement:
        """Return the record of one of the steps that the driver ran."""
        latency = result.latency
        used = self.used
        server_cpu = used.cpu_seconds if used else result.cpu_seconds
        return Measurement(
            step=step,
            throughput=result.throughput if self.throughput is None else self.throughput,
            cpu_seconds=_per_operation(server_cpu, result),
            instructions=None if used else _per_operation(result.instructions, result),
            peak_memory_bytes=used.peak_memory_bytes if used else result.peak_memory_bytes,
            latency_p50=latency.p50 if latency else None,
            latency_p95=latency.p95 if latency else None,
            latency_p99=latency.p99 if latency else None,
            client_cpu_seconds=_per_operation(self.driven.cpu_seconds, result) if used else None,
            context_switches=_per_operation(used.context_switches, result) if used else None,
            bytes_read=_per_operation(used.bytes_read, result) if used else None,
            bytes_written=_per_operation(used.bytes_written, result) if used else None,
            errors=result.errors if used else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectResult:
    """What one subject did in a trial, at which position of it.

    ``conditions`` are what the machine did meanwhile.
    """

    subject: str
    position: int
    started_at: datetime
    answer: Answer
    conditions: dict[str, float]

    def invocation(self, trial: Trial, known_steps: frozenset[str]) -> Invocation:
        """Return the record of it; of steps that are not known nothing is kept."""
        driven = self.answer.driven
        return Invocation(
            block=trial.block,
            set=trial.set,
            subject=self.subject,
            position=self.position,
            started_at=self.started_at,
            seconds=driven.seconds,
            command=driven.argv,
            raw_output=driven.output,
            failure=driven.failure,
            conditions=self.conditions,
            measurements=self._measurements(trial.set, known_steps),
            series=self.answer.series,
            slices=self.answer.slices,
        )

    def _measurements(self, set: str, known_steps: frozenset[str]) -> tuple[Measurement, ...]:
        outcome = self.answer.driven.outcome
        if outcome is None:
            return ()
        named = {f"{set}/{step.key}" if step.key else set: step for step in outcome.steps}
        return tuple(
            self.answer.measurement(name, step)
            for name, step in named.items()
            if name in known_steps
        )


def failed(error: HoneError) -> DriverResult:
    """Return the result of asking a server that died or did not start."""
    return DriverResult(
        argv=(),
        output=b"",
        seconds=0.0,
        cpu_seconds=0.0,
        outcome=None,
        failure=error.told,
    )


def _per_operation(total: float | None, result: StepResult) -> float | None:
    return None if total is None else total / result.operations
