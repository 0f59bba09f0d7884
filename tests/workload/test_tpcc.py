"""TPC-C: its program counts what it does, and drives real servers."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.home import Home
from dbhone.session import open_session
from dbhone.workload.driver_program import locate_program
from dbhone.workload.drivers.tpcc import PLUGIN
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from tests.workload.live import Live, client, dbms_of_the_suite, started

WORKLOAD = Workload(name="tpcc", scale=Scale(size="smoke", threads=(2,)))
ENDPOINT = Endpoint(protocol=MYSQL, socket=Path("/i/run/my.sock"), user="root", database="db")


def task_of(name: str) -> Task:
    (task,) = WORKLOAD.tasks((name,))
    return task


def test_the_programs_own_words_are_the_error() -> None:
    said = PLUGIN.error_in_output("tpcc: Error 1146: no table\n")
    assert str(said) == "tpcc failed: Error 1146: no table"


def test_no_secret_and_no_network_address_is_on_the_command_line() -> None:
    argv = PLUGIN.load(Path("/tpcc"), ENDPOINT, WORKLOAD.data)
    assert argv == (
        "/tpcc",
        "--protocol=mysql",
        "--socket=/i/run/my.sock",
        "--port=0",
        "--user=root",
        "--database=db",
        "--warehouses=1",
        "--threads=1",
        "load",
    )


def test_it_imports_nothing_that_go_1_19_does_not_have() -> None:
    sources = [file.read_text() for file in PLUGIN.module.glob("*.go")]
    imported = {name for text in sources for name in re.findall(r'^\t(?:\w+ )?"(.+)"$', text, re.M)}
    assert {"sync/atomic", "github.com/lib/pq"} <= imported
    assert not imported & {"cmp", "iter", "log/slog", "maps", "math/rand/v2", "slices", "unique"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    with open_session(Home(tmp_path_factory.mktemp("home") / "h")) as session:
        said: list[str] = []
        built = locate_program(PLUGIN, session, said.append)
        assert locate_program(PLUGIN, session, said.append) == built
        assert said == ["building tpcc with go"]
    return built


@pytest.fixture(scope="module", params=dbms_of_the_suite())
def server(request: pytest.FixtureRequest, program: Path) -> Iterator[Live]:
    with started(request.param) as live:
        loaded = replace(live.in_database("tpcc"), driver=PLUGIN, built=program)
        loaded.load(WORKLOAD.data)
        yield loaded


@pytest.mark.integration
def test_transactions_come_by_their_shares_and_are_counted(server: Live) -> None:
    whole, *parts = server.steps(task_of("mix"))
    assert whole.operations > 50
    assert sum(part.operations for part in parts) == pytest.approx(whole.operations, abs=4)
    assert {"new-order", "payment"} <= {part.key for part in parts}
    assert whole.errors <= whole.operations / 100
    (warm,) = WORKLOAD.tasks(("read.warm",))
    assert server.step(warm).operations > 10


@pytest.mark.integration
def test_paused_clients_go_on_and_count(server: Live, tmp_path: Path) -> None:
    with client(server, task_of("mix"), tmp_path / "client") as driver:
        driver.await_ready(60.0)
        for _ in range(3):
            before = driver.finished_events()
            with driver.running():
                while driver.finished_events() < before + 30:
                    driver.pass_time(0.005)
        driver.end(60.0)
        counts = driver.counts()
    executed, seconds, failed = counts.parts.T
    assert counts.finished == counts.buckets.sum() >= 90
    assert executed.sum() == pytest.approx(counts.finished, abs=4)
    assert 0 < seconds.sum() < counts.seconds * 2
    assert failed.sum() <= counts.refused


@pytest.mark.integration
def test_verifying_answers_alike_again_and_finds_damage(server: Live) -> None:
    data_set = WORKLOAD.data
    assert server.verified(data_set) == server.verified(data_set)
    checked = PLUGIN.check(server.program, server.endpoint, data_set)
    PLUGIN.answers(server.printed(checked))
    server.ask("UPDATE warehouse SET w_ytd = w_ytd + 1")
    for command in (PLUGIN.verify(server.program, server.endpoint, data_set), checked):
        with pytest.raises(DriverError, match=r"damaged: 3\.3\.2\.1"):
            PLUGIN.answers(server.printed(command))
    server.ask("UPDATE warehouse SET w_ytd = w_ytd - 1")
    server.ask("DELETE FROM order_line WHERE ol_d_id = 7")
    with pytest.raises(DriverError, match=r"damaged: 3\.3\.2\.4"):
        PLUGIN.answers(server.printed(checked))
