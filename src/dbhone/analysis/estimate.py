"""The estimator: a mean over blocks that counts noisy blocks for less, with its t interval.

A block's log ratio differs from the truth by what its servers' starts bring, alike in all blocks,
and by the noise of its own rounds, which differs from block to block. Where rounds show that noise,
the mean is that of a random-effects meta-analysis, whose studies are the blocks; without rounds all
blocks count alike. No block is left out: a start that is slow is one of those that users get.

Where servers stalled, few events decide, and all in one direction: a mean that saw few of them has
blocks that hardly differ. There the interval is a score interval (``stall_score.py``), which is
longer on the side of more stalls.

``docs/statistics.md`` tells why this method was chosen; ``benchmarks/statistics`` shows its
coverage, false alarms and power. Sources: R. C. Paule and J. Mandel, Journal of Research of the
National Bureau of Standards 87 (1982) 377-385, for the variance between blocks; J. Hartung and G.
Knapp, Statistics in Medicine 20 (2001) 3875-3889, for the standard error; L. Kish, Survey Sampling
(1965) section 11.7, for the effective number of blocks; F. E. Satterthwaite, Biometrics Bulletin 2
(1946) 110-114, for the degrees of freedom of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis import stall_score
from dbhone.analysis.student import both_tails, critical_value
from dbhone.measurement.sample_array import Array, Logs
from dbhone.measurement.stall_noise import StallNoise

CONFIDENCE = 0.95
"""Of all intervals and verdicts."""
MINIMUM_FOR_INTERVAL = 3
"""With fewer blocks a spread cannot be estimated at all."""
_ROUNDING = 1e-12
"""Spreads and differences of logarithms below this are rounding, not measurement."""
_LEAST_P = float(np.finfo(np.float64).tiny)
_HALVINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """One estimate for each row. All arrays have the rows' shape; NaN means "not known".

    ``centre`` is the estimate and ``low`` to ``high`` its interval, on the rows' own scale
    (logarithms). ``p`` tests that the centre is 0. ``count`` is the number of a row's values:
    its blocks, of which those of one cluster count as one.
    ``error`` is the standard error, ``freedom`` the degrees of freedom of the centre's t.
    ``stalls`` is the noise that stalls bring into the centre.
    """

    centre: Array
    error: Array
    stalls: StallNoise
    freedom: Array
    low: Array
    high: Array
    p: Array
    count: NDArray[np.intp]

    def __getitem__(self, index: Any) -> Estimates:
        return Estimates(**{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def put(self, at: int, row: Estimates) -> None:
        """Let ``row`` stand in one place."""
        for field in fields(self):
            getattr(self, field.name)[at] = getattr(row, field.name)


@cache
def factor(blocks: int, confidence: float = CONFIDENCE) -> float:
    """Return an interval's half-width in standard errors, of this many equally noisy blocks."""
    return float(critical_value(blocks - 1, 1 - confidence))


def width(blocks: int, confidence: float = CONFIDENCE) -> float:
    """Return the half-width of an interval over this many equally noisy blocks of spread 1."""
    return factor(blocks, confidence) / float(np.sqrt(blocks))


def estimate(rows: Logs) -> Estimates:
    """Estimate the centre of each row of ``rows``, whose last axis is the blocks.

    NaN values are left out. A row of which all values are equal has an interval of no width. Blocks
    of one cluster are one value, their mean.
    """
    rows = rows.by_cluster()
    known = ~np.isnan(rows.values)
    count = np.asarray(np.count_nonzero(known, axis=-1), dtype=np.intp)
    weights = _weights(rows, known, count)
    total = np.maximum(weights.sum(axis=-1), _LEAST_P)
    values = np.where(known, rows.values, 0.0)
    centre = np.where(count > 0, (weights * values).sum(axis=-1) / total, np.nan)
    squares = (weights * np.square(values - np.nan_to_num(centre)[..., None])).sum(axis=-1)
    error = np.sqrt(squares / total / np.maximum(count - 1, 1))
    stalls = StallNoise.none(count.shape)
    if rows.stalls is not None:
        stalls = rows.stalls.times(weights / total[..., None]).sum(axis=-1)
    error = np.where(error <= _ROUNDING, 0.0, error)
    # What the blocks show has the stalls that were seen; others are expected beside them.
    error = np.sqrt(np.maximum(np.square(error) - stalls.seen, 0.0) + stalls.variance)
    enough = count >= MINIMUM_FOR_INTERVAL
    effective = np.square(total) / np.maximum(np.square(weights).sum(axis=-1), _LEAST_P)
    freedom = np.where(enough, effective - 1, np.nan)
    return _judged(centre, np.where(enough, error, np.nan), stalls, freedom, count)


