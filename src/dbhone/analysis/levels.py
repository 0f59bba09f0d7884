"""What a subject does in absolute terms: so many operations a second, so many seconds of CPU.

Levels are for reading, effects for judging: a level carries all that the machine went
through from block to block, which cancels in a ratio within a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbhone.analysis.estimate import estimate
from dbhone.measurement.metric import FIGURES, Metric
from dbhone.measurement.sample_array import Array, SampleArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The typical value of one metric for one subject on one step, in the metric's unit.

    ``value`` is the estimate of the logarithms over the blocks, turned back, as for effects;
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


def find_levels(
    samples: SampleArray, *, metrics: tuple[Metric, ...] = FIGURES, confidence: float = 0.95
) -> tuple[Level, ...]:
    """Return the levels of all that was measured, by metric, subject and step."""
    return tuple(
        level
        for metric in metrics
        if samples.has(metric)
        for level in _levels(samples, metric, samples.usable(metric), confidence)
    )


def _levels(samples: SampleArray, metric: Metric, rows: Array, confidence: float) -> list[Level]:
    counts = np.count_nonzero(~np.isnan(rows), axis=-1)
    with np.errstate(invalid="ignore"):
        logs = np.log(np.where(rows > 0, rows, np.nan))
    fitted = estimate(logs, confidence)
    found = []
    for subject, step in np.argwhere(counts > 0).tolist():
        count = int(counts[subject, step])
        whole = int(fitted.count[subject, step]) == count
        centre, half = float(fitted.centre[subject, step]), float(fitted.half[subject, step])
        bounded = whole and not np.isnan(half)
        found.append(
            Level(
                subject=samples.subjects[subject],
                step=samples.steps[step],
                metric=metric.name,
                value=float(np.exp(centre) if whole else np.nanmedian(rows[subject, step])),
                low=float(np.exp(centre - half)) if bounded else None,
                high=float(np.exp(centre + half)) if bounded else None,
                blocks=count,
            )
        )
    return found
