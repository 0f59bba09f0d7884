"""The score interval of an estimate by how often servers stalled: against formulas, and itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dbhone.analysis.stall_score import distances, reaches
from dbhone.measurement.sample_array import Array
from dbhone.measurement.stall_noise import StallNoise

sizes = st.floats(0.001, 1.0)
counts = st.floats(0.1, 30.0)
noises = st.floats(0.0, 1.0)
T = np.array([2.2])


def _stalls(count: float, size: float) -> StallNoise:
    return StallNoise.of_levels(*(np.array([count * size**power]) for power in (2, 2, 3)))


def _variance(noise: float, *stalls: StallNoise) -> Array:
    variance: Array = noise**2 + sum((each.variance for each in stalls), np.zeros(1))
    return variance


@given(counts, sizes)
def test_stalls_alone_have_the_score_interval_of_a_rate(count: float, size: float) -> None:
    """Barker, The American Statistician 56 (2002) 85-89: x + t²/2 ± t √(x + t²/4)."""
    stalls = _stalls(count, size)
    below, _ = reaches(_variance(0.0, stalls), stalls, T)
    most = count + T**2 / 2 + T * np.sqrt(count + T**2 / 4)
    # A hundredth of the variance is taken to be other noise.
    assert below == pytest.approx(size * (most - count), rel=0.02)


@given(st.tuples(counts, sizes), st.tuples(counts, sizes), noises)
def test_what_is_as_far_as_the_interval_reaches_is_that_many_standard_errors_away(
    own: tuple[float, float], bases: tuple[float, float], noise: float
) -> None:
    stalls = _stalls(*own) - _stalls(*bases)
    variance = _variance(noise, stalls)
    below, above = reaches(variance, stalls, T)
    assert distances(variance, stalls, below) == pytest.approx(T, rel=1e-4)
    assert distances(variance, stalls, -above) == pytest.approx(T, rel=1e-4)


@given(counts, sizes, noises)
def test_sides_that_stall_alike_have_an_interval_that_is_as_long_on_both(
    count: float, size: float, noise: float
) -> None:
    stalls = _stalls(count, size) - _stalls(count, size)
    below, above = reaches(_variance(noise, stalls), stalls, T)
    assert below == pytest.approx(above)


@given(counts, sizes, noises)
def test_an_interval_reaches_further_to_the_side_of_more_stalls(
    count: float, size: float, noise: float
) -> None:
    stalls = _stalls(count, size)
    variance = _variance(noise, stalls)
    assume(stalls.variance > 1e-5 * variance)
    below, above = reaches(variance, stalls, T)
    assert below > above > 0


@given(noises.filter(lambda noise: noise > 1e-3))
def test_hardly_any_stalls_leave_students_interval(noise: float) -> None:
    stalls = _stalls(0.1, noise / 1000)
    for reach in reaches(_variance(noise, stalls), stalls, T):
        assert reach == pytest.approx(T * noise, rel=0.01)
