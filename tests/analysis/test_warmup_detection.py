"""Which rounds at the beginning are left out: those that have not settled, and few others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.rounds import unsettled, usual_unsettled
from dbhone.measurement.sample_array import Array


def noise(rounds: int, subjects: int = 2, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(9.0, 0.02, (rounds, subjects))


@pytest.mark.parametrize("slow", [1, 2, 5])
def test_rounds_that_are_slower_than_all_later_ones_are_left_out(slow: int) -> None:
    logs = noise(20)
    logs[:slow] -= np.linspace(0.5, 0.2, slow)[:, None]
    assert unsettled(logs) == slow


def test_one_subject_that_has_not_settled_is_enough_for_all() -> None:
    logs = noise(20, subjects=4)
    logs[0, 2] -= 0.3
    assert unsettled(logs) == 1


def test_at_most_a_third_is_left_out() -> None:
    logs = noise(20)
    logs[:8] -= 0.5
    assert unsettled(logs) == 6


def test_nothing_is_left_out_where_too_few_rounds_would_tell() -> None:
    logs = noise(6)
    logs[0] -= 1.0
    assert unsettled(logs) == 0
    assert unsettled(noise(0)) == 0


def test_a_burst_later_on_is_no_warm_up() -> None:
    logs = noise(20)
    logs[7:10] -= 0.5
    assert unsettled(logs) == 0


def test_settled_rounds_of_normal_noise_are_left_out_once_in_a_hundred_passes() -> None:
    left = [unsettled(noise(24, 2, seed)) > 0 for seed in range(1000)]
    assert np.mean(left) < 0.02


@given(st.integers(0, 2**32 - 1), st.permutations(range(3)), st.floats(-3, 3))
def test_neither_names_nor_units_nor_the_size_of_an_effect_matter(
    seed: int, order: list[int], effect: float
) -> None:
    logs = np.random.default_rng(seed).standard_t(2, (15, 3))
    moved = logs[:, order] + np.array([0.0, effect, 1.0])
    # A sum is rounded: what lies just at the limit may fall to either side.
    assert unsettled(np.round(moved, 9)) == unsettled(np.round(logs[:, order], 9))


def test_a_subject_that_is_missing_says_nothing() -> None:
    logs = noise(20)
    logs[0, 0] -= 1.0
    logs[5:, 0] = np.nan
    assert unsettled(logs) == 0


def test_many_trials_at_once_are_each_judged_alone() -> None:
    logs = np.random.default_rng(1).standard_t(2, (5, 6, 20, 2))
    together = unsettled(logs)
    assert together.any()
    for place in np.ndindex(5, 6):
        assert together[place] == unsettled(logs[place])


def test_a_stall_that_comes_first_in_one_trial_is_no_warm_up() -> None:
    assert usual_unsettled(np.array([0, 0, 3])) == 0
    assert usual_unsettled(np.array([2, 0])) == 0


def test_what_settles_in_most_trials_is_left_out_of_all() -> None:
    assert usual_unsettled(np.array([2])) == 2
    assert usual_unsettled(np.array([2, 3, 0])) == 2
    assert usual_unsettled(np.array([[2, 0], [3, 0], [0, 1]])).tolist() == [2, 0]
