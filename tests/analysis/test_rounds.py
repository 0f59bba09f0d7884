import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(seeds, shapes)
def test_the_order_of_subjects_and_rounds_does_not_matter(
    seed: int, shape: tuple[int, int]
) -> None:
    logs = _gaps(seed, _noisy(seed, shape))
    assert levels(logs[::-1, ::-1]) == pytest.approx(levels(logs)[::-1], abs=1e-4, nan_ok=True)


def test_without_noise_the_levels_are_exact() -> None:
    subjects, rounds = np.array([1.0, 1.5, 0.9]), np.array([0.3, 0.0, -0.1, 0.0, 5.0])
    assert np.diff(levels(rounds[:, None] + subjects)) == pytest.approx(np.diff(subjects))


def test_a_level_is_operations_by_seconds() -> None:
    rates = np.random.default_rng(1).gamma(4, 10, (30, 3))
    assert np.exp(levels(np.log(rates))) == pytest.approx(rates.sum(axis=0) / 30)


def test_a_server_that_stands_still_in_a_tenth_of_its_slices_is_slower_by_a_tenth() -> None:
    calm = np.random.default_rng(1).normal(0, 0.02, (30, 3))
    logs = calm.copy()
    logs[[2, 11, 25], 1] = -20.0
    moved = np.exp(levels(logs) - levels(calm))
    assert moved == pytest.approx([1.0, 0.9, 1.0], abs=0.005)


def test_missing_slices_leave_the_rest_to_tell() -> None:
    logs = _gaps(3, _noisy(3, (40, 3)))
    logs[:, 2] = np.nan
    found = levels(logs)
    assert np.isnan(found[2])
    assert found[:2] == pytest.approx(levels(logs[:, :2]))


def test_a_round_with_one_slice_says_nothing_of_differences() -> None:
    logs = _noisy(4, (10, 2))
    alone = np.vstack([logs, [[9.0, np.nan], [9.0, np.nan]]])
    assert np.diff(levels(alone)) == pytest.approx(np.diff(levels(logs)), abs=1e-6)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_nothing_measured_is_no_error(shape: tuple[int, int]) -> None:
    assert np.isnan(levels(np.empty(shape))).all()


def test_many_blocks_at_once_are_each_fitted_alone() -> None:
    logs = _gaps(5, _noisy(5, (4, 10, 3)))
    together = levels(logs)
    for block, alone in enumerate(logs):
        assert together[block] == pytest.approx(levels(alone), abs=1e-6)
