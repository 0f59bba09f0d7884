"""The typical series of an observed quantity: its median over the blocks, moment by moment.

Blocks are slices of the same length, each observed at about the same seconds after its begin. A
median series has the median and the quartiles over the blocks. It is for reading; verdicts are on
effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbhone.measurement.sample_array import Array
from dbhone.measurement.series import Observation, Quantity, Series, SeriesKind

MOST_POINTS = 60
"""A median series of more moments is thinned out, unless it is said otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianSeries:
    """The typical series of one quantity for one subject on one set.

    ``at`` are seconds since the slice's begin; ``values`` are the medians over ``blocks`` blocks,
    ``low`` to ``high`` the quartiles. All have the same length.
    """

    subject: str
    set: str
    quantity: Quantity
    at: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    blocks: int


def find_median_series(
    observations: Sequence[Observation], sets: Sequence[str], *, most_points: int = MOST_POINTS
) -> tuple[MedianSeries, ...]:
    """Return the median series on some of the sets, by set, quantity and subject.

    A count that is missing from a block was 0 in all of it, if anything of its source was read of
    the subject. Moments at which fewer than half of the blocks were observed are left out, such as
    the end of the longest slice. With more than about ``most_points`` moments, neighbours are
    averaged.
    """
    found: list[MedianSeries] = []
    for name in sets:
        of_set = [observation for observation in observations if observation.set == name]
        subjects = dict.fromkeys(observation.subject for observation in of_set)
        observed = [series for observation in of_set for series in observation.series]
        for quantity in dict.fromkeys(series.quantity for series in observed):
            same = [series for series in observed if series.quantity == quantity]
            width = _width(same, most_points)
            for subject in subjects:
                blocks = [observation for observation in of_set if observation.subject == subject]
                one = _median_series(blocks, quantity, width)
                found += [one] if one is not None else []
    return tuple(found)


def _width(series: Sequence[Series], most_points: int) -> float:
    """Return how many seconds make a moment: the observer's interval, more for long slices."""
    gaps = np.concatenate([np.diff(one_series.at) for one_series in series])
    interval = float(np.median(gaps)) if len(gaps) else 1.0
    # What a busy machine delayed does not make another interval: full tenths.
    interval = max(round(interval, 1), 0.1)
    longest = max((one_series.at[-1] for one_series in series if one_series.at), default=0.0)
    return interval * max(1, int(np.ceil(longest / interval / most_points)))


def _median_series(
    blocks: Sequence[Observation], quantity: Quantity, width: float
) -> MedianSeries | None:
    source = _source(quantity)
    read = any(_source(series.quantity) == source for block in blocks for series in block.series)
    slices = [
        one_series
        for one_series in (_series_of(block, quantity, read=read) for block in blocks)
        if one_series is not None
    ]
    if not any(one_series.at for one_series in slices):
        return None
    bins = [np.rint(np.asarray(one_series.at) / width).astype(np.int64) for one_series in slices]
    count = max(int(numbers.max()) for numbers in bins if len(numbers)) + 1
    moments, values = np.full((2, len(slices), count), np.nan)
    for row, (place, one_series) in enumerate(zip(bins, slices, strict=True)):
        _average(moments[row], place, np.asarray(one_series.at))
        _average(values[row], place, np.asarray(one_series.values))
    often = np.isfinite(values).sum(axis=0) * 2 >= len(slices)
    if not often.any():
        return None
    low, middle, high = np.nanquantile(values[:, often], (0.25, 0.5, 0.75), axis=0)
    return MedianSeries(
        subject=blocks[0].subject,
        set=blocks[0].set,
        quantity=quantity,
        at=_plain(np.nanmedian(moments[:, often], axis=0)),
        values=_plain(middle),
        low=_plain(low),
        high=_plain(high),
        blocks=len(slices),
    )


def _source(quantity: Quantity) -> str:
    """Return what a quantity was read from, such as ``pg_stat_activity``."""
    return quantity.name.partition(".")[0]


def _series_of(block: Observation, quantity: Quantity, *, read: bool) -> Series | None:
    """Return a block's series of a quantity; zeros for a count that was ``read`` and not there."""
    own = next((series for series in block.series if series.quantity == quantity), None)
    if own is not None or quantity.kind is not SeriesKind.COUNT or not block.series or not read:
        return own
    # The longest of what was observed tells when it was looked.
    at = max((series.at for series in block.series), key=len)
    return Series(quantity=quantity, at=at, values=(0.0,) * len(at))


def _average(row: Array, place: NDArray[np.int64], figures: Array) -> None:
    """Put the means of figures that fall into the same moment into a row."""
    counts = np.bincount(place, minlength=len(row))
    sums = np.bincount(place, weights=figures, minlength=len(row))
    row[counts > 0] = sums[counts > 0] / counts[counts > 0]


def _plain(figures: Array) -> tuple[float, ...]:
    return tuple(float(figure) for figure in figures)
