"""TPC-C: what its program prints is read strictly, and it drives real servers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
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
from dbhone.workload.drivers.base import Chunk, DriverReport, DriverRequest
from dbhone.workload.drivers.tpcc import PLUGIN
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from tests.workload.live import Live, client, dbms_of_the_suite, started

WORKLOAD = Workload(name="tpcc", scale=Scale(size="smoke", threads=(2,)))
ENDPOINT = Endpoint(protocol=MYSQL, socket=Path("/i/run/my.sock"), user="root", database="db")
SUMMARY = {
    "seconds": 2.0,
    "finished": 30,
    "refused": 1,
    "buckets": [0] * 511 + [10, 20] + [0] * 511,
    "parts": [[14, 1.4, 1], [12, 0.6, 0], [2, 0.02, 0], [1, 0.5, 0], [1, 0.1, 0]],
    "rates": [14.0],
}


def task_of(name: str) -> Task:
    (task,) = WORKLOAD.tasks((name,))
    return task


def read(text: str) -> DriverReport:
    request = DriverRequest(
        program=Path("/tpcc"), task=task_of("mix"), database=ENDPOINT, verify=False
    )
    chunk = Chunk(
        data=text.encode(), at=9.0, cpu_seconds=None, instructions=None, peak_memory_bytes=None
    )
    return PLUGIN.read(request, (chunk,))


def test_all_transactions_are_a_step_and_each_kind_is_a_part() -> None:
    whole, *parts = read(json.dumps(SUMMARY)).steps
    assert (whole.operations, whole.errors, whole.throughput) == (30, 1, 15.0)
    assert whole.latency is not None
    assert whole.latency.p50 == pytest.approx(0.01, rel=0.05)
    assert [(part.key, part.throughput, part.errors) for part in parts[:2]] == [
        ("new-order", 10.0, 1),
        ("payment", 20.0, 0),
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"finished": 31}, "contradicts itself"),
        ({"parts": []}, "contradicts itself"),
        ({"finished": 0, "buckets": []}, "not one transaction ended"),
        ({"seconds": 0}, "invalid summary: Input should be greater than 0"),
        ({"seconds": float("inf")}, "invalid summary: Input should be a finite number"),
    ],
)
def test_what_contradicts_itself_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(DriverError, match=complaint):
        read(json.dumps(SUMMARY | change))


def test_the_programs_own_words_are_the_error() -> None:
    with pytest.raises(DriverError, match="tpcc failed: Error 1146: no table"):
        read("tpcc: Error 1146: no table\n")


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


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_clients_begin_together_when_all_are_ready(tmp_path: Path) -> None:
    for file in (PLUGIN.module / "counts.go", Path(__file__).with_name("counts_test.go")):
        shutil.copy(file, tmp_path)
    (tmp_path / "go.mod").write_text("module counts\n\ngo 1.19\n")
    done = subprocess.run(
        ["go", "test", "./..."], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
