"""One subject in a pass of short slices: its frozen clients, its server, and what was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dbhone.analysis.rounds import log_rate
from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.block_servers import RunningServer, used_between
from dbhone.experiment.slicing import SETTLING
from dbhone.experiment.trial import Answer, failed
from dbhone.measurement.record import Slice
from dbhone.measurement.server_usage import ServerUsage, UsedBetween, summed
from dbhone.measurement.slice_sampler import SliceSampler
from dbhone.workload.counting import Counted, Counts, latency_of
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import Outcome, StepResult
from dbhone.workload.frozen import FrozenClient
from dbhone.workload.task import Task

_CONNECTING = 60.0
_ENDING = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """All that is read at one end of a slice."""

    counts: Counts
    client_cpu: float
    usage: ServerUsage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A slice, with what the client and the server used in it."""

    round: int
    position: int
    began: float
    counted: Counted
    client_cpu: float
    used: UsedBetween | None

    @property
    def log_rate(self) -> float:
        """The logarithm of its operations per second."""
        return log_rate(self.counted.finished, self.counted.seconds)

    def slice(self, *, counts: bool) -> Slice:
        """Return its record."""
        return Slice(
            round=self.round,
            position=self.position,
            began=self.began,
            seconds=self.counted.seconds,
            operations=self.counted.finished,
            errors=self.counted.refused,
            counted=counts,
        )


@dataclass(slots=True, kw_only=True)
class SubjectSession:
    """A subject whose client is started. ``error`` is why it takes no further part in the pass."""

    name: str
    client: FrozenClient
    running: RunningServer
    task: Task
    measured: list[Measured] = field(default_factory=list)
    error: HoneError | None = None
    sampler: SliceSampler | None = None
    _server_cpu: float = 0.0

    def connect(self) -> None:
        """Wait until its clients are connected, and freeze them."""
        if self.running.observer is not None:
            self.sampler = self.running.observer.observing_slices(self.client.finished_events)
        usage = self.running.usage()
        self._server_cpu = usage.cpu_seconds if usage else 0.0
        with _Failing(self):
            self.client.await_ready(_CONNECTING)
            self.client.freeze()

    def slice(self, round: int, position: int, seconds: float, pass_began: float) -> None:
        """Ask the server for so many seconds, while all others are frozen."""
        if self.error is not None:
            return
        with _Failing(self), self.client.thawed():
            self.client.pass_time(SETTLING)
            if self.sampler is not None:
                self.sampler.begin()
            before = self._read()
            self.client.pass_time(seconds)
            after = self._read()
            if self.sampler is not None:
                self.sampler.end()
            self.measured.append(
                Measured(
                    round=round,
                    position=position,
                    began=before.counts.at - pass_began,
                    counted=after.counts.since(before.counts),
                    client_cpu=after.client_cpu - before.client_cpu,
                    used=used_between(before.usage, after.usage),
                )
            )

    def _read(self) -> _Reading:
        return _Reading(
            counts=self.client.counts(),
            client_cpu=self.client.cpu_seconds,
            usage=self.running.usage(),
        )

    def end(self) -> None:
        """Let its clients end by themselves; then it is known whether they failed."""
        if self.error is None:
            with _Failing(self):
                self.client.end(_ENDING)

    @property
    def client_rate(self) -> float:
        """How many events each client ended in a second of the best slice, on average."""
        clients = self.task.run.threads if self.task.run else 1
        rates = (each.counted.finished / each.counted.seconds for each in self.measured)
        return max(rates) / clients

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of its server and its clients in the whole pass, and of who observed it."""
        usage = self.running.usage() if self.error is None else None
        server = usage.cpu_seconds - self._server_cpu if usage else 0.0
        observing = self.sampler.cpu_seconds if self.sampler else 0.0
        return server + self.client.total_cpu_seconds + observing

    def answer(self, left_out: int, level: float) -> Answer:
        """Return what came of it but for the first rounds; ``level`` was fitted to the rest."""
        slices = tuple(each.slice(counts=each.round >= left_out) for each in self.measured)
        counted = [each for each in self.measured if each.round >= left_out]
        if self.error is None and not any(each.counted.finished for each in counted):
            self.error = DriverError(f"not one operation ended in {len(counted)} slices")
        if self.error is not None:
            return Answer(driven=failed(self.error), slices=slices)
        used = [each.used for each in counted if each.used is not None]
        return Answer(
            driven=self._driven(counted),
            used=summed(used) if len(used) == len(counted) else None,
            observed=self.sampler,
            slices=slices,
            throughput=float(np.exp(level)),
        )

    def _driven(self, counted: Sequence[Measured]) -> DriverResult:
        seconds = sum(each.counted.seconds for each in counted)
        step = StepResult(
            key="",
            title=self.task.set,
            seconds=seconds,
            operations=float(sum(each.counted.finished for each in counted)),
            errors=sum(each.counted.refused for each in counted),
            latency=latency_of(np.sum([each.counted.buckets for each in counted], axis=0)),
        )
        return DriverResult(
            argv=self.client.argv,
            output=self.client.printed(),
            seconds=seconds,
            cpu_seconds=sum(each.client_cpu for each in counted),
            outcome=Outcome(version=None, steps=(step,), verification=None),
            failure=None,
        )


class _Failing:
    """What fails a contestant's slice fails the contestant, and not the pass.

    A server that died goes before a client that found it dead.
    """

    def __init__(self, contestant: SubjectSession) -> None:
        self._contestant = contestant

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, DriverError | ServerError):
            return False
        self._contestant.error = error
        try:
            self._contestant.running.server.check()
        except ServerError as died:
            self._contestant.error = died
        return True
