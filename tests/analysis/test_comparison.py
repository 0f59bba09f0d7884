import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbhone.analysis.comparison import analyse
from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import (
    Analysis,
    Direction,
    Effect,
    Summary,
    Verdict,
    direction_of,
    is_clear,
)
from dbhone.errors import HoneError
from dbhone.measurement.metric import CPU_SECONDS, INSTRUCTIONS, LATENCY_P95, THROUGHPUT
from dbhone.measurement.record import Group
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import Array, analysed, noisy, samples, steps_of
from tests.analysis.columns import columns, with_values

shapes = st.tuples(st.integers(2, 4), st.integers(1, 4), st.integers(1, 12))
seeds = st.integers(0, 2**32 - 1)


@st.composite
def tables(draw: st.DrawFn) -> Array:
    """Return throughputs of which some are missing."""
    shape = draw(shapes)
    values = noisy(draw(seeds), shape, tuple(1 + 0.1 * each for each in range(shape[0])))
    gaps = np.random.default_rng(draw(seeds)).random(shape) < draw(st.sampled_from([0, 0.1, 0.5]))
    values[gaps] = np.nan
    return values


def _only(analysis: Analysis, *, step: str = "0", subject: str = "b") -> Effect:
    return next(e for e in analysis.effects if (e.subject, e.step) == (subject, step))


def _numbers(found: Effect | Summary) -> list[float]:
    names = ("ratio", "low", "high", "blocks", "p_value", "p_adjusted")
    return [np.nan if getattr(found, n) is None else getattr(found, n) for n in names]


def _all(analysis: Analysis) -> list[Effect | Summary]:
    return [*analysis.effects, *analysis.summaries]


def _same(one: Analysis, other: Analysis) -> None:
    assert len(one.effects) == len(other.effects)
    for first, second in zip(_all(one), _all(other), strict=True):
        assert first.subject == second.subject
        assert first.verdict == second.verdict
        assert _numbers(first) == pytest.approx(_numbers(second), rel=1e-6, nan_ok=True)


def test_ratio_of_throughputs_is_told_with_its_interval() -> None:
    found = [_only(analysed(samples(noisy(seed, (2, 1, 20), (1, 1.1))))) for seed in range(40)]
    held = [each.low < 1.1 < each.high for each in found if each.low and each.high]
    assert len(held) == 40
    assert sum(held) >= 34
    assert np.mean([each.ratio for each in found]) == pytest.approx(1.1, rel=0.005)
    assert {each.verdict for each in found} == {Verdict.FASTER.value}
    assert {each.blocks for each in found} == {20}


def test_slower_is_slower() -> None:
    assert _only(analysed(samples(noisy(2, (2, 1, 12), (1, 0.8))))).verdict == Verdict.SLOWER


def test_level_of_a_block_does_not_matter() -> None:
    values = noisy(3, (3, 2, 10), (1, 1.05, 0.9))
    shaken = values * np.random.default_rng(3).uniform(0.2, 5, (1, 1, 10))
    _same(analysed(samples(values)), analysed(samples(shaken)))


@settings(max_examples=40)
@given(tables(), seeds)
def test_order_of_samples_does_not_matter(values: Array, seed: int) -> None:
    of = samples(values)
    shuffled = columns(of)
    order = np.random.default_rng(seed).permutation(len(shuffled.step))
    shuffled.subject = shuffled.subject[order]
    shuffled.step = shuffled.step[order]
    shuffled.block = shuffled.block[order]
    shuffled.values = {name: column[order] for name, column in shuffled.values.items()}
    _same(analysed(of), analysed(shuffled.array()))


@settings(max_examples=40)
@given(tables(), st.floats(1e-6, 1e6), st.integers(1, 10**6))
def test_unit_and_numbering_of_blocks_do_not_matter(
    values: Array, factor: float, first: int
) -> None:
    of = samples(values)
    other = columns(samples(values * factor))
    other.block = other.block + np.int32(first)
    _same(analysed(of), analysed(other.array()))


