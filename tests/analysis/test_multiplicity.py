"""Corrections for the number of comparisons, in families, and what would have been found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from dbhone.analysis.estimate import CONFIDENCE, Estimates, estimate
from dbhone.analysis.multiplicity import Family, findable, holm, judge
from dbhone.measurement.sample_array import Logs

_FAMILY = st.lists(st.floats(1e-12, 1), min_size=1, max_size=30)
_ALPHA = 1 - CONFIDENCE
_P = st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), min_size=1, max_size=30)


def test_holm_by_hand() -> None:
    found = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_what_was_not_tested_does_not_count() -> None:
    found = holm(np.array([0.01, np.nan, 0.02]))
    assert found[0] == pytest.approx(0.02)
    assert np.isnan(found[1])
    assert found[2] == pytest.approx(0.02)


@given(_FAMILY)
def test_adjusted_lies_between_p_and_bonferroni(values: list[float]) -> None:
    p = np.array(values)
    found = holm(p)
    assert (found >= p).all()
    assert (found <= np.minimum(p * len(p), 1) * (1 + 1e-12)).all()


@given(_FAMILY)
def test_order_of_p_values_is_kept(values: list[float]) -> None:
    found = holm(np.array(values))
    assert (np.diff(found[np.argsort(values, kind="stable")]) >= 0).all()


@given(_P, st.floats(1e-4, 1.0), st.floats(2, 40))
def test_the_distance_has_just_the_p_value_that_the_correction_asks(
    p: list[float], error: float, freedom: float
) -> None:
    adjusted = holm(np.array(p))
    found = findable(np.full(len(p), error), np.full(len(p), freedom), adjusted)
    left = max(int(np.count_nonzero(adjusted >= _ALPHA)), 1)
    known = ~np.isnan(adjusted)
    assert np.isnan(found[~known]).all()
    assert np.allclose(2 * stdtr(freedom, -found[known] / error), _ALPHA / left)


@given(_P, st.floats(2, 40))
def test_what_was_not_found_is_nearer_than_what_would_have_been(
    p: list[float], freedom: float
) -> None:
    values = np.array(p)
    adjusted = holm(values)
    found = findable(np.ones(len(p)), np.full(len(p), freedom), adjusted)
    reach = 2 * stdtr(freedom, -found)
    assert not (values < reach * (1 - 1e-6))[adjusted >= _ALPHA].any()


def test_the_distance_is_larger_in_a_larger_family() -> None:
    alone, many = (findable(np.ones(size), np.full(size, 9.0), np.ones(size)) for size in (1, 300))
    assert many[0] > 1.5 * alone[0]


def _estimates(*centres: float, blocks: int = 8) -> Estimates:
    noise = np.random.default_rng(4).normal(0, 0.01, (len(centres), blocks))
    return estimate(Logs.without_rounds(noise + np.array(centres)[:, None]))


def test_each_family_is_corrected_on_its_own() -> None:
    rows = _estimates(0.02, 0.01, 0.03, 0.0)
    families = (Family.STEPS, Family.CONTROL, Family.STEPS, Family.CONTROL)
    (found,) = judge([rows], [families])
    assert found.adjusted[[0, 2]] == pytest.approx(holm(rows.p[[0, 2]]))
    assert found.adjusted[[1, 3]] == pytest.approx(holm(rows.p[[1, 3]]))


def test_a_family_may_be_in_several_tables() -> None:
    one, two = _estimates(0.02, 0.0), _estimates(0.01, 0.03, 0.0)
    first, second = judge([one, two], [[Family.CONTROL] * 2, [Family.CONTROL] * 3])
    together = holm(np.concatenate([one.p, two.p]))
    assert np.concatenate([first.adjusted, second.adjusted]) == pytest.approx(together)


def test_what_has_too_few_blocks_takes_no_part() -> None:
    many, few = _estimates(0.01, 0.02), _estimates(0.5, blocks=4)
    (alone,) = judge([many], [[Family.STEPS] * 2])
    beside, left_out = judge([many, few], [[Family.STEPS] * 2, [Family.STEPS]])
    assert beside.adjusted == pytest.approx(alone.adjusted)
    assert np.isnan(left_out.adjusted).all()
    assert np.isnan(left_out.findable).all()


def test_a_table_may_be_empty() -> None:
    rows = _estimates(0.02)
    found, none = judge([rows, _estimates()], [[Family.STEPS], []])
    assert found.adjusted == pytest.approx(rows.p)
    assert none.adjusted.size == 0
