"""Which sets are measured in short slices, and how a pass is cut."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.experiment.interleaved import (
    Rounds,
    first_rounds,
    fitting_rounds,
    interleaved_sets,
    slice_seconds,
    why_not_interleaved,
)
from dbhone.experiment.model import Slices
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import load_driver
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload


def tasks(suite: str, threads: tuple[int, ...] | None = None, seconds: float = 2.0) -> list[Task]:
    scale = Scale(size="smoke", threads=threads, seconds=seconds)
    return list(Workload(name=suite, scale=scale).tasks())


def chosen(
    suite: str,
    wanted: Slices,
    *,
    one_by_one: bool = False,
    threads: tuple[int, ...] | None = None,
    subjects: int = 2,
    seconds: float = 2.0,
) -> frozenset[str]:
    named = {task.set: task for task in tasks(suite, threads, seconds)}
    driver = load_driver(suites.load(suite).driver)
    return interleaved_sets(wanted, driver, named, subjects, one_by_one=one_by_one)


def test_every_set_that_runs_for_a_time_on_a_connection_of_its_own_is_cut_by_itself() -> None:
    assert chosen("sysbench:micro", Slices.AUTO) == {task.set for task in tasks("sysbench:micro")}


@pytest.mark.parametrize(
    ("suite", "reason"),
    [
        ("sysbench:connect", "sysbench cannot be paused while it executes connect"),
        ("batch:insert-select", "sysbench cannot be paused while it executes run-1"),
    ],
)
def test_what_cannot_count_is_measured_by_fresh_clients(suite: str, reason: str) -> None:
    first = tasks(suite)[0]
    assert why_not_interleaved(load_driver(suites.load(suite).driver), first) == reason
    assert chosen(suite, Slices.AUTO) == frozenset()


def test_an_embedded_driver_that_is_timed_by_what_it_prints_can_be_paused() -> None:
    speedtest1 = load_driver(suites.load("speedtest1").driver)
    assert why_not_interleaved(speedtest1, tasks("speedtest1")[0]) is None


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


def test_settling_takes_time_that_is_not_counted() -> None:
    (task, *_) = tasks("sysbench:micro")
    assert task.run is not None
    assert slice_seconds(task, interleaved=False) == task.run.seconds == 2.0
    assert slice_seconds(task, interleaved=True) == pytest.approx(2.4)


def test_slices_are_longer_where_operations_are() -> None:
    first = first_rounds(6.0)
    assert first == Rounds(seconds=0.1, count=60)
    assert fitting_rounds(first, 6.0, 201.0) == first
    assert fitting_rounds(first, 6.0, 80.0) == Rounds(seconds=0.25, count=24)
    assert fitting_rounds(first, 6.0, 20.0) == Rounds(seconds=1.0, count=6)
    assert fitting_rounds(first, 6.0, 6.6) is None
    assert fitting_rounds(first, 6.0, 0.0) is None


@given(st.integers(1, 600), st.floats(0.01, 1e6))
def test_a_pass_is_cut_into_equal_slices_that_have_enough_in_them(
    seconds: int, rate: float
) -> None:
    first = first_rounds(seconds)
    assert math.isclose(first.count * first.seconds, seconds)
    found = fitting_rounds(first, seconds, rate)
    if found is None:
        assert rate * seconds / 2 < 20 * 1.001
    else:
        assert math.isclose(found.count * found.seconds, seconds)
        assert rate * found.seconds >= 20 * 0.999
