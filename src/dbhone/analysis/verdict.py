"""What a comparison says: effects, summaries, verdicts, and the winner."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from dbhone.measurement.metric import BY_NAME, CPU_SECONDS, THROUGHPUT, Better
from dbhone.measurement.record import Group, Role, Subject

MINIMUM_BLOCKS = 6
"""With fewer blocks there is no verdict: an interval would hang on one or two of them."""


CLEAR = 0.001
"""The p value below which a summary is clear. To look after every block, and to stop at a p value
as small as this, leaves the 5 % of the last look as they are, for all practical purposes (J. L.
Haybittle, British Journal of Radiology 44 (1971) 793-797; R. Peto and others, British Journal of
Cancer 34 (1976) 585-612). ``benchmarks/early_stop.py`` shows what it costs and brings."""


class Verdict(StrEnum):
    """The verdicts on throughput.

    A verdict on another metric is one of the last two, or that metric's own word for a
    better or a worse subject (``Metric.gain``, ``Metric.loss``): a build that needs fewer
    instructions is not thereby faster.
    """

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference found"
    NOT_ENOUGH_DATA = "not enough data"


class Direction(StrEnum):
    """Which way a verdict points, whatever the metric's word for it."""

    BETTER = "better"
    WORSE = "worse"
    LIKELY_BETTER = "likely-better"
    LIKELY_WORSE = "likely-worse"
    SAME = "same"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One subject beside the base: the ratio of a metric to the base's, and the verdict.

    ``low`` to ``high`` is the interval of the ratio, None with fewer than 3 blocks; of ``blocks``
    in the same layouts only one is counted. ``p_value`` tests that the ratio is 1; ``p_adjusted``
    is corrected for all comparisons of the same kind in the run, None where there is no verdict.
    ``findable`` is the smallest difference, as a fraction, that would have been found; None unless
    none was.
    """

    subject: str
    group: Group | None
    in_sample: bool
    metric: str
    ratio: float
    low: float | None
    high: float | None
    blocks: int
    p_value: float | None
    p_adjusted: float | None
    verdict: str
    findable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(Comparison):
    """A comparison on one step.

    The step is a ``part`` if another one has it as one of its kinds of statements.
    """

    step: str
    part: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Comparison):
    """A comparison over the steps of a group (all groups if None), in-sample or held-out.

    ``ratio`` is a geometric mean over the steps and ``low`` to ``high`` its interval over the
    blocks. ``mean`` to ``standard_deviation`` describe how the steps' own ratios lie; the
    last is None for a single step. ``blocks`` are those in which all ``steps`` were measured.
    """

    steps: int
    mean: float
    median: float
    minimum: float
    maximum: float
    standard_deviation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A step without which a subject's summaries of a metric are made: too few blocks have it."""

    metric: str
    subject: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All effects, summaries and verdicts of a run's samples.

    ``unusable`` counts measurements that were zero, negative or infinite and so have no ratio;
    ``blocks`` counts the blocks in which the base was measured. Subjects are ``judged_in_sample``
    where nothing that is held out was compared.
    """

    base: str
    blocks: int
    judged_in_sample: bool
    effects: tuple[Effect, ...]
    summaries: tuple[Summary, ...]
    left_out: tuple[LeftOut, ...]
    unusable: int

    @property
    def throughput_effects(self) -> tuple[Effect, ...]:
        """The effects on steps, in the metric by which subjects are judged: what is counted."""
        return tuple(effect for effect in self._throughput if not effect.part)

    @property
    def throughput_parts(self) -> tuple[Effect, ...]:
        """The effects on parts of these steps, which no summary counts."""
        return tuple(effect for effect in self._throughput if effect.part)

    @property
    def throughput_effects_with_parts(self) -> tuple[Effect, ...]:
        """The effects on steps, then those on their parts: what a table lists."""
        return self.throughput_effects + self.throughput_parts

    @property
    def _throughput(self) -> Iterator[Effect]:
        return (effect for effect in self.effects if effect.metric == THROUGHPUT.name)

    @property
    def throughput_summaries(self) -> tuple[Summary, ...]:
        """The summaries of the metric by which subjects are judged."""
        return tuple(summary for summary in self.summaries if summary.metric == THROUGHPUT.name)

    def without(self, subjects: Collection[str]) -> Analysis:
        """Return the analysis without these subjects."""
        return replace(
            self,
            effects=tuple(effect for effect in self.effects if effect.subject not in subjects),
            summaries=tuple(
                summary for summary in self.summaries if summary.subject not in subjects
            ),
            left_out=tuple(step for step in self.left_out if step.subject not in subjects),
        )

    def judged(self, subject: str) -> tuple[Effect | Summary, ...]:
        """Return a subject's summaries and effects of throughput that have a verdict."""
        judged: tuple[Effect | Summary, ...] = (
            *self.throughput_summaries,
            *self.throughput_effects_with_parts,
        )
        return tuple(
            effect
            for effect in judged
            if effect.subject == subject and direction_of(effect) is not Direction.UNKNOWN
        )

    def summary(
        self, subject: str, *, in_sample: bool, group: Group | None = None, metric: str
    ) -> Summary | None:
        """Return the summary with these properties, None if there is none."""
        key = (subject, in_sample, group, metric)
        return next(
            (
                summary
                for summary in self.summaries
                if (summary.subject, summary.in_sample, summary.group, summary.metric) == key
            ),
            None,
        )


