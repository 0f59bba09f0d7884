"""Blocks that do not go with the others of their step are told, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.analysis.shape_warnings import odd_shapes
from dbhone.measurement.sample_array import Array
from tests.analysis.blocks import samples


def noise(blocks: int, *, seed: int = 1) -> Array:
    """Return two subjects' throughput on three steps: nothing but normal noise of 1 %."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(0.0, 0.01, (2, 3, blocks)))


def told(values: Array) -> dict[str, str]:
    return {each.code: each.text for each in odd_shapes("a", samples(values))}


@pytest.mark.parametrize("blocks", [1, 11, 12, 60])
def test_plain_noise_has_no_odd_shape(blocks: int) -> None:
    assert all(told(noise(blocks, seed=seed)) == {} for seed in range(20))


def test_a_block_far_from_the_others_is_told_with_its_step_and_both_ratios() -> None:
    values = noise(12)
    values[1, 2, 5] = values[0, 2, 5] / 2
    assert set(told(values)) == {"outliers"}
    text = told(values)["outliers"]
    assert text.startswith("1 of 36 ratios of blocks lies 10 spreads or more from the others")
    assert "b on 2: 0.5 times the base where 0.99" in text


def test_few_blocks_do_not_tell_what_is_far() -> None:
    values = noise(11)
    values[1, 2, 5] /= 2
    assert told(values) == {}


def test_starts_that_are_fast_or_slow_by_chance_are_told_as_two_humps() -> None:
    values = noise(20)
    values[1, 0, ::2] *= 0.8
    text = told(values)["two-humped"]
    assert text.startswith("the ratios of b on 0 are bimodal, 0.799 in 10")
    values[1, 1, ::3] *= 0.8
    assert "So do those of b on" in told(values)["two-humped"]


def test_equal_ratios_have_no_shape() -> None:
    assert told(np.ones((2, 1, 30))) == {}


def test_without_the_base_there_is_nothing_to_tell() -> None:
    assert list(odd_shapes("z", samples(noise(12)))) == []
