"""How a trial is cut into slices."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.experiment.target.interleaved import (
    Rounds,
    first_rounds,
    fitting_rounds,
    subject_seconds,
)
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload


def test_settling_takes_time_that_is_not_counted() -> None:
    scale = Scale(size="smoke", seconds=2.0)
    (task, *_) = Workload(name="sysbench:micro", scale=scale).tasks()
    assert task.run is not None
    assert subject_seconds(task, interleaved=False) == task.run.seconds == 2.0
    assert subject_seconds(task, interleaved=True) == pytest.approx(2.4)


def test_slices_are_longer_where_operations_are() -> None:
    first = first_rounds(6.0)
    assert first == Rounds(seconds=0.1, count=60)
    assert fitting_rounds(first, 6.0, 201.0) == first
    assert fitting_rounds(first, 6.0, 80.0) == Rounds(seconds=0.25, count=24)
    assert fitting_rounds(first, 6.0, 20.0) == Rounds(seconds=1.0, count=6)
    assert fitting_rounds(first, 6.0, 6.6) is None
    assert fitting_rounds(first, 6.0, 0.0) is None


@given(st.integers(1, 600), st.floats(0.01, 1e6))
def test_an_invocation_is_cut_into_equal_slices_that_have_enough_in_them(
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
