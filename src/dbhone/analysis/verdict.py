"""What the analysis finds: effects, summaries, and the words for them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from dbhone.measurement.metric import BY_NAME, THROUGHPUT
from dbhone.measurement.record import Group

MINIMUM_BLOCKS = 6
"""With fewer blocks there is no verdict: an interval would hang on one or two of them."""


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
    SAME = "same"
    UNKNOWN = "unknown"


class Bounded(Protocol):
    """A ratio or a figure with an interval, ``low`` to ``high``; None where there is none."""

    @property
    def low(self) -> float | None:
        """The interval's lower end."""

    @property
    def high(self) -> float | None:
        """The interval's upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One subject on one step, as a ratio of a metric to the base's.

    ``low`` to ``high`` is the interval of the ratio at the analysis's confidence, None with
    fewer than 3 blocks. ``p_value`` tests that the ratio is 1; ``p_adjusted`` is corrected
    for all comparisons of the same kind in the run, None where there is no verdict.
    ``findable`` is the smallest difference, as a fraction, that would have been found; None
    unless none was.
    """

    subject: str
    step: str
    group: Group
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
class Summary:
    """One subject over the steps of a group (all groups if None), in-sample or held-out.

    ``ratio`` is a geometric mean over the steps and ``low`` to ``high`` its interval over the
    blocks. ``mean`` to ``standard_deviation`` describe how the steps' own ratios lie; the
    last is None for a single step. ``blocks`` are those in which all ``steps`` were measured.
    ``findable`` is the smallest difference, as a fraction, that would have been found; None
    unless none was.
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
    steps: int
    mean: float
    median: float
    minimum: float
    maximum: float
    standard_deviation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A step that a subject's summaries of a metric do without: too few blocks have it."""

    metric: str
    subject: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All that was found in a run's samples.

    ``unusable`` counts measurements that were zero, negative or infinite and so have no
    ratio; ``blocks`` the blocks of which the base has anything.
    """

    base: str
    confidence: float
    blocks: int
    effects: tuple[Effect, ...]
    summaries: tuple[Summary, ...]
    left_out: tuple[LeftOut, ...]
    unusable: int

    @property
    def throughput_effects(self) -> tuple[Effect, ...]:
        """The effects on the metric by which subjects are judged."""
        return tuple(each for each in self.effects if each.metric == THROUGHPUT.name)

    @property
    def throughput_summaries(self) -> tuple[Summary, ...]:
        """The summaries of the metric by which subjects are judged."""
        return tuple(each for each in self.summaries if each.metric == THROUGHPUT.name)

    def without(self, subjects: Collection[str]) -> Analysis:
        """Return the analysis as far as it is not of these subjects."""
        return replace(
            self,
            effects=tuple(each for each in self.effects if each.subject not in subjects),
            summaries=tuple(each for each in self.summaries if each.subject not in subjects),
            left_out=tuple(each for each in self.left_out if each.subject not in subjects),
        )

    def judged(self, subject: str) -> tuple[Effect | Summary, ...]:
        """Return what was found of a subject's throughput and has a verdict, summaries first."""
        found: tuple[Effect | Summary, ...] = (*self.throughput_summaries, *self.throughput_effects)
        return tuple(
            each
            for each in found
            if each.subject == subject and tone(each) is not Direction.UNKNOWN
        )

    def summary(
        self, subject: str, *, in_sample: bool, group: Group | None = None, metric: str
    ) -> Summary | None:
        """Return the one summary of these, None if there is none."""
        wanted = (subject, in_sample, group, metric)
        return next(
            (
                each
                for each in self.summaries
                if (each.subject, each.in_sample, each.group, each.metric) == wanted
            ),
            None,
        )


def tone(found: Effect | Summary) -> Direction:
    """Return which way the verdict points."""
    metric = BY_NAME[found.metric]
    words = {
        metric.gain: Direction.BETTER,
        metric.loss: Direction.WORSE,
        Verdict.NO_DIFFERENCE.value: Direction.SAME,
    }
    return words.get(found.verdict, Direction.UNKNOWN)


def differs(found: Effect | Summary) -> bool:
    """Return whether the verdict is that there is a difference."""
    return tone(found) in (Direction.BETTER, Direction.WORSE)


def half_width(found: Bounded) -> float | None:
    """Return half the interval's width as a fraction of the ratio, None without an interval.

    The interval is symmetric on the logarithmic scale: 0.02 means that its ends are the
    ratio times and divided by 1.02.
    """
    if found.low is None or found.high is None:
        return None
    return float((found.high / found.low) ** 0.5 - 1)
