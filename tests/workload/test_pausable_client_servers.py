"""Paused clients of the distribution's real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.workload.live import Live, client, dbms_of_the_suite, started

pytestmark = pytest.mark.integration

WORKLOAD = Workload(name="sysbench:micro", scale=Scale(size="smoke", threads=(3,)))


@pytest.fixture(scope="module", params=dbms_of_the_suite())
def server(request: pytest.FixtureRequest) -> Iterator[Live]:
    with started(request.param) as live:
        live.load(WORKLOAD.data)
        yield live


def test_every_step_goes_on_where_it_was_paused(server: Live, tmp_path: Path) -> None:
    for task in WORKLOAD.tasks():
        with client(server, task, tmp_path / task.set) as driver:
            driver.await_ready(60.0)
            for _ in range(3):
                before = driver.counts()
                with driver.running():
                    while driver.finished_events() < before.finished + 4:
                        driver.pass_time(0.005)
            driver.end(60.0)
            counts = driver.counts()
            assert counts.finished >= 12, task.set
            assert int(counts.buckets.sum()) == counts.finished
            assert b"total number of events" in driver.printed()


def test_clients_of_one_server_take_turns(server: Live, tmp_path: Path) -> None:
    (task,) = WORKLOAD.tasks(("update-index_range=100",))
    with (
        client(server, task, tmp_path / "one") as one,
        client(server, task, tmp_path / "other") as other,
    ):
        for each in (one, other):
            each.await_ready(60.0)
            each.pause()
        for each in (one, other, one, other):
            before = each.finished_events()
            with each.running():
                while each.finished_events() < before + 10:
                    each.pass_time(0.005)
        for each in (one, other):
            each.end(60.0)
