"""Which sets are measured in short slices."""

from __future__ import annotations

import dataclasses

import pytest

from dbhone.experiment.declaration.interleaved_sets import interleaved_sets, why_not_interleaved
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Servers, Slices
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import load_driver
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.experiment.experiment_files import EMBEDDED

EXPERIMENT = parse(EMBEDDED, name="x.toml")


def workload(suite: str, threads: tuple[int, ...] | None = None, seconds: float = 2.0) -> Workload:
    return Workload(name=suite, scale=Scale(size="smoke", threads=threads, seconds=seconds))


def chosen(
    suite: str,
    wanted: Slices,
    *,
    one_by_one: bool = False,
    threads: tuple[int, ...] | None = None,
    seconds: float = 2.0,
) -> frozenset[str]:
    asked = workload(suite, threads, seconds)
    servers = Servers.ONE if one_by_one else Servers.ALL
    experiment = dataclasses.replace(
        EXPERIMENT,
        subjects=EXPERIMENT.subjects[:2],
        workload=asked,
        slices=wanted,
        servers=servers,
    )
    return interleaved_sets(experiment, {task.set: task for task in asked.tasks()})


def test_every_set_that_runs_for_a_time_on_a_connection_of_its_own_is_cut_by_itself() -> None:
    assert chosen("sysbench:micro", Slices.AUTO) == {
        task.set for task in workload("sysbench:micro").tasks()
    }


@pytest.mark.parametrize(
    ("suite", "reason"),
    [
        ("sysbench:connect", "sysbench cannot be paused while it executes connect"),
        ("batch:insert-select", "sysbench cannot be paused while it executes run-1"),
    ],
)
def test_what_cannot_count_is_measured_by_fresh_clients(suite: str, reason: str) -> None:
    first = next(iter(workload(suite).tasks()))
    assert why_not_interleaved(load_driver(suites.load(suite).driver), first) == reason
    assert chosen(suite, Slices.AUTO) == frozenset()


def test_an_embedded_driver_that_is_timed_by_what_it_prints_can_be_paused() -> None:
    speedtest1 = load_driver(suites.load("speedtest1").driver)
    assert why_not_interleaved(speedtest1, next(iter(workload("speedtest1").tasks()))) is None


def test_servers_one_at_a_time_are_measured_by_fresh_clients_and_so_is_what_asks_for_them() -> None:
    assert chosen("sysbench:micro", Slices.AUTO, one_by_one=True) == frozenset()
    assert chosen("sysbench:micro", Slices.FRESH) == frozenset()


def test_a_short_trial_is_cut_into_slices_only_where_that_is_asked_for() -> None:
    assert chosen("sysbench:micro", Slices.AUTO, seconds=1.0) == frozenset()
    assert len(chosen("sysbench:micro", Slices.SHORT, seconds=1.0)) == 32


def test_too_many_clients_at_once_are_paused_only_where_that_is_asked_for() -> None:
    threads = (16, 256, 512)
    asked = chosen("sysbench:micro", Slices.AUTO, threads=threads)
    assert {name.partition("@")[2] for name in asked} == {"16", "256"}
    asked = chosen("sysbench:micro", Slices.SHORT, threads=threads)
    assert {name.partition("@")[2] for name in asked} == {"16", "256", "512"}
