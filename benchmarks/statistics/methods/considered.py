"""Other ways to judge the same slices, which were considered.

``TRIMMED`` is a trimmed mean over restarts: a fifth is cut off at each end, but eight are kept (J.
W. Tukey and D. H. McLaughlin, Sankhya A 25 (1963) 331-352). dbhone used it until November 2026.
``MODERATED`` has the plain mean of all restarts; its variance is shrunk towards what the rounds of
all steps let expect (G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 3
(2004), article 3).
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma, stdtr, stdtrit

from benchmarks.statistics.methods.base import ALPHA, Judged, Method
from benchmarks.statistics.methods.dbhone import in_rounds, judge, judged
from benchmarks.statistics.piece import Array, Piece
from dbhone.analysis.estimate import Estimates
from dbhone.measurement.stall_noise import StallNoise

_TRIMMED, _KEPT = 0.2, 8
_NEWTON_STEPS = 50
_MOST_FREEDOM = 1e6


def every_round(piece: Piece) -> Array:
    """Return each round as if it were a block of its own."""
    runs, restarts, steps, rounds, subjects = piece.logs.shape
    in_time = piece.logs.swapaxes(1, 2)
    return in_time.reshape(runs, steps, restarts * rounds, subjects)


def in_plain_means(piece: Piece) -> Array:
    """Return each restart's levels as the means of its slices."""
    means: Array = piece.logs.mean(axis=-2).swapaxes(1, 2)
    return means


def _judge_alike(seen: Array) -> Judged:
    return judge(seen[..., :2])


def _judge_trimmed(seen: Array) -> Judged:
    rows = np.sort(seen[..., 1] - seen[..., 0], axis=-1)
    count = rows.shape[-1]
    cut = min(int(_TRIMMED * count + 1e-9), max((count - _KEPT) // 2, 0))
    kept = count - 2 * cut
    pulled = np.clip(rows, rows[..., [cut]], rows[..., [count - cut - 1]])
    squares = np.square(pulled - pulled.mean(axis=-1, keepdims=True)).sum(axis=-1)
    error = np.sqrt(squares / (kept * (kept - 1)))
    centre = rows[..., cut : count - cut].mean(axis=-1)
    # Half a degree less for each trimmed pair keeps the promise far out in the tail.
    freedom = np.full(error.shape, kept - 1 - 0.5 * cut)
    return judged(_student(centre, error, freedom, count))


def _judge_moderated(seen: Array) -> Judged:
    rows, expected = seen[..., 1] - seen[..., 0], seen[..., 2].mean(axis=-1)
    count = rows.shape[-1]
    own = float(count - 1)
    variance = np.maximum(rows.var(axis=-1, ddof=1), np.finfo(np.float64).tiny)
    logs = np.log(variance / expected) - digamma(own / 2) + np.log(own / 2)
    beyond = logs.var(axis=-1, ddof=1, keepdims=True) - polygamma(1, own / 2)
    prior = np.where(beyond > 0, 2 * _inverse_trigamma(np.maximum(beyond, 1e-9)), _MOST_FREEDOM)
    prior = np.minimum(prior, _MOST_FREEDOM)
    centred = logs.mean(axis=-1, keepdims=True) + digamma(prior / 2) - np.log(prior / 2)
    shrunk = (prior * np.exp(centred) * expected + own * variance) / (prior + own)
    return judged(_student(rows.mean(axis=-1), np.sqrt(shrunk / count), prior + own, count))


def _inverse_trigamma(values: Array) -> Array:
    """Return where the trigamma function has these values, by Newton's method (Smyth, appendix)."""
    found = 0.5 + 1 / values
    for _ in range(_NEWTON_STEPS):
        here = polygamma(1, found)
        found = found + here * (1 - here / values) / polygamma(2, found)
    return found


def _student(centre: Array, error: Array, freedom: Array, count: int) -> Estimates:
    half = stdtrit(freedom, 1 - ALPHA / 2) * error
    return Estimates(
        centre=centre,
        error=error,
        stalls=StallNoise.none(centre.shape),
        freedom=freedom,
        low=centre - half,
        high=centre + half,
        p=2 * stdtr(freedom, -np.abs(centre / error)),
        count=np.full(centre.shape, count, dtype=np.intp),
    )


EVERY_ROUND = Method(title="each round a block", seen=every_round, judge=judge)
PLAIN_LEVELS = Method(
    title="plain means in a restart", seen=in_plain_means, judge=judge, in_blocks=True
)
ALL_ALIKE = Method(title="restarts alike", seen=in_rounds, judge=_judge_alike, in_blocks=True)
TRIMMED = Method(title="trimmed mean", seen=in_rounds, judge=_judge_trimmed, in_blocks=True)
MODERATED = Method(
    title="moderated t", seen=in_rounds, judge=_judge_moderated, in_blocks=True, of_rounds=True
)
