"""How fast this machine builds is learned from the builds that it has made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.experiment.execution.participants import SpeedFactor

SECONDS = st.floats(0.1, 1e4)


def test_nothing_learnt_leaves_what_is_expected() -> None:
    assert SpeedFactor().factor == 1.0


@given(st.lists(SECONDS, min_size=1), SECONDS)
def test_a_machine_that_is_as_slow_each_time_is_expected_to_stay_so(
    builds: list[float], slowness: float
) -> None:
    speed = SpeedFactor()
    for build in builds:
        speed.learn(build, build * slowness)
    assert speed.factor == pytest.approx(slowness)


def test_a_build_that_was_there_tells_nothing() -> None:
    speed = SpeedFactor()
    speed.learn(10.0, 20.0)
    speed.learn(0.0, 0.1)
    assert speed.factor == pytest.approx(2.0)
