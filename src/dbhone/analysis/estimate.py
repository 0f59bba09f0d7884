"""The estimator: a trimmed mean over blocks, with its t interval and p value.

``docs/statistics.md`` tells the method and why it was chosen; its coverage, false alarms and
power are shown by ``benchmarks/statistics``. Sources: J. W. Tukey and D. H.
McLaughlin, Sankhya A 25 (1963) 331-352, for the interval; K. K. Yuen, Biometrika 61 (1974)
165-170, for its standard error; K. R. Patel, G. S. Mudholkar and J. L. I. Fernando, JASA 83
(1988) 1203-1210, for fitting the degrees of freedom; F. E. Satterthwaite, Biometrics Bulletin 2
(1946) 110-114, for those of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from dbhone.measurement.sample_array import Array

MINIMUM_FOR_INTERVAL = 3
"""With fewer blocks a spread cannot be told at all."""
_TRIMMED = 0.2
_KEPT = 8
_ROUNDING = 1e-12
"""Spreads and differences of logarithms below this are rounding, not measurement."""
_LEAST_P = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """One estimate for each row. All arrays have the rows' shape; NaN means "not known".

    ``centre`` and ``half`` are the estimate and its interval's half-width, on the rows' own scale
    (logarithms). ``p`` tests that the centre is 0. ``count`` is the number of a row's values.
    ``error`` is the standard error, ``freedom`` the degrees of freedom of the centre's t.
    """

    centre: Array
    error: Array
    freedom: Array
    half: Array
    p: Array
    count: NDArray[np.intp]

    def put(self, at: int, row: Estimates) -> None:
        """Let ``row`` stand in one place."""
        for field in fields(self):
            getattr(self, field.name)[at] = getattr(row, field.name)


def trimmed(count: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many values are trimmed at each end: a fifth, but eight are kept.

    With fewer than eight in the middle the t distribution has so few degrees of freedom that
    no difference survives a correction for hundreds of comparisons.
    """
    kept: NDArray[np.intp] = np.maximum((count - _KEPT) // 2, 0)
    share: NDArray[np.intp] = np.floor(_TRIMMED * count + 1e-9).astype(np.intp)
    return np.minimum(share, kept)


def degrees(count: NDArray[np.intp]) -> Array:
    """Return the degrees of freedom of the trimmed mean's t.

    Tukey and McLaughlin's h - 1 (h values are kept) lets through up to twice as many false
    alarms far out in the tail as it promises, and a correction for many comparisons looks
    only there. Half a degree less for each trimmed pair keeps the promise.
    """
    cut = trimmed(count)
    result: Array = (count - 2 * cut - 1) - 0.5 * cut
    return result


def reach(freedom: Array, confidence: float) -> Array:
    """Return an interval's half-width in standard errors: the quantile of the t distribution."""
    return np.asarray(stdtrit(freedom, (1 + confidence) / 2), dtype=np.float64)


def estimate(rows: Array, confidence: float) -> Estimates:
    """Estimate the centre of each row of ``rows``, an array whose last axis is the blocks.

    NaN values are left out. A row of which all values are equal has an interval of no width.
    """
    count = np.asarray(np.count_nonzero(~np.isnan(rows), axis=-1), dtype=np.intp)
    centre, error = _centre_and_error(rows, count)
    known = count >= MINIMUM_FOR_INTERVAL
    freedom = np.where(known, degrees(count), np.nan)
    return _judged(centre, np.where(known, error, np.nan), freedom, count, confidence)


def summed(sums: Sequence[Sequence[Array]], confidence: float) -> Estimates:
    """Estimate sums of independent quantities; each term of a sum has one row of values.

    All rows have one shape; its last axis is the blocks. Hardly any sum has more than one term. A
    sum's ``count`` is the smallest of its terms', its degrees of freedom are Satterthwaite's.
    """
    summed_up = estimate(np.array([terms[0] for terms in sums]), confidence)
    for at, terms in enumerate(sums):
        if len(terms) > 1:
            summed_up.put(at, _added([estimate(term, confidence) for term in terms], confidence))
    return summed_up


def _added(parts: Sequence[Estimates], confidence: float) -> Estimates:
    """Return the estimates of sums of which each term was estimated on its own."""
    variances = np.array([np.square(part.error) for part in parts])
    freedoms = np.array([part.freedom for part in parts])
    with np.errstate(divide="ignore", invalid="ignore"):
        fitted = np.square(variances.sum(axis=0)) / (np.square(variances) / freedoms).sum(axis=0)
    exact = ~np.isnan(variances).any(axis=0) & ~variances.any(axis=0)
    return _judged(
        np.sum([part.centre for part in parts], axis=0),
        np.sqrt(variances.sum(axis=0)),
        np.where(exact, freedoms.min(axis=0), fitted),
        np.min([part.count for part in parts], axis=0),
        confidence,
    )


def _judged(
    centre: Array, error: Array, freedom: Array, count: NDArray[np.intp], confidence: float
) -> Estimates:
    """Return estimates with what follows from them; NaN where the error is."""
    known = ~np.isnan(error)
    usable = np.where(known, freedom, 1.0)
    half = np.where(known, reach(usable, confidence) * error, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(np.abs(centre) <= _ROUNDING, 0.0, np.abs(centre) / error)
    p = np.where(known, np.clip(2 * stdtr(usable, -t), _LEAST_P, 1.0), np.nan)
    return Estimates(centre=centre, error=error, freedom=freedom, half=half, p=p, count=count)


def _centre_and_error(rows: Array, count: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return the trimmed means and their standard errors, from the Winsorised spread."""
    if rows.shape[-1] == 0:
        nothing = np.full(rows.shape[:-1], np.nan)
        return nothing, nothing
    cut = trimmed(count)
    kept = np.maximum(count - 2 * cut, 1)
    ordered = np.sort(rows, axis=-1)  # NaN comes last
    low = np.take_along_axis(ordered, cut[..., None], axis=-1)
    last = np.maximum(count - cut - 1, 0)
    high = np.take_along_axis(ordered, last[..., None], axis=-1)
    pulled = np.clip(ordered, low, high)
    total = np.nansum(pulled, axis=-1)
    centre = (total - cut * (low[..., 0] + high[..., 0])) / kept
    middle = total / np.maximum(count, 1)
    pulled -= middle[..., None]
    squares = np.nansum(np.square(pulled, out=pulled), axis=-1)
    error = np.sqrt(squares / np.maximum(kept * (kept - 1), 1))
    return np.where(count > 0, centre, np.nan), np.where(error <= _ROUNDING, 0.0, error)