def _weights(rows: Logs, known: NDArray[np.bool_], count: NDArray[np.intp]) -> Array:
    """Return the blocks' weights, zero for blocks that are not known; the largest is 1.

    They are the inverse of the blocks' variances. A spread over few rounds is often small by
    chance, so no block is held to be quieter than most of its row are.
    """
    weights = known.astype(np.float64)
    told = (known & (rows.within >= 0) & (rows.within < np.inf)).sum(axis=-1) == count
    usable = told & (count >= MINIMUM_FOR_INTERVAL)
    if not usable.any():
        return weights
    values = np.where(known, rows.values, np.nan)[usable]
    within = np.where(known, rows.within, np.nan)[usable]
    within = np.maximum(within, np.nanmedian(within, axis=-1, keepdims=True))
    variances = np.maximum(within + _between(values, within)[..., None], _ROUNDING**2)
    quietest = np.nanmin(variances, axis=-1, keepdims=True)
    weights[usable] = np.nan_to_num(quietest / variances)
    return weights


def _between(values: Array, within: Array) -> Array:
    """Return the variance by which blocks differ beyond their own noise, by Paule and Mandel.

    It is such that the weighted squares are as large as they are on average, or none.
    """
    wanted = np.count_nonzero(~np.isnan(values), axis=-1) - 1
    low = np.zeros(values.shape[:-1])
    high = np.square(np.nanmax(values, axis=-1) - np.nanmin(values, axis=-1)) * (wanted + 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = _weighted_squares(values, within + middle[..., None]) > wanted
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return low


def _weighted_squares(values: Array, variances: Array) -> Array:
    """Return the squares of the distances from the weighted mean; both are NaN at once."""
    weights = 1 / np.maximum(variances, _ROUNDING**2)
    centre = np.nansum(weights * values, axis=-1) / np.nansum(weights, axis=-1)
    squares: Array = np.nansum(weights * np.square(values - centre[..., None]), axis=-1)
    return squares


def with_repeats(subject: Logs, repeats: Sequence[Logs], whole: NDArray[np.bool_]) -> Logs:
    """Return the mean of a subject and its repeats, steps x blocks: it has less noise than one.

    A repeat that differs from the subject, over all steps that are ``whole``, is not a repeat and
    is left out.
    """
    sound = [repeat for repeat in repeats if not _differs((repeat - subject)[whole])]
    return Logs.pooled(subject, sound)


def common_steps(counts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which steps belong into one mean, by how many values each has.

    A step that few blocks have would leave hardly a block in which all are whole.
    """
    common: NDArray[np.bool_] = counts * 2 >= counts.max(initial=0)
    return common


def _differs(steps: Logs) -> bool:
    kept = common_steps(np.count_nonzero(~np.isnan(steps.values), axis=-1))
    return bool(kept.any()) and float(estimate(steps[kept].mean()).p) < 1 - CONFIDENCE


def summed(sums: Sequence[Sequence[Logs]]) -> Estimates:
    """Estimate sums of independent quantities; each term of a sum has one row of values.

    All rows have one shape; its last axis is the blocks. Hardly any sum has more than one term. A
    sum's ``count`` is the smallest of its terms', its degrees of freedom are Satterthwaite's.
    """
    summed_up = estimate(Logs.stacked([terms[0] for terms in sums]))
    for at, terms in enumerate(sums):
        if len(terms) > 1:
            summed_up.put(at, _added([estimate(term) for term in terms]))
    return summed_up


def _added(parts: Sequence[Estimates]) -> Estimates:
    """Return the estimates of sums of which each term was estimated on its own."""
    variances = np.array([np.square(part.error) for part in parts])
    freedoms = np.array([part.freedom for part in parts])
    with np.errstate(divide="ignore", invalid="ignore"):
        fitted = np.square(variances.sum(axis=0)) / (np.square(variances) / freedoms).sum(axis=0)
    exact = ~np.isnan(variances).any(axis=0) & ~variances.any(axis=0)
    return _judged(
        np.sum([part.centre for part in parts], axis=0),
        np.sqrt(variances.sum(axis=0)),
        reduce(StallNoise.__add__, (part.stalls for part in parts)),
        np.where(exact, freedoms.min(axis=0), fitted),
        np.min([part.count for part in parts], axis=0),
    )


def _judged(
    centre: Array,
    error: Array,
    stalls: StallNoise,
    freedom: Array,
    count: NDArray[np.intp],
) -> Estimates:
    """Return estimates with what follows from them; NaN where the error is."""
    known = ~np.isnan(error)
    usable = np.where(known, freedom, 1.0)
    distance = np.where(known, critical_value(usable, 1 - CONFIDENCE), np.nan)
    below, above = np.array(distance * error), np.array(distance * error)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.array(np.where(np.abs(centre) <= _ROUNDING, 0.0, np.abs(centre) / error))
    at = known & (stalls.variance > _ROUNDING**2)
    if at.any():
        variance, noise = np.square(error[at]), stalls[at]
        below[at], above[at] = stall_score.reaches(variance, noise, distance[at])
        t[at] = stall_score.distances(variance, noise, centre[at])
    p = np.where(known, np.clip(both_tails(usable, t), _LEAST_P, 1.0), np.nan)
    return Estimates(
        centre=centre,
        error=error,
        stalls=stalls,
        freedom=freedom,
        low=centre - below,
        high=centre + above,
        p=p,
        count=count,
    )
