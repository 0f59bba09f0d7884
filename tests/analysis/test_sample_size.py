from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbhone.analysis.comparison import analyse
from dbhone.analysis.sample_size import SampleSize, needs, sample_size_warnings
from dbhone.measurement.record import Run, Warning
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import analysed, noisy, samples, steps_of
from tests.report.sample_run import a_run


def _told(of: SampleArray, run: Run | None = None) -> dict[str, Warning]:
    return {each.code: each for each in sample_size_warnings(run or a_run(), of, analysed(of))}


def _needs(of: SampleArray) -> SampleSize:
    return needs(a_run(), of, analysed(of))


@settings(max_examples=25)
@given(st.integers(1, 30))
def test_a_verdict_needs_what_is_missing_of_six_blocks(blocks: int) -> None:
    found = _needs(samples(noisy(1, (2, 2, blocks), (1, 1))))
    assert found.verdict_blocks == max(6 - blocks, 0)
    assert (found.target_blocks is None) == (blocks < 6)
    assert found.seconds(found.target_blocks) is None


@settings(max_examples=25)
@given(st.integers(0, 1000), st.floats(0.1, 1e4))
def test_time_is_that_of_as_many_blocks(blocks: int, seconds: float) -> None:
    found = SampleSize(verdict_blocks=blocks, target_blocks=None, block_seconds=seconds)
    assert found.seconds(blocks) == pytest.approx(blocks * seconds)
    assert found.seconds(None) is None


def test_too_few_blocks_say_how_long_more_would_take() -> None:
    few = replace(samples(noisy(2, (2, 1, 4), (1, 1), spread=1e-4)), block_seconds=15.0)
    assert _told(few)["too-few-blocks"].text == (
        "only 4 of the 6 blocks that a verdict needs were measured whole: "
        "2 more blocks (about 30.0 s) would give one"
    )


def test_a_target_that_was_missed_says_how_much_more_would_do() -> None:
    wide = replace(samples(noisy(3, (2, 1, 12), (1, 1), spread=0.1)), block_seconds=10.0)
    ample = replace(a_run(), design=replace(a_run().design, max_blocks=10_000))
    missed = _told(wide, ample)["target-not-met"].text
    more = _needs(wide).target_blocks
    assert more
    assert f"about {more} more blocks (about " in missed
    assert missed.endswith("would do")
    allowed = replace(ample, design=replace(ample.design, max_blocks=12 + more - 1))
    missed = _told(wide, allowed)["target-not-met"].text
    assert missed.endswith(f"would do; the experiment allows {more - 1} more ([design] blocks)")


def _in_layouts(layouts: int) -> Run:
    run = a_run()
    subjects = tuple(replace(each, inputs={"layouts": layouts}) for each in run.subjects)
    experiment = f"{run.experiment}\n[design]\nlayouts = {layouts}\n"
    return replace(run, subjects=subjects, experiment=experiment)


@pytest.mark.parametrize(("layouts", "known"), [(0, True), (1000, True), (12, False)])
def test_no_number_of_blocks_is_told_that_would_take_the_same_layouts_again(
    layouts: int, known: bool
) -> None:
    wide = samples(noisy(3, (2, 1, 12), (1, 1), spread=0.02)).in_layouts(layouts)
    found = needs(_in_layouts(layouts), wide, analysed(wide))
    assert (found.target_blocks is not None) == known


def test_a_verdict_in_layouts_needs_those_that_lack_to_come_again() -> None:
    values = noisy(3, (2, 1, 6), (1, 1), spread=0.02)
    values[1, 0, 3] = np.nan
    six = samples(values).in_layouts(6)
    assert needs(_in_layouts(6), six, analysed(six)).verdict_blocks == 6
    assert needs(_in_layouts(0), six, analysed(six)).verdict_blocks == 1


def test_blocks_that_were_measured_whole_are_counted_in_layouts_too() -> None:
    values = noisy(3, (2, 1, 5), (1, 1), spread=0.02)
    values[1, 0, 3] = np.nan
    told = _told(samples(values).in_layouts(6), _in_layouts(6))
    assert told["too-few-blocks"].text == (
        "only 4 of the 6 blocks that a verdict needs were measured whole:"
        " 6 more blocks would give one"
    )


def test_a_target_that_nobody_waits_for_says_what_to_do_instead() -> None:
    wide = replace(samples(noisy(3, (2, 1, 12), (1, 1), spread=0.1)), block_seconds=1e6)
    missed = _told(wide)["target-not-met"].text
    assert missed.endswith(
        "would take more than eight hours here: ask for a wider one ('--target'), or let each step"
        " last longer"
    )


def test_a_run_that_was_clear_early_says_so_and_misses_no_target() -> None:
    wide = samples(noisy(3, (2, 1, 8), (1, 0.7), spread=0.1))
    told = _told(wide, a_run(stopped_by="clear"))
    assert "measuring ended early, after 8 blocks" in told["stopped-early"].text
    assert "target-not-met" not in told


def test_single_effects_without_a_verdict_are_named() -> None:
    values = noisy(4, (2, 3, 12), (1, 1))
    values[1, 2, 5:] = np.nan
    found = _told(samples(values))["not-enough-data"]
    assert found.text.startswith("1 of 3 effects on steps (b on 2) have fewer than the 6 blocks")
    assert "1 more block would give one" in found.text


def test_steps_that_have_few_blocks_in_common_lack_a_verdict_on_all_together() -> None:
    values = noisy(7, (2, 2, 12), (1, 1))
    values[1, 0, :4] = values[1, 1, 8:] = np.nan
    of = samples(values)
    assert _needs(of).verdict_blocks == 2
    assert _told(of)["not-enough-data"].text == (
        "the steps of b have 4 blocks in common, fewer than the 6 that a verdict on all of them"
        " needs: 2 more blocks would give one"
    )


def test_a_part_that_few_blocks_have_lacks_nothing() -> None:
    values = noisy(8, (2, 3, 15), (1, 1), spread=1e-4)
    values[1, 2, 2:] = np.nan
    of = replace(samples(values), steps=("0", "1", "1/rare"))
    (rare,) = (replace(step, set="1", key="rare") for step in steps_of(("1",)))
    analysis = analyse(of, base="a", steps=(*steps_of(("0", "1")), rare))
    assert [effect.verdict for effect in analysis.throughput_parts] == ["not enough data"]
    found = needs(a_run(), of, analysis)
    assert (found.verdict_blocks, found.target_blocks) == (0, 0)
    assert not list(sample_size_warnings(a_run(), of, analysis))


def test_a_whole_run_lacks_nothing() -> None:
    assert not _told(samples(noisy(5, (2, 2, 20), (1, 1), spread=1e-4)))


def test_a_subject_that_broke_needs_nothing() -> None:
    values = noisy(6, (3, 2, 20), (1, 1, 1), spread=1e-4)
    values[1, :, 2:] = np.nan
    run = a_run()
    _, other, *_ = run.subjects
    broke = (replace(other, name="b", broken="it crashed"),)
    assert {"not-enough-data", "target-not-met"} <= set(_told(samples(values), run))
    assert not _told(samples(values), replace(run, subjects=broke))