@settings(max_examples=40)
@given(tables())
def test_swapping_base_and_subject_inverts_the_effect(values: Array) -> None:
    of = samples(values[:2])
    forth, back = analysed(of, base="a"), analysed(of, base="b")
    opposite = {
        Verdict.FASTER.value: Verdict.SLOWER.value,
        Verdict.SLOWER.value: Verdict.FASTER.value,
    }
    for one, other in zip(forth.effects, back.effects, strict=True):
        assert one.ratio == pytest.approx(1 / other.ratio, rel=1e-9)
        assert (one.low is None) == (other.high is None)
        if one.low is not None and other.high is not None:
            assert one.low == pytest.approx(1 / other.high, rel=1e-9)
        assert other.verdict == opposite.get(one.verdict, one.verdict)


@settings(max_examples=60)
@given(tables())
def test_every_effect_is_in_order(values: Array) -> None:
    analysis = analysed(samples(values))
    for each in _all(analysis):
        assert each.ratio > 0
        assert (each.low is None) == (each.high is None) == (each.blocks < 3)
        if each.low is not None and each.high is not None:
            assert each.low <= each.ratio <= each.high
        for p in (each.p_value, each.p_adjusted):
            assert p is None or 0 < p <= 1
        assert (each.p_adjusted is None) == (each.verdict == Verdict.NOT_ENOUGH_DATA)
    for summary in analysis.summaries:
        assert summary.minimum <= summary.median <= summary.maximum
        assert summary.minimum <= summary.mean <= summary.maximum


@pytest.mark.parametrize(
    ("blocks", "interval", "verdict"),
    [(1, False, False), (2, False, False), (3, True, False), (5, True, False), (6, True, True)],
)
def test_verdict_needs_six_blocks_and_interval_three(
    blocks: int, interval: bool, verdict: bool
) -> None:
    found = _only(analysed(samples(noisy(5, (2, 1, blocks), (1, 2)))))
    assert (found.low is not None) is interval
    assert (found.verdict != Verdict.NOT_ENOUGH_DATA) is verdict


def test_less_of_another_metric_is_not_faster() -> None:
    values = noisy(6, (3, 1, 14), (1, 0.8, 1.25))
    cpu = analysed(samples(values, metric=CPU_SECONDS))
    assert [each.verdict for each in cpu.effects] == ["less", "more"]
    assert [direction_of(each) for each in cpu.effects] == [Direction.BETTER, Direction.WORSE]
    assert cpu.effects[0].ratio < 1
    instructions = analysed(samples(values, metric=INSTRUCTIONS))
    assert [each.verdict for each in instructions.effects] == ["fewer", "more"]


def test_metric_that_was_not_measured_yields_nothing() -> None:
    of = samples(noisy(7, (2, 1, 8), (1, 1)))
    none = np.full(len(columns(of).step), np.nan)
    of = with_values(of, **{INSTRUCTIONS.name: none})
    assert {each.metric for each in analysed(of).effects} == {"throughput"}


def test_families_are_corrected_apart() -> None:
    values = noisy(8, (2, 1, 14), (1, 1.1))
    alone = analysed(samples(values)).effects[0]
    many = np.concatenate([values, noisy(9, (2, 9, 14), (1, 1))], axis=1)
    of = samples(many)
    of = with_values(of, **{CPU_SECONDS.name: 1 / columns(of).values["throughput"]})
    among = _only(analysed(of))
    assert alone.p_adjusted == alone.p_value
    assert among.p_value == pytest.approx(alone.p_value)
    assert among.p_adjusted is not None
    assert among.p_value is not None
    assert among.p_adjusted == pytest.approx(10 * among.p_value)


