"""The servers of a block: their data and order, and how they start, finish and end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.errors import ServerError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.observe import ObserveOptions
from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.cpu_placement import CpuPlacement
from dbhone.experiment.target.embedded_target import EmbeddedTarget
from dbhone.experiment.target.interleaved import InterleavedTrials
from dbhone.experiment.target.observer import RunObservation
from dbhone.experiment.target.order import BlockSeed, data_seed
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target.server_target import ServerTarget
from dbhone.experiment.target.target import BuildResult
from dbhone.experiment.target.trial import SubjectResult, Trial
from dbhone.session import Session
from dbhone.workload import suite as suites
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import (
    Chunk,
    DriverReport,
    DriverRequest,
    EmbeddedDriver,
)
from dbhone.workload.suite import Regime
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from tests.compilation.tiny import make_tree
from tests.experiment.pretended import pretended_build, pretended_server

NAMES = ("old", "new")
ANYWHERE = CpuPlacement()
POINT_QUERY = Task(set="point-query", size=1)
BATCH = """
title = "t"
base = "old"
[sources]
sqlite = "apt:sqlite3"
[subjects]
old = { dbms = "sqlite", source = "sqlite" }
new = { like = "old", variant = "o3" }
[workload]
suite = "batch:insert-select-sqlite"
size = "smoke"
"""


class Pretended:
    """Servers that note what is done to them; ``refusing`` do not start.

    ``seeds`` are those of the data with which they started, ``tasks`` what they were driven by,
    ``orders`` those in which they were warmed up, and ``cpus`` those of each server and of its
    clients.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.refusing: set[str] = set()
        self.interrupt = False
        self.seeds: list[int | None] = []
        self.tasks: list[Task] = []
        self.orders: list[int] = []
        self.forgotten = 0
        self.cpus: list[tuple[frozenset[int] | None, frozenset[int] | None]] = []

    @contextlib.contextmanager
    def running(self, spec: ServerSpec, seed: int | None) -> Iterator[SimpleNamespace]:
        name = spec.installation.version
        if name in self.refusing:
            raise ServerError(f"{name} did not start")
        self.seeds.append(seed)
        self.cpus.append((spec.levers.whole.cpus, spec.levers.whole.client_cpus))
        self.seen.append(f"start {name}")
        yield SimpleNamespace(
            pid=os.getpid(), name=name, kill=lambda: self.seen.append(f"kill {name}")
        )
        self.seen.append(f"gone {name}")

    def forget(self) -> None:
        self.forgotten += 1

    @property
    def clients(self) -> Pretended:
        return self

    def warm_up(self, server: SimpleNamespace, seed: BlockSeed) -> None:
        self.orders.append(seed.order)
        self.seen.append(f"warm up {server.name}")

    def finish_background_work(self, server: SimpleNamespace) -> None:
        if server.name in self.refusing:
            raise ServerError(f"{server.name} did not finish")
        self.seen.append(f"finish {server.name}")

    def drive(self, server: SimpleNamespace, task: Task) -> DriverResult:
        if self.interrupt:
            raise KeyboardInterrupt
        self.tasks.append(task)
        self.seen.append(f"drive {server.name} {task.set}")
        return SubjectResult.failed("old", ServerError("nothing is measured here")).driver


@pytest.fixture
def servers() -> Pretended:
    return Pretended()


def block_servers(
    servers: Pretended,
    *,
    cold: bool = False,
    fresh_data: bool = False,
    placement: CpuPlacement = ANYWHERE,
) -> BlockServers:
    return BlockServers(
        cast(ServerPool, servers),
        {name: pretended_server(name) for name in NAMES},
        RunObservation(ObserveOptions(enabled=False), lambda *_: None),
        lambda _: None,
        seed=1,
        placement=placement,
        fresh_data=fresh_data,
        cold=cold,
    )


