"""What drivers are asked for at the scale that an experiment wants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dbhone.workload.drivers.sysbench import Script, Tables
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload


def micro(size: str = "quick", **scale: Any) -> Workload:
    return Workload(name="sysbench:micro", scale=Scale(size=size, **scale))


def test_the_sizes_say_how_long_reads_and_writes_take() -> None:
    workload = micro(size="full")
    read, write = workload.tasks(("point-query_range=100", "insert_range=100"))
    assert read.run is not None
    assert write.run is not None
    assert (read.run.seconds, write.run.seconds) == (60, 90)
    assert read.run.data == workload.data
    assert read.run.data.key == (8, 10_000_000)


def test_several_numbers_of_threads_are_several_tasks() -> None:
    workload = micro(threads=(1, 4), seconds=2, data={"tables": 3, "rows": 500})
    tasks = workload.tasks(("update-one_range=100",))
    assert [task.set for task in tasks] == ["update-one_range=100@1", "update-one_range=100@4"]
    assert {task.suite_set for task in tasks} == {"update-one_range=100"}
    runs = [task.run for task in tasks if task.run is not None]
    assert [run.threads for run in runs] == [1, 4]
    assert all(run.job == Script(name="update", options=(("table-size", "1"),)) for run in runs)
    assert all(run.data.key == (3, 500) for run in runs)


def test_runs_that_end_by_themselves_take_longer_with_more_rows_and_are_given_time() -> None:
    fewer, more = (
        Workload(name="batch:insert-select", scale=Scale(size="quick", data={"rows": rows}))
        for rows in (200_000, 2_000_000)
    )
    few, many = (each.tasks(("run-1",))[0].run for each in (fewer, more))
    assert few is not None
    assert many is not None
    assert many.seconds == 10 * few.seconds
    assert few.timeout >= 100
    assert more.growth == 10 * fewer.growth
    assert more.suite.runs_to_the_end
    assert not micro().suite.runs_to_the_end


def test_how_large_the_data_is_is_asked_only_for_what_lasts_longer_with_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def volume(data: Tables) -> float:
        asked.append(data)
        return 1.0

    monkeypatch.setattr(Tables, "volume", property(volume))
    micro().tasks()
    assert not asked
    micro().warm_up()
    assert asked


@pytest.mark.parametrize(
    ("changed", "seconds"),
    [
        ({}, 1),
        ({"seconds": 10.0}, 1),
        ({"seconds": 10.0, "data": {"tables": 4, "rows": 200_000}}, 8),
        ({"seconds": 2.0, "data": {"tables": 4, "rows": 200_000}}, 2),
        ({"seconds": 10.0, "data": {"rows": 100}}, 1),
        ({"threads": (1, 8, 2)}, 1),
    ],
)
def test_caches_are_filled_for_as_long_as_there_are_data_and_not_as_steps_last(
    changed: dict[str, Any], seconds: int
) -> None:
    tasks = micro(**changed).warm_up()
    assert tuple(task.set for task in tasks) == micro().suite.warm_ups()
    assert {task.run.seconds for task in tasks if task.run} == {seconds}
    assert {task.run.threads for task in tasks if task.run} == {max(changed.get("threads", (4,)))}


def test_the_random_data_of_a_suite_has_a_seed_that_can_be_another() -> None:
    for name in ("batch:insert-select", "batch:insert-select-sqlite"):
        task = Workload(name=name, scale=Scale(size="smoke")).tasks()[0]
        seeds = [
            each.run.data.seed if each.run else each.seed
            for each in (task, task.with_seed(5), task.with_seed(6))
        ]
        assert seeds == [1, 5, 6]
    assert micro(size="smoke").data.seed is None


def test_sets_that_were_not_asked_for_are_all_and_no_set_is_none() -> None:
    assert micro().chosen == micro().suite.measured()
    assert len(micro().tasks()) == len(micro().chosen)
    none = replace(micro(), sets=())
    assert none.tasks() == ()
    assert none.for_training("smoke").tasks() == ()