@pytest.mark.parametrize(
    ("ratios", "blocks", "clear"),
    [
        ((1, 0.9, 1.1), 8, True),
        ((1, 0.9, 1.0), 8, False),
        ((1, 0.9, 1.1), 5, False),
    ],
)
def test_all_candidates_must_be_clear(ratios: tuple[float, ...], blocks: int, clear: bool) -> None:
    analysis = analysed(samples(noisy(1, (3, 4, blocks), ratios, spread=0.005)))
    assert is_clear(analysis, ("b", "c")) == clear
    assert not is_clear(analysis, ("b", "not measured"))
    assert not is_clear(analysis, ())


def test_a_loss_is_clear_only_where_it_is_clearly_more_or_less_than_is_tolerated() -> None:
    analysis = analysed(samples(noisy(1, (2, 4, 8), (1, 0.9), spread=0.005)))
    assert [is_clear(analysis, ("b",), loss) for loss in (0.05, 0.1, 0.15)] == [True, False, True]
    faster = analysed(samples(noisy(1, (2, 4, 8), (1, 1.1), spread=0.005)))
    assert is_clear(faster, ("b",), 0.05)


def test_the_summaries_that_judge_are_a_family_of_their_own() -> None:
    values = noisy(11, (4, 6, 14), (1, 1.02, 1, 1))
    in_sample = {str(step): step < 3 for step in range(6)}
    found = analysed(samples(values), in_sample=in_sample)
    judging = [each for each in found.summaries if each.group is None and not each.in_sample]
    others = [each for each in found.summaries if each not in judging]
    assert len(judging) == 3
    smallest = min(judging, key=lambda each: each.p_value or 1)
    assert smallest.p_adjusted == pytest.approx(3 * (smallest.p_value or 1))
    least = min(others, key=lambda each: each.p_value or 1)
    assert least.p_adjusted == pytest.approx(min(1, len(others) * (least.p_value or 1)))


def test_held_out_and_in_sample_are_never_one_figure() -> None:
    values = noisy(10, (2, 4, 12), (1, 1), spread=0.001)
    values[1, :2] *= 1.5
    in_sample = {"0": True, "1": True, "2": False, "3": False}
    found = analysed(samples(values), in_sample=in_sample)
    ratios = {(each.in_sample, each.group): each.ratio for each in found.summaries}
    assert ratios[True, None] == pytest.approx(1.5, rel=0.01)
    assert ratios[False, None] == pytest.approx(1.0, rel=0.01)
    assert set(ratios) == {
        *((part, group) for part in (True, False) for group in (None, Group.POINT))
    }


def test_summary_is_the_geometric_mean_and_tells_how_steps_lie() -> None:
    values = np.ones((2, 4, 8))
    values[1] = np.array([1.0, 1.1, 1.2, 2.0])[:, None]
    groups = {"0": Group.POINT, "1": Group.POINT, "2": Group.RANGE, "3": Group.WRITE}
    found = analysed(samples(values), groups=groups)
    whole = found.summary("b", in_sample=False, metric="throughput")
    assert whole is not None
    assert whole.ratio == pytest.approx((1.0 * 1.1 * 1.2 * 2.0) ** 0.25)
    assert (whole.steps, whole.blocks) == (4, 8)
    assert whole.mean == pytest.approx(1.325)
    assert whole.median == pytest.approx(1.15)
    assert [whole.minimum, whole.maximum] == pytest.approx([1.0, 2.0])
    assert whole.standard_deviation == pytest.approx(0.4573474244670749)
    point = found.summary("b", in_sample=False, group=Group.POINT, metric="throughput")
    assert point is not None
    assert point.ratio == pytest.approx(1.1**0.5)
    write = found.summary("b", in_sample=False, group=Group.WRITE, metric="throughput")
    assert write is not None
    assert write.standard_deviation is None


