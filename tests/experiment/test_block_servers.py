"""Blocks: the random data of a block is the same for all of its subjects, and no other block's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from dbhone.experiment.block_servers import BlockServers
from dbhone.experiment.embedded_target import EmbeddedTarget
from dbhone.experiment.load import parse
from dbhone.experiment.observe import ObserveOptions, RunObservation
from dbhone.experiment.order import BlockSeed, data_seed
from dbhone.experiment.recorder import RunRecorder
from dbhone.experiment.server_pool import ServerPool
from dbhone.experiment.target import BuildResult
from dbhone.experiment.trial import Trial
from dbhone.home import Session
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.workload import suite as suites
from dbhone.workload import suite_tasks
from dbhone.workload.drive import DriverResult
from dbhone.workload.drivers.base import Chunk, DriverReport, DriverRequest, EmbeddedDriver
from dbhone.workload.task import Scale, Task
from tests.compilation.tiny import make_tree
from tests.experiment.pretended import pretended_build, pretended_server

NAMES = ("old", "new")
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


@dataclass
class Up:
    """A server that is up, and does nothing."""

    pid: int = 1

    def kill(self) -> None:
        pass


@dataclass
class Recorder:
    """Servers that only remember how they were started, warmed up and driven."""

    started: list[int | None] = field(default_factory=list)
    driven: list[int | None] = field(default_factory=list)
    warmed_up: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    forgotten: int = 0

    @contextlib.contextmanager
    def running(self, spec: object, seed: int | None) -> Iterator[Up]:
        self.started.append(seed)
        yield Up()

    @property
    def clients(self) -> Recorder:
        return self

    def warm_up(self, server: Up, seed: BlockSeed) -> None:
        self.warmed_up.append(seed.order)

    def drive(self, server: Up, task: Task) -> DriverResult:
        assert task.run is not None
        self.driven.append(task.run.data.seed)
        self.orders.append(task.order)
        return DriverResult(
            argv=(), output=b"", seconds=0.0, cpu_seconds=0.0, report=None, failure="pretended"
        )

    def forget(self) -> None:
        self.forgotten += 1


def task(name: str) -> Task:
    suite = suites.load(name)
    return suite_tasks.tasks(suite, suite.measured()[:1], Scale(size="smoke"))[0]


def trial(block: int) -> Trial:
    chosen = task("batch:insert-select-sqlite")
    return Trial(block=block, set=chosen.set, task=chosen, subjects=NAMES, timeout=60.0)


def measured(suite: str, blocks: tuple[int, ...], *, fresh_data: bool) -> Recorder:
    servers = Recorder()
    specs = {name: pretended_server(name) for name in NAMES}
    observation = RunObservation(ObserveOptions(enabled=False), lambda *_: None)
    pool = cast(ServerPool, servers)
    up = BlockServers(pool, specs, observation, lambda _: None, seed=1, fresh_data=fresh_data)
    for block in blocks:
        with up.open(NAMES, block):
            for name in NAMES:
                up.drive(name, task(suite))
    return servers


def test_all_subjects_of_a_block_have_its_data_and_a_block_made_again_has_it_again() -> None:
    servers = measured("batch:insert-select", (0, 1, 0), fresh_data=True)
    first, second, again = servers.driven[0::2]
    assert servers.driven[1::2] == servers.driven[0::2] == servers.started[0::2]
    assert servers.started[1::2] == servers.started[0::2]
    assert first == again == data_seed(1, 0)
    assert second == data_seed(1, 1) != first
    assert servers.forgotten == 3


def test_where_the_data_is_always_the_same_there_is_no_seed() -> None:
    servers = measured("sysbench:micro", (0, 1), fresh_data=False)
    assert servers.started == servers.driven == [None] * 4


def test_servers_are_warmed_up_in_the_order_of_their_block() -> None:
    servers = measured("sysbench:micro", (0, 1), fresh_data=False)
    assert servers.warmed_up == servers.orders
    assert len(set(servers.orders[0:2])) == len(set(servers.orders[2:4])) == 1
    assert servers.orders[0] != servers.orders[2]


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
            list(target.run(trial(block), IdleInhibitor(frozenset()), lambda *_: None))
    assert driver.seeds == [data_seed(1, block) for block in (0, 0, 1, 1)]


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_seeds_are_states_of_the_generator(seed: int) -> None:
    found = [data_seed(seed, block) for block in range(1000)]
    assert all(1 <= each <= 2**31 - 2 for each in found)
    assert len(set(found)) == 1000
    assert found == [data_seed(seed, block) for block in range(1000)]
