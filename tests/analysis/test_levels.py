"""Absolute figures: what a subject does by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.levels import Level, find_levels
from dbhone.measurement.metric import BYTES_READ
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import analysed, noisy, samples


def _one(of: SampleArray, subject: str, step: str = "0") -> Level:
    return next(each for each in find_levels(of) if (each.subject, each.step) == (subject, step))


@given(seed=st.integers(0, 1000), blocks=st.integers(3, 9))
def test_levels_of_few_blocks_have_exactly_the_effect_s_ratio(seed: int, blocks: int) -> None:
    of = samples(noisy(seed, (2, 1, blocks), (1.0, 1.1)))
    effect = analysed(of).effects[0]
    assert _one(of, "b").value / _one(of, "a").value == pytest.approx(effect.ratio)


def test_level_lies_in_its_interval_and_among_the_values() -> None:
    values = noisy(3, (1, 1, 20), (1.0,))
    level = _one(samples(values), "a")
    assert level.low is not None
    assert level.high is not None
    assert values.min() < level.low < level.value < level.high < values.max()
    assert level.blocks == 20


def test_levels_of_blocks_in_the_same_layouts_are_one_value() -> None:
    values = noisy(4, (1, 1, 6), (1.0,))
    once, often = _one(samples(values), "a"), np.tile(values, 5)
    again = _one(samples(often).in_layouts(6), "a")
    assert (again.low, again.high) == pytest.approx((once.low, once.high))
    assert again.blocks == 30


def test_two_blocks_have_no_interval() -> None:
    level = _one(samples(np.array([[[100.0, 400.0]]])), "a")
    assert level.value == pytest.approx(200.0)
    assert (level.low, level.high) == (None, None)


def test_where_zeros_are_it_is_the_median() -> None:
    of = samples(np.array([[[0.0, 8.0, 0.0, 4.0, 0.0]]]), metric=BYTES_READ)
    level = _one(of, "a")
    assert (level.value, level.low, level.blocks) == (0.0, None, 5)


def test_what_was_not_measured_has_no_level() -> None:
    values = np.full((2, 2, 3), np.nan)
    values[0, 0] = 1.0
    assert [(each.subject, each.step) for each in find_levels(samples(values))] == [("a", "0")]
    assert find_levels(samples(np.full((1, 1, 2), np.nan))) == ()


def test_values_that_cannot_be_are_left_out() -> None:
    level = _one(samples(np.array([[[100.0, np.inf, -1.0, 100.0]]])), "a")
    assert level.value == pytest.approx(100.0)
    assert level.blocks == 2
