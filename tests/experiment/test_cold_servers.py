"""Cold servers: each slice has one of its own, which nothing has warmed up."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.errors import ServerError
from dbhone.experiment.block_servers import BlockServers
from dbhone.experiment.observe import ObserveOptions, RunObservation
from dbhone.experiment.order import BlockSeed
from dbhone.experiment.server_clients import ServerWorkload
from dbhone.experiment.server_pool import ServerPool, ServerSpec
from dbhone.experiment.trial import SubjectResult, Trial
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.workload import suite as suites
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import ServerDriver, load_driver
from dbhone.workload.suite import Regime
from dbhone.workload.task import Scale, Task
from tests.experiment.pretended import pretended_server

TASK = Task(set="point-query", size=1)


class Pretended:
    """Servers that note what is done to them; ``refusing`` do not start."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.refusing: set[str] = set()
        self.interrupt = False

    @contextlib.contextmanager
    def running(self, spec: ServerSpec, seed: int | None) -> Iterator[SimpleNamespace]:
        name = spec.installation.version
        if name in self.refusing:
            raise ServerError(f"{name} did not start")
        self.seen.append(f"start {name}")
        yield SimpleNamespace(
            pid=os.getpid(), name=name, kill=lambda: self.seen.append(f"kill {name}")
        )
        self.seen.append(f"gone {name}")

    def forget(self) -> None:
        """There is no data of a block's own."""

    @property
    def clients(self) -> Pretended:
        return self

    def warm_up(self, server: SimpleNamespace, seed: BlockSeed) -> None:
        self.seen.append(f"warm up {server.name}")

    def finish_background_work(self, server: SimpleNamespace) -> None:
        if server.name in self.refusing:
            raise ServerError(f"{server.name} did not finish")
        self.seen.append(f"finish {server.name}")

    def drive(self, server: SimpleNamespace, task: Task) -> DriverResult:
        if self.interrupt:
            raise KeyboardInterrupt
        self.seen.append(f"drive {server.name} {task.set}")
        return SubjectResult.failed("a", ServerError("nothing is measured here")).driver


@pytest.fixture
def servers() -> Pretended:
    return Pretended()


def run(servers: BlockServers, *names: str) -> list[SubjectResult]:
    """Measure these subjects one after the other."""
    trial = Trial(block=0, set=TASK.set, task=TASK, subjects=names, timeout=1.0)
    return list(servers.run(trial, IdleInhibitor(frozenset()), lambda *_: None))


def block_servers(servers: Pretended, *, cold: bool) -> BlockServers:
    names = {name: pretended_server(name) for name in ("a", "b")}
    observation = RunObservation(ObserveOptions(enabled=False), lambda *_: None)
    pool = cast("ServerPool", servers)
    return BlockServers(pool, names, observation, lambda _: None, seed=1, cold=cold)


def test_each_slice_has_a_server_of_its_own(servers: Pretended) -> None:
    cold = block_servers(servers, cold=True)
    with cold.open(("a", "b"), 0):
        cold.ready(("a", "b"))
        assert servers.seen == []
        run(cold, "b", "a", "b")
    one = ["start {}", "warm up {}", "drive {} point-query", "kill {}", "gone {}"]
    assert servers.seen == [line.format(name) for name in ("b", "a", "b") for line in one]


def test_a_server_that_does_not_start_is_told_by_its_slice_and_tried_again(
    servers: Pretended,
) -> None:
    cold = block_servers(servers, cold=True)
    servers.refusing = {"a"}
    (result,) = run(cold, "a")
    assert result.driver.failure == "a did not start"
    servers.refusing = set()
    run(cold, "a")
    assert "drive a point-query" in servers.seen


def test_a_server_that_was_prepared_ends_with_its_block(servers: Pretended) -> None:
    cold = block_servers(servers, cold=True)
    servers.interrupt = True
    with pytest.raises(KeyboardInterrupt), cold.open(("a",), 0):
        run(cold, "a")
    assert servers.seen[-1] == "gone a"


def test_warm_servers_stay_up_and_need_no_preparation(servers: Pretended) -> None:
    warm = block_servers(servers, cold=False)
    with warm.open(("a", "b"), 0):
        run(warm, "a", "b")
    started = [line for line in servers.seen if line.startswith("start")]
    assert sorted(started) == ["start a", "start b"]


def test_servers_start_in_another_order_in_another_block(servers: Pretended) -> None:
    warm = block_servers(servers, cold=False)
    orders = set()
    for block in range(8):
        servers.seen.clear()
        with warm.open(("a", "b"), block):
            orders.add(servers.seen[0])
    assert orders == {"start a", "start b"}


def test_servers_finish_once_before_a_set_that_reads_what_others_have_written(
    servers: Pretended,
) -> None:
    warm = block_servers(servers, cold=False)
    finished = []
    for _ in range(2):
        with warm.open(("a", "b"), 0):
            for writes in (False, True, True, False, False, True):
                servers.seen.clear()
                warm.finish_background_work(writes=writes)
                finished.append(sorted(servers.seen))
    both = ["finish a", "finish b"]
    assert finished == [[], [], [], both, [], []] * 2


def test_a_server_that_cannot_finish_fails_in_the_next_slice_and_all_start_again(
    servers: Pretended,
) -> None:
    warm = block_servers(servers, cold=False)
    with warm.open(("a", "b"), 0):
        warm.finish_background_work(writes=True)
        servers.refusing = {"a"}
        warm.finish_background_work(writes=False)
        (result,) = run(warm, "a")
        assert result.driver.failure == "a did not finish"
        servers.refusing = set()
        servers.seen.clear()
        warm.ready(("a", "b"))
    assert [line for line in servers.seen if line.startswith("start")] == ["start a", "start b"]


def test_what_is_to_be_cold_is_not_warmed_up_and_has_the_cache_of_a_warm_one() -> None:
    suite = suites.load("sysbench:micro")
    driver = load_driver(suite.driver)
    assert isinstance(driver, ServerDriver)
    cold, warm = (
        ServerWorkload(suite=suite, driver=driver, scale=Scale(size="smoke", regime=regime))
        for regime in (Regime.COLD, Regime.CACHED)
    )
    assert cold.cold
    assert not warm.cold
    assert cold.warm_up() == ()
    assert len(warm.warm_up()) > 0
    assert cold.cache_bytes == warm.cache_bytes
