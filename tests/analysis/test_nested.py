"""What differs between blocks, and what between their rounds."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.analysis.allocation import variance_components
from dbhone.measurement.sample_array import Array


def _blocks(
    count: int, rounds: int, *, between: float, within: float, subjects: int = 3
) -> list[Array]:
    """Make blocks whose levels and slices have these standard deviations."""
    rng = np.random.default_rng(7)
    drift = rng.normal(0, 0.2, (count, rounds, 1))
    luck = rng.normal(0, between, (count, 1, subjects))
    return list(8 + drift + luck + rng.normal(0, within, (count, rounds, subjects)))


def test_variances_between_blocks_and_within_are_told_apart() -> None:
    found = variance_components(_blocks(400, 20, between=0.03, within=0.05))
    assert found is not None
    # Of a ratio, which two subjects have a part in.
    assert found.between == pytest.approx(2 * 0.03**2, rel=0.15)
    assert found.within == pytest.approx(2 * 0.05**2, rel=0.15)
    assert found.error == pytest.approx((2 * 0.03**2 + 2 * 0.05**2 / 20) / 400, rel=0.15)


def test_rounds_alone_leave_nothing_between_blocks() -> None:
    found = variance_components(_blocks(400, 20, between=0.0, within=0.05))
    assert found is not None
    assert found.between < 0.1 * found.within / 20


def test_blocks_may_have_different_numbers_of_rounds() -> None:
    many = _blocks(200, 40, between=0.0, within=0.05)
    few = _blocks(200, 8, between=0.0, within=0.05)
    found = variance_components([*many, *few])
    assert found is not None
    assert found.within == pytest.approx(2 * 0.05**2, rel=0.15)


@pytest.mark.parametrize(
    "blocks",
    [
        _blocks(2, 20, between=0.0, within=0.05),
        _blocks(5, 3, between=0.0, within=0.05),
        _blocks(5, 20, between=0.0, within=0.05, subjects=1),
    ],
)
def test_too_little_tells_nothing(blocks: list[Array]) -> None:
    assert variance_components(blocks) is None


def test_a_block_without_slices_of_a_subject_is_passed_over() -> None:
    whole = _blocks(3, 20, between=0.0, within=0.05)
    broken = whole[0].copy()
    broken[:, 2] = np.nan
    assert variance_components([*whole, broken]) == variance_components(whole)
