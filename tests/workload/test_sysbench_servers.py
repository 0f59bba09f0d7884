"""Every script of sysbench's suite on the distribution's real servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from dbhone.errors import DriverError
from dbhone.workload import suite as suites
from dbhone.workload.drivers.sysbench import PLUGIN, Tables
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.workload.live import Live, dbms_of_the_suite, started

pytestmark = pytest.mark.integration

SUITE = suites.load("sysbench:micro")
SMALL = Tables(tables=2, rows=500)


@pytest.fixture(scope="module", params=dbms_of_the_suite())
def server(request: pytest.FixtureRequest) -> Iterator[Live]:
    with started(request.param) as live:
        yield live


def sum_of_pages_to_write(live: Live) -> int:
    (line,) = live.ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
    return int(line.split()[1])


def test_every_step_runs_in_the_suites_order_and_again_after_it(server: Live) -> None:
    live = server.in_database("steps")
    workload = Workload(name="sysbench:micro", scale=Scale(size="smoke", threads=(2,)))
    live.load(workload.data)
    names = (*workload.suite.sets, "delete_range=100", "insert_range=100", "read-write_range=100")
    for task in workload.tasks(names):
        step = live.step(task)
        assert step.operations > 0, task.set
        assert step.throughput == pytest.approx(step.operations / step.seconds)
        assert step.latency is not None
        assert 0 < step.latency.p50 <= step.latency.p95 <= step.latency.p99


def executions(live: Live) -> int:
    """Return how often the server has executed what clients asked, by its own count."""
    if live.name == "postgresql":
        (line,) = live.ask("SELECT sum(xact_commit) FROM pg_stat_database")
        return int(line)
    (line,) = live.ask("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")
    return int(line.split()[1])


def test_what_clients_count_is_what_the_server_counts(server: Live) -> None:
    live = server.in_database("counted")
    workload = Workload(name="sysbench:micro", scale=Scale(size="smoke", threads=(2,)))
    live.load(workload.data)
    (task,) = workload.tasks(("point-query_range=100",))
    before = executions(live)
    step = live.step(task)
    others = 100  # what hone asks, and what servers do by themselves
    assert step.operations <= executions(live) - before <= step.operations + others


def test_clients_come_and_go_one_by_one_and_side_by_side(server: Live) -> None:
    live = server.in_database("connected")
    workload = Workload(name="sysbench:connect", scale=Scale(size="smoke", threads=(1, 4)))
    live.load(workload.data)
    for task in workload.tasks((*workload.suite.warm_ups(), *workload.chosen)):
        step = live.step(task)
        assert step.operations > 4, task.set
        assert step.errors == 0


def test_what_is_loaded_has_the_fields_shape(server: Live) -> None:
    live = server.in_database("loaded")
    live.load(SMALL)
    for number in (1, 2):
        (line,) = live.ask(
            "SELECT COUNT(*), MIN(id), MAX(id), MIN(k), MAX(k), COUNT(DISTINCT c), MIN(LENGTH(c)),"
            f" MAX(LENGTH(pad)) FROM sbtest{number}"
        )
        rows, first, last, low, high, different, c, pad = (int(each) for each in line.split())
        assert (rows, first, last, different) == (500, 1, 500, 500)
        assert 1 <= low < 50
        assert 450 < high <= 500
        assert (c, pad) == (119, 59)


def test_two_loads_give_the_same_answers_and_other_data_others(server: Live) -> None:
    digests = []
    for name in ("one", "two", "three"):
        live = server.in_database(name)
        live.load(SMALL)
        if name == "three":
            live.ask("UPDATE sbtest2 SET pad = 'x' WHERE id = 250")
        digests.append(live.verified(SMALL))
    assert digests[0] == digests[1] != digests[2]


def test_an_index_that_lost_a_row_is_damage() -> None:
    with started("postgresql") as server:
        server.load(SMALL)
        ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = 'k_2'::regclass"
        server.ask(ready.format("false"))
        server.ask("UPDATE sbtest2 SET k = 7 WHERE id = 100")
        server.ask(ready.format("true"))
        with pytest.raises(DriverError, match="damaged: 2/secondary: the index has"):
            server.verified(SMALL)


def test_settling_writes_what_changed_and_leaves_settings_alone(server: Live) -> None:
    live = server.in_database("settled")
    live.load(SMALL)
    live.ask("UPDATE sbtest1 SET c = pad")
    settle = PLUGIN.finish_background_work(live.program, live.endpoint, SMALL)
    if server.name == "postgresql":
        live.printed(settle)
        (line,) = live.ask(
            "SELECT n_dead_tup, last_analyze IS NOT NULL FROM pg_stat_user_tables"
            " WHERE relname = 'sbtest1'"
        )
        assert line == "0 t"
    else:
        changed = "SHOW GLOBAL VARIABLES WHERE Variable_name REGEXP 'dirty_pages_pct|io_capacity'"
        before = live.ask(changed)
        live.printed(settle)
        assert sum_of_pages_to_write(live) <= 2
        assert live.ask(changed) == before


def test_a_client_of_another_name_is_refused_and_told_so(server: Live) -> None:
    stranger = replace(server.endpoint, user="nobody")
    finished = server.command(PLUGIN.finish_background_work(server.program, stranger, SMALL))
    error = PLUGIN.error_in_output(finished.text())
    assert not finished.ok
    assert error is not None
    assert "refuses hone's own account" in error.message


def test_what_the_server_refuses_is_a_failure_with_its_reason(server: Live) -> None:
    argv = PLUGIN.verify(server.program, server.in_database("empty").endpoint, SMALL)
    finished = server.command(argv)
    assert not finished.ok
    assert "sbtest1" in finished.text()