def direction_of(effect: Comparison) -> Direction:
    """Return which way the verdict points.

    An effect whose own interval misses 1, but not by enough for one of so many comparisons, is
    likely: by itself it would have been told to differ.
    """
    metric = BY_NAME[effect.metric]
    words = {
        metric.gain: Direction.BETTER,
        metric.loss: Direction.WORSE,
        Verdict.NO_DIFFERENCE.value: Direction.SAME,
    }
    direction = words.get(effect.verdict, Direction.UNKNOWN)
    if direction is not Direction.SAME or effect.low is None or effect.high is None:
        return direction
    if effect.low <= 1 <= effect.high:
        return direction
    better = (effect.low > 1) == (metric.better is Better.HIGHER)
    return Direction.LIKELY_BETTER if better else Direction.LIKELY_WORSE


def likely(effect: Comparison) -> str | None:
    """Return the metric's word for what an effect likely is, None if it is certain or unknown."""
    metric = BY_NAME[effect.metric]
    words = {Direction.LIKELY_BETTER: metric.gain, Direction.LIKELY_WORSE: metric.loss}
    return words.get(direction_of(effect))


def differs(effect: Comparison) -> bool:
    """Return whether the verdict is that there is a difference."""
    return direction_of(effect) in (Direction.BETTER, Direction.WORSE)


def most_different(
    analysis: Analysis, controls: Collection[str], *, subject: str | None = None
) -> Effect | None:
    """Return the largest effect on throughput, None if there is none: one that is certain first.

    Parts of a set are executed with it, and a control's effects are noise.
    """
    effects = (
        effect
        for effect in analysis.throughput_effects
        if effect.subject not in controls and subject in (None, effect.subject)
    )
    return max(
        effects, key=lambda effect: (differs(effect), abs(math.log(effect.ratio))), default=None
    )


def overall(analysis: Analysis, subject: str) -> Summary | None:
    """Return the one figure that a subject is judged by: all groups, held-out if there is any."""
    return analysis.summary(subject, in_sample=analysis.judged_in_sample, metric=THROUGHPUT.name)


def judged_summaries(analysis: Analysis) -> tuple[Summary, ...]:
    """Return the figures that subjects are judged by, as far as they were measured."""
    subjects = dict.fromkeys(summary.subject for summary in analysis.throughput_summaries)
    scores = (overall(analysis, subject) for subject in subjects)
    return tuple(score for score in scores if score is not None)


def is_clear(
    analysis: Analysis,
    candidates: Collection[str],
    tolerance: float | None = None,
    controls: Collection[str] = (),
) -> bool:
    """Return whether every candidate differs from the base beyond any doubt, by ``overall``.

    With a ``tolerance``, a fraction, a loss has to be beyond any doubt larger or smaller, too; and
    it is not smaller if the ``controls`` may read further off.
    """
    repeats = [score for name in controls if (score := overall(analysis, name)) is not None]
    scores = [overall(analysis, name) for name in candidates]
    return bool(scores) and all(
        score is not None
        and score.p_adjusted is not None
        and score.p_adjusted < CLEAR
        and (tolerance is None or score.ratio > 1 or _is_judged(score, 1 - tolerance, repeats))
        for score in scores
    )


_WIDER = 4.0
"""How many times as wide an interval as sure as ``CLEAR`` is at most, beside one of 95 %: by the
quantiles of Student's t with three degrees of freedom. More make it less wide.
"""


