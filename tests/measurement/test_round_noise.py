"""What the rounds of a trial show of how exact its levels are."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from dbhone.measurement.round_noise import level_variances


@pytest.mark.parametrize("subjects", [2, 5])
def test_many_rounds_show_the_variance_of_a_level(subjects: int) -> None:
    logs = np.random.default_rng(1).normal(5, 0.02, (10_000, subjects))
    assert level_variances(logs) * 10_000 == pytest.approx(np.full(subjects, 0.02**2), rel=0.1)


def test_what_strikes_all_subjects_of_a_round_alike_is_no_noise_of_theirs() -> None:
    rng = np.random.default_rng(2)
    logs = rng.normal(5, 0.02, (20, 3))
    moved = logs + rng.normal(0, 1, (20, 1))
    assert level_variances(moved) == pytest.approx(level_variances(logs))


def test_many_trials_at_once_are_each_judged_alone() -> None:
    logs = np.random.default_rng(3).normal(5, 0.02, (4, 6, 20, 2))
    together = level_variances(logs)
    for place in np.ndindex(4, 6):
        assert together[place] == pytest.approx(level_variances(logs[place]))


@pytest.mark.parametrize("shape", [(1, 2), (20, 1), (0, 2)])
def test_one_round_or_one_subject_shows_nothing(shape: tuple[int, int]) -> None:
    assert np.isnan(level_variances(np.zeros(shape))).all()


def test_the_spread_is_the_biweight_midvariance_as_its_formula_is_written() -> None:
    values = [0.0, 0.01, -0.02, 0.03, 0.015, -0.5, 0.06]
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    above = below = 0.0
    for value in values:
        u = (value - middle) / (9 * deviation)
        if abs(u) < 1:
            above += (value - middle) ** 2 * (1 - u**2) ** 4
            below += (1 - u**2) * (1 - 5 * u**2)
    wanted = len(values) * above / below**2
    found = level_variances(np.array([values, [0.0] * len(values)]).T)
    # Of two subjects each has half of the variance of their difference.
    assert found * len(values) == pytest.approx(np.full(2, wanted / 2))


def test_a_server_that_stands_still_in_some_slices_is_not_taken_for_noisier() -> None:
    logs = np.random.default_rng(4).normal(5, 0.02, (20, 3))
    stalling = logs.copy()
    stalling[[3, 4, 11], 1] = -1.0
    assert level_variances(stalling) == pytest.approx(level_variances(logs), rel=0.5)


def test_slices_that_are_all_alike_have_no_noise() -> None:
    assert level_variances(np.full((20, 2), 5.0)).tolist() == [0.0, 0.0]
