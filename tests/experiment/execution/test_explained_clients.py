"""Clients that are started anew in each round of an explanation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from dbhone.analysis.explained_rounds import Work
from dbhone.errors import DriverError
from dbhone.experiment.execution.explained_clients import FreshClients, work_of
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.trial import SubjectResult
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import DriverReport, StepResult
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload

ROWS = 2000


def first_task(suite: str) -> Task:
    return Workload(name=suite, scale=Scale(size="smoke")).tasks()[0]


@dataclass
class Clock:
    """A clock that stands still unless a run takes time."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Servers:
    """Servers on which a run takes so many seconds, of which the client computes a tenth."""

    clock: Clock
    seconds: float
    failure: str | None = None
    driven: list[Task] = field(default_factory=list)

    def drive(self, subject: str, task: Task) -> SubjectResult:
        self.driven.append(task)
        self.clock.now += self.seconds
        part = StepResult(key="part", title="part", seconds=1.0, operations=1.0, part=True)
        whole = StepResult(key="", title=task.set, seconds=self.seconds, operations=float(ROWS))
        report = DriverReport(version=None, steps=(part, whole), verification=None)
        driver = DriverResult(
            argv=(),
            output=b"",
            seconds=self.seconds,
            cpu_seconds=self.seconds / 10,
            outcome=DriverError(self.failure) if self.failure else report,
        )
        return SubjectResult(subject=subject, driver=driver)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    """Return servers of whose seconds the clients' clock knows."""
    clock = Clock()
    monkeypatch.setattr("dbhone.experiment.execution.explained_clients.time", clock)
    return Servers(clock, seconds=3.0)


def clients(servers: Servers, suite: str) -> FreshClients:
    return FreshClients(cast(BlockServers, servers), "rel", first_task(suite))


def test_a_batch_is_told_by_its_runs_and_what_runs_for_a_time_by_its_operations() -> None:
    assert work_of(first_task("batch:insert-select")) is Work.RUN
    assert work_of(first_task("sysbench:connect")) is Work.OPERATION


@pytest.mark.parametrize(("seconds", "runs"), [(2.0, 1), (7.0, 3)])
def test_a_batch_runs_once_and_again_while_the_slice_has_time_left(
    servers: Servers, seconds: float, runs: int
) -> None:
    batch = clients(servers, "batch:insert-select")
    batch.work(0, 0, seconds)
    assert batch.finished == runs
    assert batch.cpu_seconds == pytest.approx(0.3 * runs)


def test_other_clients_run_once_for_the_length_of_the_slice(servers: Servers) -> None:
    connecting = clients(servers, "sysbench:connect")
    connecting.work(0, 0, 20.0)
    (driven,) = servers.driven
    assert driven.run is not None
    assert driven.run.seconds == 20.0
    assert connecting.finished == ROWS


def test_a_run_that_fails_is_told(servers: Servers) -> None:
    batch = clients(replace(servers, failure="the server crashed"), "batch:insert-select")
    with pytest.raises(DriverError, match="the server crashed"):
        batch.work(0, 0, 1.0)