def test_servers_and_clients_get_the_cpus_of_the_block(servers: Pretended) -> None:
    one, two = frozenset({0}), frozenset({1})
    apart = block_servers(servers, placement=CpuPlacement(cores=(one, two), clients=1))
    for block in range(6):
        with apart.open(NAMES, block):
            pass
    with block_servers(servers).open(NAMES, 0):
        pass
    *placed, free, _ = servers.cpus
    assert set(placed) == {(one, two), (two, one)}
    assert placed[::2] == placed[1::2], "both servers of a block have the same"
    assert free == (None, None)


def task(name: str) -> Task:
    return Workload(name=name, scale=Scale(size="smoke")).tasks()[0]


def trial(block: int) -> Trial:
    chosen = task("batch:insert-select-sqlite")
    return Trial(block=block, set=chosen.set, task=chosen, subjects=NAMES, timeout=60.0)


def measure(servers: Pretended, suite: str, *blocks: int, fresh_data: bool) -> None:
    """Drive all servers once in each block."""
    up = block_servers(servers, fresh_data=fresh_data)
    for block in blocks:
        with up.open(NAMES, block):
            for name in NAMES:
                up.drive(name, task(suite))


def seeds_of(tasks: Sequence[Task]) -> list[int | None]:
    return [task.run.data.seed for task in tasks if task.run]


def test_all_subjects_of_a_block_have_its_data_and_a_block_made_again_has_it_again(
    servers: Pretended,
) -> None:
    measure(servers, "batch:insert-select", 0, 1, 0, fresh_data=True)
    first, second = data_seed(1, 0), data_seed(1, 1)
    assert first != second
    assert servers.seeds == [first, first, second, second, first, first]
    assert seeds_of(servers.tasks) == servers.seeds
    assert servers.forgotten == 3


def test_where_the_data_is_always_the_same_there_is_no_seed(servers: Pretended) -> None:
    measure(servers, "sysbench:micro", 0, 1, fresh_data=False)
    assert servers.seeds == seeds_of(servers.tasks) == [None] * 4


def test_servers_are_warmed_up_in_the_order_of_their_block(servers: Pretended) -> None:
    measure(servers, "sysbench:micro", 0, 1, fresh_data=False)
    assert servers.orders == [task.order for task in servers.tasks]
    first, again, second, once_more = servers.orders
    assert first == again != second == once_more


class Asked(EmbeddedDriver):
    """A driver that remembers the seeds that it was asked for."""

    name = "asked"
    artifact = "speedtest1"

    def __init__(self) -> None:
        self.seeds: list[int | None] = []

    def sets(self, suite: tuple[str, ...], tree: Path) -> tuple[str, ...]:
        return suite

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        self.seeds.append(request.task.seed)
        return (str(request.program),)

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        return DriverReport(version=None, steps=(), verification=None)


def test_an_embedded_dbms_makes_the_blocks_values_too(tmp_path: Path, session: Session) -> None:
    driver, tree = Asked(), make_tree(tmp_path / "source")
    builds = {
        name: BuildResult(build=pretended_build(tmp_path / name), tree=tree, reused=False)
        for name in NAMES
    }
    experiment = parse(BATCH, name="x.toml")
    target = EmbeddedTarget(experiment, builds, session, cast(RunRecorder, None))
    target.driver = driver
    for block in (0, 1):
        with target.open(NAMES, block):
            list(target.run(trial(block)))
    assert driver.seeds == [data_seed(1, block) for block in (0, 0, 1, 1)]


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_seeds_are_states_of_the_generator(seed: int) -> None:
    found = [data_seed(seed, block) for block in range(1000)]
    assert all(1 <= each <= 2**31 - 2 for each in found)
    assert len(set(found)) == 1000
    assert found == [data_seed(seed, block) for block in range(1000)]


def run(servers: BlockServers, *names: str) -> list[SubjectResult]:
    """Measure these subjects one after the other."""
    trial = Trial(block=0, set=POINT_QUERY.set, task=POINT_QUERY, subjects=names, timeout=1.0)
    return list(servers.run(trial))


def test_each_slice_has_a_server_of_its_own(servers: Pretended) -> None:
    cold = block_servers(servers, cold=True)
    with cold.open(NAMES, 0):
        cold.ready(NAMES)
        assert servers.seen == []
        run(cold, "new", "old", "new")
    one = ["start {}", "warm up {}", "drive {} point-query", "kill {}", "gone {}"]
    assert servers.seen == [line.format(name) for name in ("new", "old", "new") for line in one]


