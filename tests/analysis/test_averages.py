"""The arithmetic mean of steps' ratios: what it is, and how surely it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dbhone.analysis.comparison import analyse
from dbhone.analysis.indirect import ONE_RUN, Links
from dbhone.analysis.levels import Average, average_ratio
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.sample_array import Array, SampleArray
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
