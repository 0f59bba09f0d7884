"""Mann and Whitney's test of sequential runs, as benchstat and asv use it.

The interval is the one that belongs to the test: Hodges and Lehmann's, of all differences of a
run of B and a run of A.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from benchmarks.statistics.methods.base import ALPHA, REPETITIONS, Judged, Method, sequential
from benchmarks.statistics.piece import Array


def _judge(seen: Array) -> Judged:
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


MANN_WHITNEY = Method(
    title="Mann-Whitney", seen=partial(sequential, repetitions=REPETITIONS), judge=_judge
)
