"""One subject in a trial of short slices: its paused clients, its server, and its readings.

A slice begins and ends when an event ends. So a stall belongs to the slice in which it began, and
counts there with all of its time, even if the slice would otherwise have ended before; one that
goes on from a moment between slices counts in none. A slice that ended by the clock would cut off
a stall that the server's own work brought on, whose rest goes by while its clients are paused. That
no length of slices makes a rate better or worse follows from Wald's equation: events are counted
until the first that ends after a fixed time, so their mean number by their mean time is the rate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbhone.analysis.rounds import log_rate
from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.target.block_servers import BlockServer
from dbhone.experiment.target.trial import SubjectResult
from dbhone.measurement.record import Slice
from dbhone.measurement.sampler import SliceSampler
from dbhone.measurement.server_usage import ServerUsage, used_between
from dbhone.workload.counting import Counts
from dbhone.workload.drive import DriverResult
from dbhone.workload.pausable_client import ENDING, PausableClient
from dbhone.workload.task import Task

_MOST_SETTLING = 0.1
"""In seconds."""
_LONGEST_STALL = 2.0
"""Seconds for which the end of an event is awaited at either end of a slice."""
_DYING = 2.0
"""Seconds that a server's processes are given to end once its client has failed."""
_CONNECTING = 60.0


def settling_seconds(slice_seconds: float) -> float:
    """Return for how long after its clients resume a slice is not counted.

    What was on its way ends meanwhile, and caches warm up. Of short operations, which have short
    slices, 0.02 s are enough: PostgreSQL then has its usual speed, MariaDB 0.85 to 1 of it.
    """
    return min(slice_seconds / 5, _MOST_SETTLING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How many events all clients have executed so far, and what the server used so far.

    Events that a pause cut are among them: they count in no slice, but the server worked on them.
    """

    executed: int
    usage: ServerUsage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReading:
    """What was counted in one slice, and what the client used in it.

    ``before`` is what there was before the client resumed. ``began`` is in seconds since the trial
    began, ``client_cpu`` in seconds.
    """

    round: int
    position: int
    began: float
    before: Totals
    counts: Counts
    client_cpu: float

    @property
    def log_rate(self) -> float:
        """The logarithm of its operations per second."""
        return log_rate(self.counts.finished, self.counts.seconds)

    def record(self, *, counted: bool) -> Slice:
        """Return its record; ``counted`` says whether it counts towards the result."""
        return Slice(
            round=self.round,
            position=self.position,
            began=self.began,
            seconds=self.counts.seconds,
            operations=self.counts.finished,
            errors=self.counts.refused,
            counted=counted,
        )


class SliceClient:
    """A subject whose client is started. ``error`` is why it takes no further part in the trial.

    A driver or server that fails in a slice fails the subject, and not the trial.

    What the server uses is that of the whole trial, from its first round that counts: a server
    that puts work off does it while its clients are paused.
    """

    def __init__(
        self, *, name: str, client: PausableClient, running: BlockServer, task: Task
    ) -> None:
        self.name = name
        self.client = client
        self.running = running
        self.task = task
        self.readings: list[SliceReading] = []
        self.error: HoneError | None = None
        self.sampler: SliceSampler | None = None
        self._server_cpu = 0.0
        self._after: Totals | None = None

    def connect(self) -> None:
        """Wait until its clients are connected, and pause them."""
        if self.running.observer is not None:
            self.sampler = self.running.observer.observing_slices(self.client.finished_events)
        usage = self.running.usage()
        self._server_cpu = usage.cpu_seconds if usage else 0.0
        with self._keep_error():
            self.client.await_ready(_CONNECTING)
            self.client.pause()

    def slice(self, round: int, position: int, seconds: float, trial_began: float) -> None:
        """Measure the server for so many seconds or more, while the others' clients are paused."""
        if self.error is not None:
            return
        before = self._totals()
        with self._keep_error(), self.client.running():
            self.client.pass_time(settling_seconds(seconds))
            self.client.await_event(_LONGEST_STALL)
            if self.sampler is not None:
                self.sampler.begin()
            counts, cpu = self._read()
            self.client.pass_time(seconds)
            self.client.await_event(_LONGEST_STALL)
            counts_after, cpu_after = self._read()
            if self.sampler is not None:
                self.sampler.end()
            self.readings.append(
                SliceReading(
                    round=round,
                    position=position,
                    began=counts.at - trial_began,
                    before=before,
                    counts=counts_after.since(counts),
                    client_cpu=cpu_after - cpu,
                )
            )

    def _read(self) -> tuple[Counts, float]:
        """Return the counts, and the clients' CPU time in seconds."""
        return self.client.counts(), self.client.cpu_seconds

    def _totals(self) -> Totals:
        return Totals(executed=self.client.executed_events(), usage=self.running.usage())

    def end(self) -> None:
        """Let its clients end by themselves; then it is known whether they failed."""
        if self.error is None:
            self._after = self._totals()
            with self._keep_error():
                self.client.end(ENDING)

    @contextlib.contextmanager
    def _keep_error(self) -> Iterator[None]:
        """Keep what fails the subject. A dead server goes before the client that found it dead."""
        try:
            yield
        except (DriverError, ServerError) as error:
            self.error = error
            try:
                self.running.server.check(wait=_DYING)
            except ServerError as died:
                self.error = died

    @property
    def client_rate(self) -> float:
        """How many events each client ended in a second of the best slice, on average."""
        clients = self.task.run.threads if self.task.run else 1
        rates = (reading.counts.finished / reading.counts.seconds for reading in self.readings)
        return max(rates) / clients

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of its server and its clients in the whole trial."""
        usage = self.running.usage() if self.error is None else None
        server = usage.cpu_seconds - self._server_cpu if usage else 0.0
        return server + self.client.total_cpu_seconds

    def result(self, left_out: int) -> SubjectResult:
        """Return its result, without the first ``left_out`` rounds."""
        slices = tuple(
            reading.record(counted=reading.round >= left_out) for reading in self.readings
        )
        counted = [reading for reading in self.readings if reading.round >= left_out]
        if self.error is None and not any(reading.counts.finished for reading in counted):
            self.error = DriverError(f"not one operation ended in {len(counted)} slices")
        if self.error is not None:
            return SubjectResult.failed(self.name, self.error, slices)
        before, after = counted[0].before, self._after
        assert after is not None, "a client that did not fail has ended"
        return SubjectResult(
            subject=self.name,
            driver=self._driver_result(counted),
            used=used_between(before.usage, after.usage),
            used_for=float(after.executed - before.executed),
            observed=self.sampler,
            slices=slices,
        )

    def _driver_result(self, counted: Sequence[SliceReading]) -> DriverResult:
        counts = Counts.of([reading.counts for reading in counted])
        return DriverResult(
            argv=self.client.argv,
            output=self.client.printed(),
            seconds=counts.seconds,
            cpu_seconds=sum(reading.client_cpu for reading in counted),
            outcome=counts.report(self.task.set, self.client.parts),
        )
