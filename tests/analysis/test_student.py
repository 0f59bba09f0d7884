"""Student's t distribution, beside SciPy's over all that the analysis asks of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from dbhone.analysis.student import both_tails, critical_value

FREEDOM = st.floats(0.3, 20_000)


@given(FREEDOM, st.floats(0, 60))
def test_tails_are_scipys(freedom: float, distance: float) -> None:
    assert both_tails(freedom, distance) == pytest.approx(2 * stdtr(freedom, -distance), rel=1e-9)


@given(FREEDOM, st.floats(1e-9, 0.999))
def test_reaches_are_scipys(freedom: float, risk: float) -> None:
    assert critical_value(freedom, risk) == pytest.approx(stdtrit(freedom, 1 - risk / 2), rel=1e-6)


@given(FREEDOM, st.floats(1e-12, 0.999))
def test_a_reach_has_just_its_risk(freedom: float, risk: float) -> None:
    assert both_tails(freedom, critical_value(freedom, risk)) == pytest.approx(risk, rel=1e-10)


@pytest.mark.parametrize("distance", [0.0, 1e-9, 0.5, 1.0, 3.0, 1e4, 1e8])
def test_one_degree_of_freedom_is_cauchys_distribution(distance: float) -> None:
    exact = 2 * math.atan2(1, distance) / math.pi
    assert both_tails(1, distance) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("distance", [0.0, 0.5, 2.0, 30.0, 1e4])
def test_two_degrees_of_freedom_have_a_closed_form(distance: float) -> None:
    root = math.sqrt(2 + distance**2)
    exact = 2 / (root * (root + distance))
    assert both_tails(2, distance) == pytest.approx(exact, rel=1e-12)


def test_tables_of_textbooks_hold() -> None:
    assert np.round(critical_value([1, 5, 10, 30, 120], 0.05), 3).tolist() == [
        *(12.706, 2.571, 2.228, 2.042, 1.98)
    ]


def test_what_is_infinitely_far_has_no_probability_and_what_is_unknown_stays_so() -> None:
    tails = both_tails([3.0, 3.0, float("nan"), 3.0], [float("inf"), 0.0, 1.0, float("nan")])
    assert tails[:2].tolist() == [0.0, 1.0]
    assert np.isnan(tails[2:]).all()
    assert np.isnan(both_tails(0, 1))


def test_shapes_are_kept() -> None:
    assert both_tails(np.full((2, 3), 4.0), 1.0).shape == (2, 3)
    assert critical_value(np.full((2, 1), 4.0), np.full(3, 0.05)).shape == (2, 3)