def test_interval_of_a_summary_is_over_blocks_not_over_steps() -> None:
    """Steps may differ as they like: only what varies from block to block is uncertain."""
    values = np.ones((2, 3, 8))
    values[1] = np.array([0.5, 1.0, 3.0])[:, None]
    whole = analysed(samples(values)).summary("b", in_sample=False, metric="throughput")
    assert whole is not None
    assert whole.low == pytest.approx(whole.ratio)


def test_block_that_lacks_a_step_does_not_shift_a_summary() -> None:
    values = np.ones((2, 2, 12))
    values[1] = np.array([1.0, 2.0])[:, None]
    values[1, 1, :4] = np.nan
    whole = analysed(samples(values)).summary("b", in_sample=False, metric="throughput")
    assert whole is not None
    assert whole.ratio == pytest.approx(2**0.5)
    assert whole.blocks == 8


def test_step_that_few_blocks_have_is_left_out_and_named() -> None:
    values = noisy(11, (2, 3, 12), (1, 1.2))
    values[1, 2, 3:] = np.nan
    found = analysed(samples(values))
    assert [(each.subject, each.step) for each in found.left_out] == [("b", "2")]
    whole = found.summary("b", in_sample=False, metric="throughput")
    assert whole is not None
    assert (whole.steps, whole.blocks) == (2, 12)


def test_values_without_a_ratio_are_counted_and_left_out() -> None:
    values = noisy(12, (2, 1, 12), (1, 1.2))
    values[1, 0, :2] = (0.0, np.inf)
    found = analysed(samples(values))
    assert found.unusable == 2
    assert found.effects[0].blocks == 10


def test_nothing_measured_is_an_empty_analysis() -> None:
    found = analysed(samples(np.full((2, 1, 1), np.nan)))
    assert (found.effects, found.summaries, found.blocks) == ((), (), 0)


def test_measuring_twice_in_a_block_is_an_error() -> None:
    of = samples(noisy(13, (2, 2, 6), (1, 1)))
    twice = columns(of)
    twice.block = np.where(twice.block == 5, 4, twice.block).astype(np.int32)
    with pytest.raises(HoneError, match="a has 2 measurements of 0 in block 4"):
        twice.array()


def test_base_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(HoneError, match="the base z is not among what was measured"):
        analysed(samples(noisy(14, (2, 1, 6), (1, 1))), base="z")


def test_step_that_the_run_does_not_have_is_an_error() -> None:
    of: SampleArray = samples(noisy(15, (2, 2, 6), (1, 1)))
    with pytest.raises(HoneError, match="the step 1 was measured but"):
        analyse(of, base="a", steps=steps_of(["0"]))


@pytest.mark.parametrize("blocks", [6, 10, 16])
def test_a_control_is_seldom_taken_for_a_difference(blocks: int) -> None:
    """Of 200 A/A runs of 60 comparisons at most one in twenty may raise any alarm.

    16 is what 5 % of 200 yields or less in 98 of 100 tries, if the method is honest.
    """
    alarms = 0
    for seed in range(200):
        found = analysed(samples(noisy(seed, (4, 20, blocks), (1, 1, 1, 1))))
        alarms += any(
            direction_of(each) in (Direction.BETTER, Direction.WORSE) for each in found.effects
        )
    assert alarms <= 16


def test_latency_is_better_when_it_is_shorter() -> None:
    of = samples(noisy(5, (3, 4, 12), (1.0, 0.8, 1.25)), metric=LATENCY_P95)
    verdicts = {
        each.subject: {e.verdict for e in analysed(of).effects if e.subject == each.subject}
        for each in analysed(of).effects
    }
    assert verdicts == {"b": {"shorter"}, "c": {"longer"}}


def test_other_metrics_do_not_make_the_throughput_s_family_larger() -> None:
    rates = samples(noisy(6, (3, 4, 12), (1.0, 1.05, 1.0)))
    times = samples(noisy(7, (3, 4, 12), (1.0, 1.0, 1.0)), metric=LATENCY_P95)
    both = with_values(rates, **columns(times).values)
    alone = [each for each in analysed(rates).effects if each.metric == THROUGHPUT.name]
    beside = [each for each in analysed(both).effects if each.metric == THROUGHPUT.name]
    assert alone == beside


