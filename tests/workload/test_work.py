"""What drivers are asked for at the scale that an experiment wants."""

from __future__ import annotations

from dbhone.workload import suite as suites
from dbhone.workload import work
from dbhone.workload.work import Scale
from tests.workload.test_suite import micro


def test_the_sizes_say_how_long_reads_and_writes_take() -> None:
    scale = Scale(size="full")
    read, write = work.tasks(micro(), ("point-query_range=100", "insert_range=100"), scale)
    assert read.run is not None
    assert write.run is not None
    assert (read.run.seconds, write.run.seconds) == (60, 90)
    assert read.run.tables == work.Tables(tables=8, rows=10_000_000)


def test_several_numbers_of_threads_are_several_tasks() -> None:
    scale = Scale(size="quick", threads=(1, 4), seconds=2, tables=3, rows=500)
    tasks = work.tasks(micro(), ("update-one_range=100",), scale)
    assert [task.set for task in tasks] == ["update-one_range=100@1", "update-one_range=100@4"]
    assert {task.source for task in tasks} == {"update-one_range=100"}
    runs = [task.run for task in tasks if task.run is not None]
    assert [run.threads for run in runs] == [1, 4]
    assert all(run.options == (("table-size", "1"),) for run in runs)
    assert all((run.tables.tables, run.tables.rows) == (3, 500) for run in runs)


def test_runs_that_end_by_themselves_take_longer_with_more_rows_and_are_given_time() -> None:
    suite = suites.load("batch:insert-select")
    few, many = (
        work.tasks(suite, ("run-1",), Scale(size="quick", rows=rows))[0].run
        for rows in (200_000, 2_000_000)
    )
    assert few is not None
    assert many is not None
    assert many.seconds == 10 * few.seconds
    assert few.patience >= 100
    assert suite.runs_to_the_end
    assert not micro().runs_to_the_end


def test_the_random_data_of_a_suite_has_a_seed_that_can_be_another() -> None:
    for name in ("batch:insert-select", "batch:insert-select-sqlite"):
        suite = suites.load(name)
        task = work.tasks(suite, suite.measured()[:1], Scale(size="smoke"))[0]
        seeds = [
            each.run.tables.seed if each.run else each.seed
            for each in (task, work.seeded(task, 5), work.seeded(task, 6))
        ]
        assert seeds == [1, 5, 6]
    assert work.tables_of(micro(), Scale(size="smoke")).seed is None