def test_a_server_that_does_not_start_is_told_by_its_slice_and_tried_again(
    servers: Pretended,
) -> None:
    cold = block_servers(servers, cold=True)
    servers.refusing = {"old"}
    (result,) = run(cold, "old")
    assert result.driver.failure == "old did not start"
    servers.refusing = set()
    run(cold, "old")
    assert "drive old point-query" in servers.seen


def test_a_server_that_was_prepared_ends_with_its_block(servers: Pretended) -> None:
    cold = block_servers(servers, cold=True)
    servers.interrupt = True
    with pytest.raises(KeyboardInterrupt), cold.open(("old",), 0):
        run(cold, "old")
    assert servers.seen[-1] == "gone old"


def test_warm_servers_stay_up_and_need_no_preparation(servers: Pretended) -> None:
    warm = block_servers(servers)
    with warm.open(NAMES, 0):
        run(warm, "old", "new")
    started = [line for line in servers.seen if line.startswith("start")]
    assert sorted(started) == ["start new", "start old"]


def test_servers_start_in_another_order_in_another_block(servers: Pretended) -> None:
    warm = block_servers(servers)
    orders = set()
    for block in range(8):
        servers.seen.clear()
        with warm.open(NAMES, block):
            orders.add(servers.seen[0])
    assert orders == {"start old", "start new"}


def test_servers_finish_once_before_a_set_that_reads_what_others_have_written(
    servers: Pretended,
) -> None:
    warm = block_servers(servers)
    finished = []
    for _ in range(2):
        with warm.open(NAMES, 0):
            for writes in (False, True, True, False, False, True):
                servers.seen.clear()
                warm.finish_background_work(writes=writes)
                finished.append(sorted(servers.seen))
                if writes:
                    warm.note_writes()
    both = ["finish new", "finish old"]
    assert finished == [[], [], [], both, [], []] * 2


def test_servers_finish_what_a_set_wrote_that_had_to_start_them_anew(servers: Pretended) -> None:
    warm = block_servers(servers)

    def start_anew(trial: Trial, *_: object) -> Iterator[SubjectResult]:
        warm.close("old")
        warm.ready(trial.subjects)
        yield from ()

    target = ServerTarget.__new__(ServerTarget)
    target.suite = suites.load("sysbench:micro")
    target._servers = warm
    target._trials = cast(InterleavedTrials, SimpleNamespace(run=start_anew))
    writing, reading = (
        Trial(block=0, set=name, task=Task(set=name, size=1), subjects=NAMES, timeout=1.0)
        for name in ("update-index_range=100", "point-query_range=100")
    )
    with warm.open(NAMES, 0):
        target.ready(writing)
        assert list(target.run(writing)) == []
        servers.seen.clear()
        target.ready(reading)
    assert sorted(servers.seen[:2]) == ["finish new", "finish old"]


def test_a_server_that_cannot_finish_fails_in_the_next_slice_and_all_start_again(
    servers: Pretended,
) -> None:
    warm = block_servers(servers)
    with warm.open(NAMES, 0):
        warm.note_writes()
        servers.refusing = {"old"}
        warm.finish_background_work(writes=False)
        (result,) = run(warm, "old")
        assert result.driver.failure == "old did not finish"
        servers.refusing = set()
        servers.seen.clear()
        warm.ready(NAMES)
    assert [line for line in servers.seen if line.startswith("start")] == ["start old", "start new"]


def test_what_is_to_be_cold_is_not_warmed_up_and_has_the_cache_of_a_warm_one() -> None:
    cold, warm = (
        Workload(name="sysbench:micro", scale=Scale(size="smoke", regime=regime))
        for regime in (Regime.COLD, Regime.CACHED)
    )
    assert cold.cold
    assert not warm.cold
    assert cold.warm_up() == ()
    assert len(warm.warm_up()) > 0
    assert cold.cache_bytes == warm.cache_bytes
