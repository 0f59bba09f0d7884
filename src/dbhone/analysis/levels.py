"""Absolute figures: each subject's level on each step, and arithmetic means of ratios.

Levels, such as operations per second, are for reading; effects are for judging. A level carries
whatever the machine went through from block to block, which cancels in a ratio within a block.

dbhone's own summaries are geometric means. Published results often are arithmetic means of steps'
ratios, and the two differ where steps differ widely. So this module computes the arithmetic mean
too, with an interval, for comparisons with published results.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis.estimate import common_steps, estimate, summed, with_repeats
from dbhone.analysis.indirect import ONE_RUN, Links
from dbhone.measurement.metric import FIGURES, THROUGHPUT, Metric
from dbhone.measurement.record import Step, wholes
from dbhone.measurement.sample_array import Array, Logs, SampleArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The typical value of one metric for one subject on one step, in the metric's unit.

    ``value`` is the estimate of the logarithms over the blocks, all alike, turned back;
    ``low`` to ``high`` is its interval, None with fewer than 3 blocks. Where some value is
    zero there are no logarithms: then it is the median, without an interval.
    """

    subject: str
    step: str
    metric: str
    value: float
    low: float | None
    high: float | None
    blocks: int


def find_levels(samples: SampleArray) -> tuple[Level, ...]:
    """Return the levels of all that was measured, by metric, subject and step."""
    return tuple(
        level
        for metric in FIGURES
        if samples.has(metric)
        for level in _levels(samples, metric, samples.usable(metric))
    )


def _levels(samples: SampleArray, metric: Metric, rows: Array) -> list[Level]:
    counts = np.count_nonzero(~np.isnan(rows), axis=-1)
    with np.errstate(invalid="ignore"):
        logs = np.log(np.where(rows > 0, rows, np.nan))
    complete = np.count_nonzero(~np.isnan(logs), axis=-1) == counts
    fitted = estimate(Logs.without_rounds(logs, samples.clusters))
    levels = []
    for subject, step in np.argwhere(counts > 0).tolist():
        count = int(counts[subject, step])
        whole = bool(complete[subject, step])
        centre, low, high = (
            float(ends[subject, step]) for ends in (fitted.centre, fitted.low, fitted.high)
        )
        bounded = whole and not np.isnan(low)
        levels.append(
            Level(
                subject=samples.subjects[subject],
                step=samples.steps[step],
                metric=metric.name,
                value=float(np.exp(centre) if whole else np.nanmedian(rows[subject, step])),
                low=float(np.exp(low)) if bounded else None,
                high=float(np.exp(high)) if bounded else None,
                blocks=count,
            )
        )
    return levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """How the steps' ratios of throughput lie: ``average`` is arithmetic, ``low`` to ``high`` its
    interval, None with fewer than 3 blocks that have all steps; ``stddev`` is None for one step.
    """

    average: float
    low: float | None
    high: float | None
    median: float
    min: float
    max: float
    stddev: float | None


def average_ratio(
    samples: SampleArray,
    subject: str,
    base: str,
    chosen: Collection[str],
    *,
    steps: Sequence[Step],
    controls: Collection[str] = (),
    links: Links = ONE_RUN,
) -> Average | None:
    """Return how a subject's ratios to the base lie on some of a run's steps.

    Return None if none of them was measured. ``steps``, ``controls`` and ``links`` are those that
    ``analyse`` takes, so that these ratios are those of its effects.

    The interval is by the delta method (G. W. Oehlert, The American Statistician 46 (1992)
    27-29): a small relative change of the mean is that of the ratios' logarithms, each weighted
    by its ratio. So it is the interval of that weighted mean over the blocks. It does not apply
    where single ratios are known to no better than a factor.
    """
    if not {subject, base} <= set(samples.subjects):
        return None
    every = samples.logs(THROUGHPUT)
    logs = {name: every[at] for at, name in enumerate(samples.subjects)}
    repeats = [logs[control] for control in controls if control in logs]
    reference = with_repeats(
        logs[base], repeats, _among(samples, [it.name for it in wholes(steps)])
    )
    kept = _among(samples, chosen)
    terms = [
        (logs[above] - (reference if below == base else logs[below]))[kept]
        for above, below in links.hops(subject, base)
    ]
    counts = np.min([np.count_nonzero(~np.isnan(term.values), axis=-1) for term in terms], axis=0)
    if not counts.any():
        return None
    return _average([term[common_steps(counts)] for term in terms])


def _among(samples: SampleArray, names: Collection[str]) -> NDArray[np.bool_]:
    """Return which steps of the samples have one of these names."""
    return np.array([step in names for step in samples.steps], dtype=bool)


def _average(terms: Sequence[Logs]) -> Average:
    ratios = np.exp(summed([terms])[0].centre)
    average = float(ratios.mean())
    shares = ratios / ratios.sum()
    whole = summed([[term.weighted(shares) for term in terms]])[0]
    known = not np.isnan(whole.low)
    return Average(
        average=average,
        low=average * float(np.exp(whole.low - whole.centre)) if known else None,
        high=average * float(np.exp(whole.high - whole.centre)) if known else None,
        median=float(np.median(ratios)),
        min=float(ratios.min()),
        max=float(ratios.max()),
        stddev=float(ratios.std(ddof=1)) if len(ratios) > 1 else None,
    )
