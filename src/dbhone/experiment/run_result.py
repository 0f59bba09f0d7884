"""What came of asking one subject once: the driver's word, and what the server used meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from dbhone.errors import HoneError
from dbhone.experiment.observe import pace
from dbhone.measurement.record import Measurement, Slice
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.series import Series
from dbhone.measurement.server_usage import UsedBetween
from dbhone.measurement.slice_sampler import SliceSampler
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import StepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What the driver said, and what the server used meanwhile (None: embedded).

    ``observed`` is what was observed of the server, None if nothing was; ``slices`` are those of
    clients that were frozen in between, none if the driver measured by itself; ``level`` is then
    the throughput that was fitted to them.
    """

    driven: DriverResult
    used: UsedBetween | None = None
    observed: Sampler | SliceSampler | None = None
    slices: tuple[Slice, ...] = ()
    level: float | None = None

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the driver, of the server and of who observed it, in seconds."""
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
        """Return the record of one of the slice's steps."""
        latency = result.latency
        embedded = Measurement(
            step=step,
            throughput=result.throughput if self.level is None else self.level,
            cpu_seconds=_each(result.cpu_seconds, result),
            instructions=_each(result.instructions, result),
            peak_memory_bytes=result.peak_memory_bytes,
            latency_p50=latency.p50 if latency else None,
            latency_p95=latency.p95 if latency else None,
            latency_p99=latency.p99 if latency else None,
        )
        return embedded if self.used is None else self._with_server(embedded, result, self.used)

    def _with_server(
        self, found: Measurement, result: StepResult, used: UsedBetween
    ) -> Measurement:
        return Measurement(
            step=found.step,
            throughput=found.throughput,
            cpu_seconds=_each(used.cpu_seconds, result),
            instructions=None,
            peak_memory_bytes=used.peak_memory_bytes,
            latency_p50=found.latency_p50,
            latency_p95=found.latency_p95,
            latency_p99=found.latency_p99,
            client_cpu_seconds=_each(self.driven.cpu_seconds, result),
            context_switches=_each(used.context_switches, result),
            bytes_read=_each(used.bytes_read, result),
            bytes_written=_each(used.bytes_written, result),
            errors=result.errors,
        )


def _each(total: float | None, result: StepResult) -> float | None:
    """Return what one operation takes."""
    return None if total is None else total / result.operations


def failed(error: HoneError) -> DriverResult:
    """Return the result of a slice whose server died or did not start."""
    return DriverResult(
        argv=(),
        output=b"",
        seconds=0.0,
        cpu_seconds=0.0,
        outcome=None,
        failure=error.told,
    )
