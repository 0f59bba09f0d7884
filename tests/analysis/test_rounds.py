import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize

from dbhone.analysis.rounds import levels
from tests.analysis.blocks import Array

seeds = st.integers(0, 2**32 - 1)
shapes = st.tuples(st.integers(2, 12), st.integers(2, 5))


def _noisy(seed: int, shape: tuple[int, ...]) -> Array:
    rng = np.random.default_rng(seed)
    values: Array = 5 + rng.standard_t(2, shape) * 0.02 + rng.normal(0, 0.3, (*shape[:-1], 1))
    return values


def _gaps(seed: int, logs: Array) -> Array:
    missing = np.random.default_rng(seed).random(logs.shape) < 0.2
    return np.where(missing, np.nan, logs)


@given(seeds, shapes)
def test_a_subject_that_is_faster_throughout_is_found_faster_by_just_that(
    seed: int, shape: tuple[int, int]
) -> None:
    logs = _noisy(seed, shape)
    moved = logs.copy()
    moved[:, 1] += 0.3
    before, after = levels(logs), levels(moved)
    rise = (after - after[0]) - (before - before[0])
    assert rise == pytest.approx([0.0, 0.3, *[0.0] * (shape[1] - 2)], abs=1e-5)


@example(788, (3, 3))  # has more than one best fit
@given(seeds, shapes)
def test_what_a_round_is_like_for_all_changes_no_difference(
    seed: int, shape: tuple[int, int]
) -> None:
    logs = _noisy(seed, shape)
    drift = np.random.default_rng(seed + 1).normal(0, 1, (shape[0], 1))
    assert np.diff(levels(logs + drift)) == pytest.approx(np.diff(levels(logs)), abs=1e-5)


@given(seeds, shapes)
def test_the_order_of_subjects_and_rounds_does_not_matter(
    seed: int, shape: tuple[int, int]
) -> None:
    logs = _gaps(seed, _noisy(seed, shape))
    assert levels(logs[::-1, ::-1]) == pytest.approx(levels(logs)[::-1], abs=1e-4, nan_ok=True)


def test_without_noise_the_levels_are_exact() -> None:
    subjects, rounds = np.array([1.0, 1.5, 0.9]), np.array([0.3, 0.0, -0.1, 0.0, 5.0])
    assert levels(rounds[:, None] + subjects) == pytest.approx(subjects, abs=1e-6)


def test_one_slice_in_ten_that_stalls_hardly_moves_a_level() -> None:
    calm = np.random.default_rng(1).normal(0, 0.02, (30, 3))
    stalled = calm.copy()
    stalled[[2, 11, 25], 1] -= 3.0
    moved = np.diff(levels(stalled)) - np.diff(levels(calm))
    assert np.abs(moved).max() < 0.006
    assert np.abs(stalled.mean(axis=0) - calm.mean(axis=0)).max() > 0.2


def test_the_fit_is_that_of_huber() -> None:
    """A slow oracle: the loss written out, and a general minimiser."""
    logs = _noisy(7, (8, 3))
    differences = [logs[:, a] - logs[:, b] for a, b in [(0, 1), (0, 2), (1, 2)]]
    distances = [np.abs(each - np.median(each)) for each in differences]
    bend = 1.4826 * float(np.median(distances)) * math.sqrt(2 / 6)

    def loss(parameters: Array) -> float:
        residuals = np.abs(logs - parameters[:8, None] - np.append(0.0, parameters[8:]))
        far = 2 * bend * residuals - bend**2
        return float(np.sum(np.where(residuals <= bend, residuals**2, far)))

    start = np.append(logs.mean(axis=1), [0.0, 0.0])
    least = optimize.minimize(loss, start, tol=1e-14, options={"maxiter": 10_000})
    assert np.diff(levels(logs)) == pytest.approx(np.diff([0.0, *least.x[8:]]), abs=1e-5)


def test_missing_slices_leave_the_rest_to_tell() -> None:
    logs = _gaps(3, _noisy(3, (40, 3)))
    logs[:, 2] = np.nan
    found = levels(logs)
    assert np.isnan(found[2])
    assert found[:2] == pytest.approx(levels(logs[:, :2]), abs=1e-6)


def test_a_round_with_one_slice_says_nothing_of_differences() -> None:
    logs = _noisy(4, (10, 2))
    alone = np.vstack([logs, [[9.0, np.nan], [9.0, np.nan]]])
    assert np.diff(levels(alone)) == pytest.approx(np.diff(levels(logs)), abs=1e-6)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_nothing_measured_is_no_error(shape: tuple[int, int]) -> None:
    assert np.isnan(levels(np.empty(shape))).all()


def test_one_subject_has_the_median_of_its_slices() -> None:
    assert levels(np.array([[1.0], [5.0], [2.0]])) == pytest.approx([2.0])


def test_many_restarts_at_once_are_each_fitted_alone() -> None:
    logs = _gaps(5, _noisy(5, (4, 10, 3)))
    together = levels(logs)
    for restart, alone in enumerate(logs):
        assert together[restart] == pytest.approx(levels(alone), abs=1e-6)
