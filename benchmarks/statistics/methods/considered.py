"""Other ways to judge the same slices, which were considered.

``WEIGHTED`` is a robust random-effects mean over restarts. A restart's variance is what
restarts differ by, which is the same for all, and what its rounds say of itself; restarts are
standardised by it, those further off than ``_BEND`` are pulled in (P. J. Huber's proposal 2,
Annals of Mathematical Statistics 35 (1964) 73-101), and the interval is J. Hartung and G.
Knapp's (Statistics in Medicine 20 (2001) 3875-3889), with the degrees of freedom of the
effective number of restarts. A restart is not held to be quieter than most are, since a spread
over few rounds is often small by chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from benchmarks.statistics.methods.base import ALPHA, Judged, Method
from benchmarks.statistics.methods.dbhone import in_rounds, judge, judged
from benchmarks.statistics.piece import Array, Piece
from dbhone.analysis.estimate import Estimates
from dbhone.analysis.rounds import DEVIATION

_BEND = 1.5
_HALVINGS, _TURNS = 14, 12


def every_round(piece: Piece) -> Array:
    """Return each round as if it were a block of its own."""
    runs, restarts, steps, rounds, subjects = piece.logs.shape
    in_time = piece.logs.swapaxes(1, 2)
    return in_time.reshape(runs, steps, restarts * rounds, subjects)


def in_plain_means(piece: Piece) -> Array:
    """Return each restart's levels as the means of its slices."""
    means: Array = piece.logs.mean(axis=-2).swapaxes(1, 2)
    return means


def with_variances(piece: Piece) -> Array:
    """Return each restart's levels, and third the variance of their difference by its rounds."""
    levels = in_rounds(piece)
    differences = (piece.logs[..., 1] - piece.logs[..., 0]).swapaxes(1, 2)
    away = differences - (levels[..., 1] - levels[..., 0])[..., None]
    bend = DEVIATION * np.median(np.abs(away), axis=-1, keepdims=True)
    pull = np.square(np.clip(away, -bend, bend)).sum(axis=-1)
    within = np.maximum(np.count_nonzero(np.abs(away) < bend, axis=-1), 1)
    return np.concatenate([levels, (pull / within**2)[..., None]], axis=-1)


def _judge_means(seen: Array) -> Judged:
    rows = seen[..., 1] - seen[..., 0]
    count = rows.shape[-1]
    error = rows.std(axis=-1, ddof=1) / np.sqrt(count)
    return judged(_student(rows.mean(axis=-1), error, np.full(error.shape, count - 1.0), count))


def _judge_weighted(seen: Array) -> Judged:
    rows, own = seen[..., 1] - seen[..., 0], seen[..., 2]
    own = np.maximum(own, np.median(own, axis=-1, keepdims=True))
    variances = own + _between(rows, own)[..., None]
    centre, pulled, inside = _centred(rows, variances)
    count, kept = rows.shape[-1], np.count_nonzero(inside, axis=-1)
    precision = 1 / variances
    total = precision.sum(axis=-1)
    effective = np.square(total) / np.square(precision).sum(axis=-1)
    scatter = np.square(pulled).sum(axis=-1) / (count - 1) * np.square(count / kept)
    freedom = np.maximum(effective - 1 - (count - kept) / 2, 1.0)
    return judged(_student(centre, np.sqrt(scatter / total), freedom, count))


def _between(rows: Array, own: Array) -> Array:
    """Return the variance by which restarts differ beyond their own, found by bisection.

    It is such that the pulled squares are as large as normal noise would make them, or none.
    """
    low = np.zeros(rows.shape[:-1])
    high = 4 * rows.shape[-1] * rows.var(axis=-1)
    wanted = (rows.shape[-1] - 1) * _pulled_variance()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        _, pulled, _ = _centred(rows, own + middle[..., None])
        more = np.square(pulled).sum(axis=-1) > wanted
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return low


def _centred(rows: Array, variances: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return the weighted centre, the standardised distances pulled in, and which were not."""
    deviations = np.sqrt(variances)
    centre = np.median(rows, axis=-1)
    for _ in range(_TURNS):
        distances = np.abs(rows - centre[..., None]) / deviations
        weights = _BEND / np.maximum(distances, _BEND) / variances
        centre = (weights * rows).sum(axis=-1) / weights.sum(axis=-1)
    distances = (rows - centre[..., None]) / deviations
    return centre, np.clip(distances, -_BEND, _BEND), np.abs(distances) < _BEND


def _pulled_variance() -> float:
    """Return the variance of standard normal noise that is pulled in to the bend."""
    density = np.exp(-(_BEND**2) / 2) / np.sqrt(2 * np.pi)
    beyond = float(ndtr(-_BEND))
    return float(1 - 2 * _BEND * density - 2 * beyond + 2 * _BEND**2 * beyond)


def _student(centre: Array, error: Array, freedom: Array, count: int) -> Estimates:
    return Estimates(
        centre=centre,
        error=error,
        freedom=freedom,
        half=stdtrit(freedom, 1 - ALPHA / 2) * error,
        p=2 * stdtr(freedom, -np.abs(centre / error)),
        count=np.full(centre.shape, count, dtype=np.intp),
    )


EVERY_ROUND = Method(title="each round a block", seen=every_round, judge=judge)
PLAIN_LEVELS = Method(
    title="plain means in a restart", seen=in_plain_means, judge=judge, in_blocks=True
)
PLAIN_OVER = Method(
    title="plain mean over restarts", seen=in_rounds, judge=_judge_means, in_blocks=True
)
WEIGHTED = Method(
    title="weighted restarts", seen=with_variances, judge=_judge_weighted, in_blocks=True
)
