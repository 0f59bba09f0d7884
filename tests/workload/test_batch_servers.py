"""The suite batch:insert-select on the distribution's real servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbhone.workload.task import DataSet, Scale
from dbhone.workload.workload import Workload
from tests.workload.live import Live, dbms_of_the_suite, started

pytestmark = pytest.mark.integration

WORKLOAD = Workload(name="batch:insert-select", scale=Scale(size="smoke"))
WARM_UPS = WORKLOAD.suite.warm_ups()


@pytest.fixture(scope="module", params=dbms_of_the_suite())
def server(request: pytest.FixtureRequest) -> Iterator[Live]:
    with started(request.param) as live:
        yield live


def tables(seed: int) -> DataSet:
    return WORKLOAD.data.with_seed(seed)


def test_each_run_fills_an_empty_table_and_leaves_nothing(server: Live) -> None:
    live = server.in_database("runs")
    live.load(tables(77))
    for task in WORKLOAD.tasks((*WARM_UPS, *WORKLOAD.chosen)):
        step = live.step(task)
        assert step.operations == (1 if task.set in WARM_UPS else 2000), task.set
        assert step.latency is not None
        assert step.latency.p50 == step.seconds
    wanted = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = "
    assert live.ask(wanted + "'t1'") == ["1"]
    assert live.ask(wanted + "'t2'") == ["0"]


def test_a_seed_gives_the_same_rows_on_every_server_and_another_one_others(server: Live) -> None:
    digests = []
    for name, seed in (("one", 77), ("two", 77), ("three", 78)):
        live = server.in_database(f"seed_{name}")
        live.load(tables(seed))
        digests.append(live.verified(tables(seed)))
    assert digests[0] == digests[1] != digests[2]
    cast = "CONVERT_FROM({}, 'LATIN1')::BIGINT" if server.name == "postgresql" else "{} + 0"
    sums = ", ".join(f"SUM({cast.format(column)})" for column in ("id_2", "id_3"))
    live = server.in_database("sums")
    live.load(tables(77))
    (line,) = live.ask(f"SELECT {sums} FROM t1")
    assert [int(float(each)) for each in line.split()] == [1006064999, 996546534]
