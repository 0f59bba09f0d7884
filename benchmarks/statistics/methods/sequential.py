"""What others do: runs of A in the first half of the time, then runs of B.

Mann and Whitney's test has the interval that belongs to it: Hodges and Lehmann's, of all
differences of a run of B and a run of A.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy.special import stdtrit

from benchmarks.statistics.methods.base import ALPHA, Judged, Method
from benchmarks.statistics.piece import Array, Piece

THRESHOLD = 0.025
"""What peers without a test call a difference: 2.5 % (HammerDB 6, modules/jobs)."""
REPETITIONS = 10
"""How often peers run each side, as benchstat advises."""


def sequential(piece: Piece, repetitions: int) -> Array:
    """Return the rates of repeated runs of A in the first half of the time, then of B.

    Each server is started as often as dbhone starts it, and measures all the time that dbhone
    has for both: that is more than most who measure so allow themselves.
    """
    alone = piece.alone()
    half = alone.shape[1] // 2
    sides = [
        _repeated(part + by_start[..., None], repetitions)
        for part, by_start in (
            (alone[:, :half], piece.by_start[:, :half, :, 0]),
            (alone[:, half:], piece.by_start[:, half:, :, 1]),
        )
    ]
    return np.stack(sides, axis=-1)


def _repeated(logs: Array, repetitions: int) -> Array:
    """Cut each step's slices into runs, one after the other; return the logs of their rates.

    There are as many runs as ``repetitions``, or as slices where these are fewer.
    """
    runs, _, steps, _ = logs.shape
    in_time = np.exp(logs).swapaxes(1, 2).reshape(runs, steps, -1)
    parts = np.array_split(in_time, min(repetitions, in_time.shape[-1]), axis=-1)
    found: Array = np.log(np.stack([each.mean(axis=-1) for each in parts], axis=-1))
    return found


def _judge_best(seen: Array) -> Judged:
    """Tell of a difference where the best runs are further apart than the threshold."""
    best = seen.max(axis=-2)
    ratio = best[..., 1] - best[..., 0]
    return Judged(ratio=ratio, different=np.abs(np.expm1(ratio)) > THRESHOLD)


def _judge_ranks(seen: Array) -> Judged:
    count = seen.shape[-2]
    differences = seen[..., :, None, 1] - seen[..., None, :, 0]
    ordered = np.sort(differences.reshape(*seen.shape[:-2], count * count), axis=-1)
    wins = np.count_nonzero(ordered > 0, axis=-1)
    least = np.minimum(wins, count * count - wins)
    out = int(np.searchsorted(distribution(count), ALPHA / 2, side="right"))
    return Judged(
        ratio=np.median(ordered, axis=-1),
        different=2 * distribution(count)[least] <= ALPHA,
        low=ordered[..., out - 1],
        high=ordered[..., -out],
    )


@cache
def distribution(count: int) -> Array:
    """Return the distribution function of U for ``count`` runs on each side, from 0 wins on."""
    ways = np.zeros((count + 1, count * count + 1))
    ways[0, 0] = 1
    for rank in range(1, 2 * count + 1):
        for chosen in range(min(rank, count), 0, -1):
            # The rank of the chosen-th of B, less what it has at least, is how many it beats.
            beaten = rank - chosen
            if beaten <= count:
                ways[chosen, beaten:] += ways[chosen - 1, : ways.shape[1] - beaten]
    total: Array = np.cumsum(ways[count]) / ways[count].sum()
    return total


def _judge_means(seen: Array) -> Judged:
    """Tell of a difference where Welch's t interval of the means' difference misses none."""
    count = seen.shape[-2]
    means, variances = seen.mean(axis=-2), seen.var(axis=-2, ddof=1) / count
    total = variances.sum(axis=-1)
    freedom = np.square(total) * (count - 1) / np.square(variances).sum(axis=-1)
    half = stdtrit(freedom, 1 - ALPHA / 2) * np.sqrt(total)
    ratio = means[..., 1] - means[..., 0]
    return Judged(ratio=ratio, different=np.abs(ratio) > half, low=ratio - half, high=ratio + half)


def _method(title: str, judge: Callable[[Array], Judged], repetitions: int = REPETITIONS) -> Method:
    return Method(title=title, seen=partial(sequential, repetitions=repetitions), judge=judge)


ONE_RUN = _method("one run each, 2.5 %", _judge_best, 1)
"""As HammerDB 6 compares two releases."""
BEST_OF = _method(f"best of {REPETITIONS}, 2.5 %", _judge_best)
"""As rustc-perf, which takes the minimum of times."""
MANN_WHITNEY = _method("Mann-Whitney", _judge_ranks)
"""As benchstat and asv."""
WELCH = _method("mean, t interval", _judge_means)
