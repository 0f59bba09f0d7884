"""Absolute figures, and the arithmetic mean of steps' ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.comparison import analyse
from dbhone.analysis.indirect import ONE_RUN, Links
from dbhone.analysis.levels import Average, Level, average_ratio, find_levels
from dbhone.measurement.metric import BYTES_READ, THROUGHPUT
from dbhone.measurement.sample_array import Array, SampleArray
from tests.analysis.blocks import analysed, noisy, samples, steps_of
from tests.analysis.columns import only, samples_of


def _one(of: SampleArray, subject: str, step: str = "0") -> Level:
    return next(each for each in find_levels(of) if (each.subject, each.step) == (subject, step))


@given(seed=st.integers(0, 1000), blocks=st.integers(3, 9))
def test_levels_of_few_blocks_have_exactly_the_effect_s_ratio(seed: int, blocks: int) -> None:
    of = samples(noisy(seed, (2, 1, blocks), (1.0, 1.1)))
    effect = analysed(of).effects[0]
    assert _one(of, "b").value / _one(of, "a").value == pytest.approx(effect.ratio)


def test_level_lies_in_its_interval_and_among_the_values() -> None:
    values = noisy(3, (1, 1, 20), (1.0,))
    level = _one(samples(values), "a")
    assert level.low is not None
    assert level.high is not None
    assert values.min() < level.low < level.value < level.high < values.max()
    assert level.blocks == 20


def test_levels_of_blocks_in_the_same_layouts_are_one_value() -> None:
    values = noisy(4, (1, 1, 6), (1.0,))
    once, often = _one(samples(values), "a"), np.tile(values, 5)
    again = _one(samples(often).in_layouts(6), "a")
    assert (again.low, again.high) == pytest.approx((once.low, once.high))
    assert again.blocks == 30


def test_two_blocks_have_no_interval() -> None:
    level = _one(samples(np.array([[[100.0, 400.0]]])), "a")
    assert level.value == pytest.approx(200.0)
    assert (level.low, level.high) == (None, None)


def test_where_zeros_are_it_is_the_median() -> None:
    of = samples(np.array([[[0.0, 8.0, 0.0, 4.0, 0.0]]]), metric=BYTES_READ)
    level = _one(of, "a")
    assert (level.value, level.low, level.blocks) == (0.0, None, 5)


def test_what_was_not_measured_has_no_level() -> None:
    values = np.full((2, 2, 3), np.nan)
    values[0, 0] = 1.0
    assert [(each.subject, each.step) for each in find_levels(samples(values))] == [("a", "0")]
    assert find_levels(samples(np.full((1, 1, 2), np.nan))) == ()


def test_values_that_cannot_be_are_left_out() -> None:
    level = _one(samples(np.array([[[100.0, np.inf, -1.0, 100.0]]])), "a")
    assert level.value == pytest.approx(100.0)
    assert level.blocks == 2


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


def _with_third(samples: SampleArray, name: str, values: Array) -> SampleArray:
    """Return the samples with the throughput of one more subject, steps x blocks."""
    return replace(
        samples,
        subjects=(*samples.subjects, name),
        values=np.concatenate([samples.values, values[None, :, None]]),
        within=np.full((3, *samples.within.shape[1:]), np.nan),
    )


def _average(
    samples: SampleArray,
    chosen: Sequence[str],
    *,
    subject: str = "new",
    controls: Sequence[str] = (),
    links: Links = ONE_RUN,
) -> Average | None:
    steps = steps_of(samples.steps)
    return average_ratio(
        samples, subject, "base", chosen, steps=steps, controls=controls, links=links
    )


def test_without_noise_it_is_the_mean_of_the_ratios() -> None:
    found = _average(_samples(1, spread=0.0), STEPS)
    assert found is not None
    assert (found.average, found.median) == pytest.approx((np.mean(TRUE), 1.0))
    assert (found.min, found.max) == pytest.approx((0.5, 3.0))
    assert found.stddev == pytest.approx(np.std(TRUE, ddof=1))
    assert (found.low, found.high) == pytest.approx((found.average, found.average))


def test_of_one_step_it_is_that_steps_effect() -> None:
    samples = _samples(2)
    analysis = analyse(
        samples,
        base="base",
        steps=steps_of(STEPS),
    )
    found = _average(samples, ["c"])
    effect = next(each for each in analysis.effects if each.step == "c")
    assert found is not None
    assert (found.average, found.low, found.high) == pytest.approx(
        (effect.ratio, effect.low, effect.high)
    )
    assert found.stddev is None


@pytest.mark.parametrize("control", [1.0, 1.5])
def test_it_is_of_the_ratios_that_effects_have(control: float) -> None:
    """A control halves the base's noise, unless it differs from the base."""
    own = _samples(5)
    rng = np.random.default_rng(6)
    values = control * 1000 * np.exp(rng.normal(0, 0.03, own.of(THROUGHPUT).shape[1:]))
    samples = _with_third(own, "control", values)
    analysis = analyse(samples, base="base", steps=steps_of(STEPS), controls=["control"])
    summary = analysis.summary("new", in_sample=False, metric=THROUGHPUT.name)
    found = _average(samples, STEPS, controls=["control"])
    assert found is not None
    assert summary is not None
    assert (found.average, found.stddev) == pytest.approx(
        (summary.mean, summary.standard_deviation)
    )
    alone = _average(samples, STEPS)
    assert alone is not None
    assert (found.average == pytest.approx(alone.average)) is (control > 1)


def test_runs_that_are_joined_are_compared_by_their_common_comparator() -> None:
    own = _samples(7)
    values = own.of(THROUGHPUT)[1] * 2
    values[:, :6] = np.nan
    samples = _with_third(own, "newest", values)
    samples.values[0, :, :, 6:] = np.nan
    links = Links(
        runs={"base": frozenset({0}), "new": frozenset({0, 1}), "newest": frozenset({1})},
        anchors={"newest": "new"},
    )
    analysis = analyse(samples, base="base", steps=steps_of(STEPS), links=links)
    found = _average(samples, ["c"], subject="newest", links=links)
    effect = next(it for it in analysis.effects if (it.subject, it.step) == ("newest", "c"))
    assert found is not None
    assert (found.average, found.low, found.high) == pytest.approx(
        (effect.ratio, effect.low, effect.high)
    )
    assert _average(samples, ["c"], subject="newest") is None


def test_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    runs = 400
    held = 0
    for seed in range(runs):
        found = _average(_samples(seed), STEPS)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += bool(found.low <= sum(TRUE) / len(TRUE) <= found.high)
    assert 0.92 <= held / runs <= 0.98


def test_few_blocks_have_no_interval() -> None:
    found = _average(_samples(3, blocks=2), STEPS)
    assert found is not None
    assert (found.low, found.high) == (None, None)


def test_what_was_not_measured_has_no_average() -> None:
    samples = _samples(4)
    assert _average(samples, STEPS, subject="gone") is None
    assert _average(samples, []) is None
    empty = only(samples)
    assert _average(empty, STEPS) is None
