"""What the rounds of a trial show of how exact its levels are."""

from __future__ import annotations

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
