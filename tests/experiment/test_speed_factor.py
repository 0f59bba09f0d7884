import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.experiment.speed_factor import Pace

SECONDS = st.floats(0.1, 1e4)


def test_nothing_learnt_leaves_what_is_expected() -> None:
    assert Pace().factor == 1.0


@given(st.lists(SECONDS, min_size=1), SECONDS)
def test_a_machine_that_is_as_slow_each_time_is_expected_to_stay_so(
    builds: list[float], slowness: float
) -> None:
    pace = Pace()
    for build in builds:
        pace.learn(build * pace.factor, build * slowness)
    assert pace.factor == pytest.approx(slowness)


def test_a_build_that_was_there_tells_nothing() -> None:
    pace = Pace()
    pace.learn(10.0, 20.0)
    pace.learn(0.0, 0.1)
    assert pace.factor == pytest.approx(2.0)
