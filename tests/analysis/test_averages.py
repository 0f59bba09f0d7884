"""The arithmetic mean of steps' ratios: what it is, and how surely it is known."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.analysis.comparison import analyse
from dbhone.analysis.levels import average_ratio
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import steps_of
from tests.analysis.columns import only, samples_of

TRUE = (0.5, 1.0, 3.0)
STEPS = ("a", "b", "c")


def _samples(seed: int, *, blocks: int = 12, spread: float = 0.03) -> SampleArray:
    """Return a base and a subject whose true ratios are TRUE, with noise for each slice."""
    rng = np.random.default_rng(seed)
    subject, step, block = (
        each.ravel() for each in np.meshgrid([0, 1], [0, 1, 2], range(blocks), indexing="ij")
    )
    ratio = np.where(subject == 1, np.array(TRUE)[step], 1.0)
    values = 1000 * ratio * np.exp(rng.normal(0, spread, len(subject)))
    return samples_of(("base", "new"), STEPS, (subject, step, block), {THROUGHPUT.name: values})


def test_without_noise_it_is_the_mean_of_the_ratios() -> None:
    found = average_ratio(_samples(1, spread=0.0), "new", "base", STEPS)
    assert found is not None
    assert (found.mean, found.median) == pytest.approx((np.mean(TRUE), 1.0))
    assert (found.minimum, found.maximum) == pytest.approx((0.5, 3.0))
    assert found.deviation == pytest.approx(np.std(TRUE, ddof=1))
    assert (found.low, found.high) == pytest.approx((found.mean, found.mean))


def test_of_one_step_it_is_that_steps_effect() -> None:
    samples = _samples(2)
    analysis = analyse(
        samples,
        base="base",
        steps=steps_of(STEPS),
    )
    found = average_ratio(samples, "new", "base", ["c"])
    effect = next(each for each in analysis.effects if each.step == "c")
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx(
        (effect.ratio, effect.low, effect.high)
    )
    assert found.deviation is None


def test_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    runs = 400
    held = 0
    for seed in range(runs):
        found = average_ratio(_samples(seed), "new", "base", STEPS)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += bool(found.low <= sum(TRUE) / len(TRUE) <= found.high)
    assert 0.92 <= held / runs <= 0.98


def test_few_blocks_have_no_interval() -> None:
    found = average_ratio(_samples(3, blocks=2), "new", "base", STEPS)
    assert found is not None
    assert (found.low, found.high) == (None, None)


def test_what_was_not_measured_has_no_average() -> None:
    samples = _samples(4)
    assert average_ratio(samples, "gone", "base", STEPS) is None
    assert average_ratio(samples, "new", "base", []) is None
    empty = only(samples)
    assert average_ratio(empty, "new", "base", STEPS) is None