def _is_judged(loss: Summary, least: float, controls: Sequence[Summary]) -> bool:
    """Return whether a loss is beyond any doubt on one side of the ``least`` ratio tolerated."""
    larger = loss.ratio < least
    end = loss.high if larger else loss.low
    if not end:
        return False
    distance, half = abs(math.log(loss.ratio / least)), abs(math.log(end / loss.ratio))
    ruled_out = larger or possible_range(loss, controls)[0] >= least
    return ruled_out and distance > _WIDER * half


def cost(analysis: Analysis, subject: str) -> Summary | None:
    """Return the CPU time that an operation takes a subject, over the steps of ``overall``."""
    return analysis.summary(subject, in_sample=analysis.judged_in_sample, metric=CPU_SECONDS.name)


def certain_cost(analysis: Analysis, subjects: Iterable[Subject], subject: str) -> Summary | None:
    """Return a subject's cost if it certainly differs from the base's, None otherwise.

    Nothing is certain where a control costs more or less than the base that it repeats, or may cost
    as much more or less as the subject.
    """
    own = cost(analysis, subject)
    if own is None or not differs(own):
        return None
    controls = sound_scores(analysis, subjects, Role.CONTROL, cost)
    reaches = reach_of(controls) >= abs(math.log(own.ratio))
    noisy = reaches or any(differs(control) for control in controls)
    return None if noisy else own


def deciding_cost(
    analysis: Analysis, subjects: Iterable[Subject], score: Summary
) -> Summary | None:
    """Return the cost that decides for a subject of this ``overall`` score, None if none does.

    It decides where throughput shows no difference.
    """
    if score.verdict != Verdict.NO_DIFFERENCE:
        return None
    return certain_cost(analysis, subjects, score.subject)


def reach_of(summaries: Iterable[Summary]) -> float:
    """Return how far from 1 their intervals reach, as a logarithm."""
    return max((abs(math.log(end)) for end in ends_of(summaries)), default=0.0)


def ends_of(summaries: Iterable[Summary]) -> Iterator[float]:
    """Yield the ends of their intervals, as far as they have any."""
    for summary in summaries:
        yield from (end for end in (summary.low, summary.high) if end)


def possible_range(summary: Summary, controls: Iterable[Summary]) -> tuple[float, float]:
    """Return the smallest and the largest ratio that a run does not exclude.

    They are the ends of the interval, or of a control's: the base once more may read as far off as
    that, to either side.
    """
    ends = [end for bound in ends_of(controls) for end in (bound, 1 / bound)]
    low = summary.ratio if summary.low is None else summary.low
    high = summary.ratio if summary.high is None else summary.high
    return min([low, *ends]), max([high, *ends])


def sound_scores(
    analysis: Analysis,
    subjects: Iterable[Subject],
    role: Role,
    figure: Callable[[Analysis, str], Summary | None] = overall,
) -> tuple[Summary, ...]:
    """Return a figure of all subjects of a role that did not break, as far as it was measured."""
    scores = (
        figure(analysis, subject.name)
        for subject in subjects
        if subject.role is role and subject.broken is None
    )
    return tuple(score for score in scores if score is not None)


def controls_of(analysis: Analysis, subjects: Iterable[Subject]) -> tuple[Summary, ...]:
    """Return the overall summaries of the sound controls."""
    return sound_scores(analysis, subjects, Role.CONTROL)


def find_winner(analysis: Analysis, subjects: Iterable[Subject]) -> Summary | None:
    """Return the overall summary of the winner, None if no build is faster than the base.

    Neither a control nor a subject that broke can win.
    """
    return fastest_of(sound_scores(analysis, subjects, Role.CANDIDATE))


def fastest_of(scores: Iterable[Summary]) -> Summary | None:
    """Return the one with the highest ratio of those whose verdict is faster, None if none is."""
    faster = (score for score in scores if score.verdict == Verdict.FASTER)
    return max(faster, key=lambda score: score.ratio, default=None)


def find_best(analysis: Analysis, subjects: Collection[Subject]) -> Summary | None:
    """Return the overall summary of the best sound candidate, None if none has a verdict.

    It is the winner if there is one.
    """
    scores = sound_scores(analysis, subjects, Role.CANDIDATE)
    judged = [score for score in scores if score.verdict != Verdict.NOT_ENOUGH_DATA]
    best = max(judged, key=lambda score: score.ratio, default=None)
    return find_winner(analysis, subjects) or best
