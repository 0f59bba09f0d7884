"""Blocks that do not fit the others of their step: outliers, and bimodal noise.

The checks look at the logarithm of each block's ratio to the base.
Nothing is left out here or elsewhere; the footnotes say what the intervals had to cope with.

Two modes are detected by the best split of the sorted ratios (Fisher, JASA 53 (1958) 789-798) and
by the distance of the two means in their own spreads, Ashman's D (Ashman, Bird and Zepf,
Astronomical Journal 108 (1994) 2348-2361). Normal noise exceeds a D of 8 in one of about 7,000 rows
of 12 blocks, heavy-tailed noise (t with 4 degrees of freedom) and longer rows more rarely.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Code, Warning
from dbhone.measurement.sample_array import DEVIATION, Array, SampleArray
from dbhone.units import count_of, listed

_FAR = 10.0
"""In standard deviations, told by the median deviation: of twelve blocks with normal noise one is
as far off in one of 1,000 rows, of heavy tails (t with 4 degrees of freedom) in 14."""
_LEAST = 12
"""Fewer blocks do not tell how far their ratios usually are from each other."""
_APART = 8.0
"""Ashman's D from which on ratios are called bimodal."""
_SHARE = 0.25
"""Of the blocks, at least this many make a mode."""


def odd_shapes(base: str, samples: SampleArray) -> Iterator[Warning]:
    """Yield a footnote on ratios that lie far from the rest, and one on bimodal ratios."""
    rows = list(_rows(base, samples))
    yield from _outliers(rows)
    yield from _two_humped(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """The logarithms of one subject's ratios to the base on one step, sorted."""

    subject: str
    step: str
    logs: Array

    @property
    def name(self) -> str:
        return f"{self.subject} on {self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Humps:
    """Two modes: the ratio of each, and its number of blocks; ``apart`` is Ashman's D."""

    ratios: tuple[float, float]
    counts: tuple[int, int]
    apart: float


def _rows(base: str, samples: SampleArray) -> Iterator[_Row]:
    if base not in samples.subjects:
        return
    logs = samples.logs(THROUGHPUT).values
    its = logs[samples.subjects.index(base)]
    for subject, subject_logs in zip(samples.subjects, logs, strict=True):
        if subject == base:
            continue
        for step, row in zip(samples.steps, subject_logs - its, strict=True):
            known = np.sort(row[~np.isnan(row)])
            if len(known) >= _LEAST:
                yield _Row(subject=subject, step=step, logs=known)


def _outliers(rows: list[_Row]) -> Iterator[Warning]:
    far = [(row, *_furthest(row.logs)) for row in rows]
    total = sum(count for _, count, _, _ in far)
    if not total:
        return
    row, _, distance, at = max(far, key=lambda candidate: candidate[2])
    usual = float(np.exp(np.median(row.logs)))
    yield Warning(
        code=Code.OUTLIERS,
        text=f"{total} of {count_of(sum(len(row.logs) for row in rows), 'ratio')} of blocks"
        f" {'lies' if total == 1 else 'lie'} {_FAR:.0f} spreads or more from the others of"
        f" {'its' if total == 1 else 'their'} step; the furthest, {distance:.0f} spreads, is"
        f" {row.name}: {np.exp(at):.3g} times the base where {usual:.3g} is usual. Such blocks are"
        " not taken out: a start that is slow, or a burst of noise, is in the figures",
    )


def _furthest(logs: Array) -> tuple[int, float, float]:
    """Return how many values are far, the furthest one's distance in spreads, and its value."""
    away = np.abs(logs - np.median(logs))
    spread = DEVIATION * float(np.median(away))
    if spread == 0.0:
        return 0, 0.0, 0.0
    at = int(np.argmax(away))
    return int(np.count_nonzero(away > _FAR * spread)), float(away[at] / spread), float(logs[at])


def _two_humped(rows: list[_Row]) -> Iterator[Warning]:
    tried = ((row, _humps(row.logs)) for row in rows)
    humped = [(row, humps) for row, humps in tried if humps.apart >= _APART]
    if not humped:
        return
    row, humps = max(humped, key=lambda candidate: candidate[1].apart)
    (low, high), (below, above) = humps.ratios, humps.counts
    others = [other_row.name for other_row, _ in humped if other_row is not row]
    yield Warning(
        code=Code.TWO_HUMPED,
        text=f"the ratios of {row.name} are bimodal, {low:.3f} in {count_of(below, 'block')}"
        f" and {high:.3f} in {above}, probably because of something that a start fixes, such as"
        " where memory or code lies; the interval is of their mean, which no block may have"
        + (f". So do those of {listed(others)}" if others else ""),
    )


def _humps(logs: Array) -> _Humps:
    """Return the two modes into which the sorted values split best."""
    count = len(logs)
    least = max(4, int(np.ceil(_SHARE * count)))
    sizes = np.arange(least, count - least + 1)
    sums, squares = np.cumsum(logs)[sizes - 1], np.cumsum(np.square(logs))[sizes - 1]
    low, high = sums / sizes, (logs.sum() - sums) / (count - sizes)
    within = squares - sizes * low**2
    within = within + np.square(logs).sum() - squares - (count - sizes) * high**2
    best = int(np.argmin(within))
    spread = float(np.sqrt(max(within[best], 0.0) / (count - 2)))
    distance = float(high[best] - low[best])
    return _Humps(
        ratios=(float(np.exp(low[best])), float(np.exp(high[best]))),
        counts=(int(sizes[best]), count - int(sizes[best])),
        apart=distance / spread if spread > 0.0 else 0.0,
    )
