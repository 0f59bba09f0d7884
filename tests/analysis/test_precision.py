import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbhone.analysis.precision import blocks_needed, precision
from dbhone.measurement.metric import CPU_SECONDS
from tests.analysis.blocks import analysed, noisy, samples


def test_precision_is_that_of_the_widest_interval() -> None:
    values = noisy(1, (2, 2, 12), (1, 1.1), spread=0.001)
    values[:, 1] *= np.random.default_rng(1).lognormal(0, 0.1, (2, 12))
    found = analysed(samples(values))
    wide = found.effects[1]
    assert wide.low is not None
    assert wide.high is not None
    assert precision(found) == pytest.approx(wide.high / wide.ratio - 1)
    assert precision(found) > 0.02


def test_precision_is_unknown_until_every_effect_has_an_interval() -> None:
    values = noisy(2, (2, 2, 12), (1, 1))
    values[1, 1, 2:] = np.nan
    found = analysed(samples(values))
    assert precision(found) == math.inf
    assert blocks_needed(found, 0.02) is None


def test_precision_without_throughput_is_unknown() -> None:
    found = analysed(samples(noisy(3, (2, 1, 12), (1, 1)), metric=CPU_SECONDS))
    assert precision(found) == math.inf
    assert blocks_needed(found, 0.02) is None


def test_nothing_more_is_needed_when_the_target_is_met() -> None:
    found = analysed(samples(noisy(4, (2, 1, 12), (1, 1))))
    assert blocks_needed(found, 2 * precision(found)) == 0


def test_nothing_is_told_before_there_are_verdicts_however_precise() -> None:
    found = analysed(samples(noisy(5, (2, 1, 5), (1, 1), spread=1e-6)))
    assert blocks_needed(found, 0.5) is None


def test_what_would_take_for_ever_has_no_number() -> None:
    found = analysed(samples(noisy(5, (2, 1, 12), (1, 1), spread=0.1)))
    assert blocks_needed(found, 1e-6) is None


@settings(max_examples=25)
@given(st.integers(6, 30), st.floats(0.001, 0.05), st.floats(1.05, 3))
def test_a_finer_target_needs_more_blocks(blocks: int, target: float, factor: float) -> None:
    found = analysed(samples(noisy(6, (2, 2, blocks), (1, 1))))
    coarse, fine = blocks_needed(found, target * factor), blocks_needed(found, target)
    assert coarse is not None
    assert fine is not None
    assert fine >= coarse


def test_estimate_of_blocks_is_about_right() -> None:
    spread, target = 0.03, 0.01
    few = analysed(samples(noisy(7, (2, 1, 100), (1, 1), spread=spread)))
    needed = blocks_needed(few, target)
    assert needed is not None
    assert 0 < needed < 1000
    many = analysed(samples(noisy(8, (2, 1, 100 + needed), (1, 1), spread=spread)))
    assert precision(many) == pytest.approx(target, rel=0.5)