def test_other_metrics_do_not_make_the_family_of_cpu_time_larger() -> None:
    costs = samples(noisy(6, (3, 4, 12), (1.0, 1.05, 1.0)), metric=CPU_SECONDS)
    times = samples(noisy(7, (3, 4, 12), (1.0, 1.0, 1.0)), metric=LATENCY_P95)
    both = with_values(costs, **columns(times).values)
    alone = [effect for effect in analysed(costs).effects if effect.metric == CPU_SECONDS.name]
    beside = [effect for effect in analysed(both).effects if effect.metric == CPU_SECONDS.name]
    assert alone == beside


def test_groups_with_aggregates_have_a_summary_of_their_own() -> None:
    groups = {"0": Group.AGGREGATE, "1": Group.AGGREGATE, "2": Group.RANGE}
    found = analysed(samples(noisy(8, (2, 3, 8), (1.0, 1.1))), groups=groups)
    assert {each.group: each.steps for each in found.summaries} == {
        None: 3,
        Group.AGGREGATE: 2,
        Group.RANGE: 1,
    }


def test_a_control_takes_no_part_in_what_the_candidates_are_asked() -> None:
    values = noisy(21, (4, 20, 12), (1.0, 1.0, 1.04, 1.0))
    values[3] = values[0]
    alone = analysed(samples(np.delete(values, 3, axis=0)))
    beside = analysed(samples(values), controls=["d"])
    kept = [each for each in beside.effects if each.subject != "d"]
    assert [each.p_adjusted for each in kept] == [each.p_adjusted for each in alone.effects]


def test_the_control_is_a_second_base_for_everybody_else() -> None:
    rng = np.random.default_rng(22)
    values = np.exp(rng.normal(0, 0.02, (3, 400, 10)))
    values[2] *= 1.1
    alone = analysed(samples(values[[0, 2]]))
    beside = analysed(samples(values), controls=["b"])
    halves = [
        np.median([half_width(each) for each in found.effects if each.subject != control])
        for found, control in ((alone, ""), (beside, "b"))
    ]
    assert halves[1] / halves[0] == pytest.approx(math.sqrt(1.5 / 2), abs=0.03)
    ratios = np.exp(np.log(values[2]) - np.log(values[:2]).mean(axis=0))
    effect = next(each for each in beside.effects if each.subject == "c" and each.step == "0")
    assert effect.ratio == pytest.approx(float(np.exp(np.log(ratios[0]).mean())))


def test_a_block_without_the_control_is_compared_with_the_base_alone() -> None:
    values = np.ones((3, 1, 8))
    values[2] = 1.1
    values[1, 0, 3:] = np.nan
    effect = next(
        each for each in analysed(samples(values), controls=["b"]).effects if each.subject == "c"
    )
    assert effect.blocks == 8
    assert effect.ratio == pytest.approx(1.1)


@pytest.mark.parametrize("blocks", [6, 12])
def test_a_control_seldom_differs_in_any_figure(blocks: int) -> None:
    """Of 200 A/A runs at most one in twenty may have a control that differs in any figure.

    16 is what 5 % of 200 yields or less in 98 of 100 tries, if the method is honest.
    """
    groups = {str(step): tuple(Group)[step % len(Group)] for step in range(20)}
    alarms = 0
    for seed in range(200):
        of = samples(noisy(seed, (2, 20, blocks), (1, 1)))
        found = analysed(of, groups=groups, controls=["b"])
        figures: list[Effect | Summary] = [*found.effects, *found.summaries]
        alarms += any(direction_of(each) in (Direction.BETTER, Direction.WORSE) for each in figures)
    assert alarms <= 16
