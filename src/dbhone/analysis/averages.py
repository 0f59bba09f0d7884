"""The arithmetic mean of steps' ratios, as others publish it, with an interval.

dbhone's own summaries are geometric means, of which the interval is known directly. Where steps
differ widely the two means do, too, so that what others averaged is set beside the same mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.estimate import estimate
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.sample_array import Array, SampleArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """How the steps' ratios of throughput lie: ``mean`` is arithmetic, ``low`` to ``high`` its
    interval, None with fewer than 3 blocks that have all steps; ``deviation`` is None for one step.
    """

    mean: float
    low: float | None
    high: float | None
    median: float
    minimum: float
    maximum: float
    deviation: float | None


def average_ratio(
    samples: SampleArray, subject: str, base: str, steps: Sequence[str], *, confidence: float
) -> Average | None:
    """Return how a subject's ratios to the base lie on some steps, None if none was measured.

    The interval is by the delta method (G. W. Oehlert, The American Statistician 46 (1992)
    27-29): a small relative change of the mean is that of the ratios' logarithms, each weighted
    by its ratio. So it is the interval of that weighted mean over the blocks. It does not apply
    where single ratios are known to no better than a factor.
    """
    if not {subject, base} <= set(samples.subjects):
        return None
    logs = samples.logs(THROUGHPUT)
    chosen = [samples.steps.index(each) for each in steps if each in samples.steps]
    mine, theirs = samples.subjects.index(subject), samples.subjects.index(base)
    rows = logs[mine, chosen] - logs[theirs, chosen]
    counts = np.count_nonzero(~np.isnan(rows), axis=-1)
    if not counts.any():
        return None
    # As in the summaries: a step that few blocks have would leave hardly a whole block.
    return _average(rows[counts * 2 >= counts.max()], confidence)


def _average(rows: Array, confidence: float) -> Average:
    ratios = np.exp(estimate(rows, confidence).centre)
    mean = float(ratios.mean())
    whole = estimate((ratios / ratios.sum()) @ rows, confidence)
    half = float(whole.half)
    known = not np.isnan(half)
    return Average(
        mean=mean,
        low=mean * float(np.exp(-half)) if known else None,
        high=mean * float(np.exp(half)) if known else None,
        median=float(np.median(ratios)),
        minimum=float(ratios.min()),
        maximum=float(ratios.max()),
        deviation=float(ratios.std(ddof=1)) if len(ratios) > 1 else None,
    )
