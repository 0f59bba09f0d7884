"""How much more has to be measured: for a verdict at all, and for the wanted precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dbhone.analysis.precision import blocks_needed, half_width, precision, typical
from dbhone.analysis.verdict import CLEAR, MINIMUM_BLOCKS, Analysis, Verdict, judged_summaries
from dbhone.measurement.record import Code, Run, StopReason, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.units import count_of, duration, exact_percent, listed

_PATIENCE = 8 * 3600.0
"""Seconds of measuring up to which it is useful to say how many blocks are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """What a run lacks if its noise stays as it is.

    ``verdict_blocks`` are the blocks after which every effect on throughput has a verdict, and
    every figure that a subject is judged by. Parts of steps do not count.
    ``target_blocks`` are those after which every effect is as precise as ``target``; None while
    there is no verdict, since so few blocks show too little of the noise. ``block_seconds`` is the
    time of a block, None if it is not known.
    """

    verdict_blocks: int
    target_blocks: int | None
    block_seconds: float | None

    def seconds(self, blocks: int | None) -> float | None:
        """Return how long this many blocks take, None if that is not known."""
        if blocks is None or self.block_seconds is None:
            return None
        return blocks * self.block_seconds

    @property
    def verdict_words(self) -> str:
        """What is lacking for a verdict, as the end of a sentence."""
        return f"{self._words(self.verdict_blocks)} would give one"

    def _words(self, blocks: int) -> str:
        seconds = self.seconds(blocks)
        time = "" if seconds is None else f" (about {duration(seconds)})"
        return f"{count_of(blocks, 'more block')}{time}"

    @property
    def target_words(self) -> str:
        """What is lacking for the target alone; empty while that is not known."""
        return self._words(self.target_blocks) if self.target_blocks else ""


def needs(run: Run, samples: SampleArray, analysis: Analysis) -> SampleSize:
    """Return how many blocks a run lacks; a broken subject needs none."""
    analysis = analysis.without(run.broken_subjects)
    missing = blocks_for_verdict(run, analysis, _fewest(analysis))
    target = None if missing else blocks_needed(analysis, run.design.target)
    return SampleSize(
        verdict_blocks=missing,
        target_blocks=target if _within_layouts(run, analysis, target) else None,
        block_seconds=samples.block_seconds,
    )


def _fewest(analysis: Analysis) -> int:
    """Return how many blocks have all of what is judged."""
    counts = [effect.blocks for effect in analysis.throughput_effects]
    counts += [score.blocks for score in judged_summaries(analysis)]
    return min(counts, default=analysis.blocks)


def blocks_for_verdict(run: Run, analysis: Analysis, blocks: int) -> int:
    """Return how many more blocks give a verdict to what has so many."""
    missing = max(MINIMUM_BLOCKS - blocks, 0)
    if not _within_layouts(run, analysis, missing):
        return run.layouts  # the layouts that lack come again within one turn of all
    return missing


def _within_layouts(run: Run, analysis: Analysis, further: int | None) -> bool:
    """Return whether so many blocks more have layouts that none had before them."""
    return not (further and run.layouts) or analysis.blocks + further <= run.layouts


def sample_size_warnings(run: Run, samples: SampleArray, analysis: Analysis) -> Iterator[Warning]:
    """Yield warnings of missing blocks, and of precision that was not reached."""
    analysis = analysis.without(run.broken_subjects)
    effects = analysis.throughput_effects
    size = needs(run, samples, analysis)
    if effects and run.design.max_blocks < MINIMUM_BLOCKS:
        yield Warning(
            code=Code.TOO_FEW_BLOCKS,
            text=f"the experiment allows {count_of(run.design.max_blocks, 'block')}, and a verdict"
            f" needs {MINIMUM_BLOCKS}: its figures are preliminary",
        )
        return
    if analysis.effects and analysis.blocks < MINIMUM_BLOCKS:
        whole = _fewest(analysis)
        yield Warning(
            code=Code.TOO_FEW_BLOCKS,
            text=f"only {whole} of the {MINIMUM_BLOCKS} blocks that a verdict needs"
            f" {'was' if whole == 1 else 'were'} measured whole: {size.verdict_words}",
        )
    else:
        yield from _without_verdict(analysis, size)
    yield from _imprecise(run, analysis, size)


def _without_verdict(analysis: Analysis, sample_size: SampleSize) -> Iterator[Warning]:
    """Yield a warning of steps that few blocks have, or else of few blocks that have all steps."""
    effects, scores = analysis.throughput_effects, judged_summaries(analysis)
    without = [effect for effect in effects if effect.verdict == Verdict.NOT_ENOUGH_DATA]
    apart = [score for score in scores if score.verdict == Verdict.NOT_ENOUGH_DATA]
    if without:
        names = list(dict.fromkeys(f"{effect.subject} on {effect.step}" for effect in without))
        text = (
            f"{len(without)} of {count_of(len(effects), 'effect')} on steps ({listed(names)})"
            f" have fewer than the {MINIMUM_BLOCKS} blocks that a verdict needs"
        )
    elif apart:
        text = (
            f"the steps of {listed([score.subject for score in apart])} have"
            f" {count_of(min(score.blocks for score in apart), 'block')} in common, fewer than"
            f" the {MINIMUM_BLOCKS} that a verdict on all of them needs"
        )
    else:
        return
    yield Warning(code=Code.NOT_ENOUGH_DATA, text=f"{text}: {sample_size.verdict_words}")


def _imprecise(run: Run, analysis: Analysis, sample_size: SampleSize) -> Iterator[Warning]:
    target = run.design.target
    if run.stopped_by == StopReason.CLEAR:
        yield Warning(
            code=Code.STOPPED_EARLY,
            text=f"measuring ended early, after {count_of(analysis.blocks, 'block')}, since every"
            f" candidate's summary was clear (p < {CLEAR:g}): its ratio is biased slightly"
            " upwards, and single steps are less precise than with the full budget",
        )
    too_early = run.stopped_by in (StopReason.BUDGET, StopReason.BLOCKS)
    if not too_early or precision(analysis) <= target:
        return
    widths = [half_width(effect) for effect in analysis.throughput_effects]
    if not widths:
        return
    wide = sum(width is None or width > target for width in widths)
    advice = _would_do(sample_size, run.design.max_blocks - analysis.blocks)
    of_budget = run.stopped_by == StopReason.BUDGET
    spent = "budget was spent" if of_budget else "number of blocks was reached"
    yield Warning(
        code=Code.TARGET_NOT_MET,
        text=f"the {spent} before the target: {wide} of {len(widths)} effects are known "
        f"less precisely than ±{exact_percent(target)}{_half(analysis)}{advice}",
    )


def _half(analysis: Analysis) -> str:
    """Return how well half of the effects are known."""
    usual = typical(analysis)
    return f", half of all to ±{usual:.1%} or better" if math.isfinite(usual) else ""


def _would_do(sample_size: SampleSize, left: int) -> str:
    """Return what would reach the target, or what to do where that takes too long.

    The experiment allows so many blocks that are ``left``.
    """
    if not sample_size.target_words:
        return ""
    if (sample_size.seconds(sample_size.target_blocks) or 0) <= _PATIENCE:
        limit = f"; the experiment allows {max(left, 0) or 'no'} more ([design] blocks)"
        too_many = (sample_size.target_blocks or 0) > left
        return f"; about {sample_size.target_words} would do{limit if too_many else ''}"
    return (
        "; reaching the target for all of them would take more than eight hours here: ask for a"
        " wider one ('--target'), or let each step last longer"
    )
