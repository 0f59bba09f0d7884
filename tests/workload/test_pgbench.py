"""pgbench: what it prints is read strictly, and it drives a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError
from dbhone.requirements import RequirementKind
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import Chunk, DriverReport, DriverRequest
from dbhone.workload.drivers.pgbench import PLUGIN
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from tests.files import put_program
from tests.workload.live import Live, started

MIXED = (Path(__file__).with_name("transcripts") / "pgbench-mixed.txt").read_text()
SCALE = Scale(size="smoke", threads=(2,))
SOCKET = Path("/i/run/.s.PGSQL.5432")
ENDPOINT = Endpoint(protocol=POSTGRESQL, socket=SOCKET, user="bench", database="db", port=5432)


def task_of(name: str, suite: str = "pgbench", seconds: float | None = None) -> Task:
    (task,) = Workload(name=suite, scale=replace(SCALE, seconds=seconds)).tasks((name,))
    return task


def request(task: Task) -> DriverRequest:
    program = Path("/usr/bin/pgbench")
    return DriverRequest(program=program, task=task, database=ENDPOINT)


def read(text: str) -> DriverReport:
    chunk = Chunk(data=text.encode(), at=9.0)
    return PLUGIN.read(request(task_of("mixed", seconds=3)), (chunk,))


def test_all_transactions_are_a_step_and_each_script_is_a_part() -> None:
    whole, select, tpcb = read(MIXED).steps
    assert (whole.operations, whole.errors, whole.part) == (27016, 0, False)
    assert whole.throughput == pytest.approx(9059.718825)
    assert whole.interval_rates == (8622.9, 9006.4, 9385.8)
    assert whole.intervals_began == 8.0
    assert (select.key, select.operations, tpcb.key, tpcb.operations) == (
        *("select-only", 24410),
        *("tpcb-like", 2606),
    )
    # A part's seconds are those of clients: so its throughput is the inverse of its mean latency.
    assert 1000 / tpcb.throughput == pytest.approx(1.292)
    # Two clients had 2.982 seconds each, of which the other script left these.
    assert select.seconds == pytest.approx(2 * 2.98199 - 2606 * 0.001292, rel=1e-5)


def test_the_time_of_the_most_frequent_script_does_not_depend_on_rounded_latencies() -> None:
    coarse = MIXED.replace("latency average = 0.105 ms", "latency average = 0.106 ms")
    assert read(coarse).steps[1] == read(MIXED).steps[1]


def test_a_script_whose_latency_is_too_coarse_is_no_part() -> None:
    def keys(latency: str) -> list[str]:
        text = MIXED.replace("latency average = 1.292", f"latency average = {latency}")
        return [step.key for step in read(text).steps]

    assert keys("0.250") == ["", "select-only", "tpcb-like"]
    assert keys("0.249") == ["", "select-only"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (" - 24410 transactions", " - 21410 transactions", "its scripts have other transactions"),
        ("processed: 27016", "processed: 0", "too short for this script"),
        ("duration: 3 s", "duration: 2 s", "contradicts itself"),
        ("tps = 9059.718825", "tps = 19059.718825", "contradicts itself"),
        ("tps = 9059.718825 (without", "tps = 9059.718825 (with", "never"),
        ("duration: 3 s\n", "duration: 3 s\nduration: 3 s\n", "2 times"),
        ("latency average = 0.105 ms", "latency average = nan ms", "never"),
        (
            "pgbench (15",
            'pgbench: error: client 1: relation "no" is missing\n(',
            'n "no" is missing',
        ),
    ],
)
def test_what_contradicts_itself_is_refused(old: str, new: str, complaint: str) -> None:
    assert MIXED.count(old) == 1
    with pytest.raises(DriverError, match=complaint):
        read(MIXED.replace(old, new))


@given(st.integers(min_value=0, max_value=MIXED.index(" - latency average = 1.292") - 1))
def test_what_was_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(DriverError):
        read(MIXED[:cut])


def test_the_command_names_scripts_by_their_weights_and_no_password() -> None:
    words = PLUGIN.argv(request(task_of("mixed")))
    assert {"--builtin=select-only@9", "--builtin=tpcb-like@1", "--client=2"} <= set(words)
    assert words[-7:] == ("-h", "/i/run", "-p", "5432", "-U", "bench", "db")
    assert "--protocol=prepared" in PLUGIN.argv(request(task_of("select-only-prepared")))


def test_clients_cannot_be_paused() -> None:
    assert not PLUGIN.can_pause(task_of("tpcb-like"))


def test_a_users_script_is_a_suite_with_one_set(tmp_path: Path) -> None:
    script = tmp_path / "my own.pgbench"
    script.write_text("SELECT 1;")
    suite = suites.load(str(script))
    assert suite.measured() == ("my-own",)
    task = task_of("my-own", str(script))
    assert f"--file={script}" in PLUGIN.argv(request(task))
    assert task.run is not None
    assert script in PLUGIN.readable(task.run.data)
    with pytest.raises(UsageError, match="there is no script"):
        suites.load(str(tmp_path / "other.pgbench"))


def test_behind_debians_wrapper_it_is_missing_until_the_package_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = put_program(tmp_path / "bin" / "pg_wrapper", "")
    (wrapper.parent / "pgbench").symlink_to(wrapper)
    monkeypatch.setenv("PATH", str(wrapper.parent))
    folders = tmp_path / "postgresql"
    monkeypatch.setattr("dbhone.workload.client_programs._DEBIAN", folders)
    assert PLUGIN.installed() is None
    assert PLUGIN.requirement.kind is RequirementKind.FILE
    monkeypatch.setattr("dbhone.workload.drivers.pgbench.distributed_program", lambda _: "/new")
    assert PLUGIN.installed() == "/new"
    wrapper.rename(wrapper.with_name("another"))
    (wrapper.parent / "pgbench").unlink()
    assert PLUGIN.requirement.name == "pgbench"


@pytest.mark.parametrize("wrapped", [True, False])
def test_its_package_is_installed_without_a_server(
    wrapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.workload.drivers.pgbench._is_wrapped", lambda: wrapped)
    setting = PLUGIN.requirement.setting
    assert setting is not None
    assert setting.line == "create_main_cluster = false"


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    if PLUGIN.installed() is None:
        pytest.skip("pgbench is not installed")
    with started("postgresql") as live:
        yield replace(live, driver=PLUGIN)


@pytest.mark.integration
def test_every_set_runs_and_a_users_script_too(server: Live, tmp_path: Path) -> None:
    workload = Workload(name="pgbench", scale=SCALE)
    server.load(workload.data)
    for task in workload.tasks((*workload.suite.warm_ups(), *workload.chosen)):
        whole, *parts = server.steps(task)
        assert task.run is not None
        assert whole.operations > 20, task.set
        assert whole.errors == 0
        assert {part.key for part in parts} == set(task.run.parts)
        counted = sum(part.operations for part in parts)
        assert not parts or counted == pytest.approx(whole.operations, rel=0.02)
    script = tmp_path / "tellers.pgbench"
    script.write_text(
        "\\set tid random(1, 10 * :scale)\nSELECT tbalance FROM pgbench_tellers WHERE tid = :tid;\n"
    )
    assert server.step(task_of("tellers", str(script))).operations > 20
    with pytest.raises(DriverError, match="no_such_table"):
        script.write_text("SELECT * FROM no_such_table;")
        server.step(task_of("tellers", str(script)))


@pytest.mark.integration
def test_two_loads_answer_alike_and_what_does_not_balance_is_damage(server: Live) -> None:
    tables = Workload(name="pgbench", scale=SCALE).data
    digests = []
    for name in ("one", "two", "three"):
        live = server.in_database(name)
        live.load(tables)
        if name == "three":
            live.ask("UPDATE pgbench_accounts SET bid = 2 WHERE aid = 4711")
        digests.append(live.verified(tables))
    assert digests[0] == digests[1] != digests[2]
    live.ask("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 4711")
    with pytest.raises(DriverError, match="damaged: balances"):
        live.verified(tables)
