"""Means of sequential runs and Welch's t interval of their difference."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import stdtrit

from benchmarks.statistics.methods.base import ALPHA, REPETITIONS, Judged, Method, sequential
from benchmarks.statistics.piece import Array


def _judge(seen: Array) -> Judged:
    count = seen.shape[-2]
    means, variances = seen.mean(axis=-2), seen.var(axis=-2, ddof=1) / count
    total = variances.sum(axis=-1)
    freedom = np.square(total) * (count - 1) / np.square(variances).sum(axis=-1)
    half = stdtrit(freedom, 1 - ALPHA / 2) * np.sqrt(total)
    ratio = means[..., 1] - means[..., 0]
    return Judged(ratio=ratio, different=np.abs(ratio) > half, low=ratio - half, high=ratio + half)


WELCH = Method(
    title="mean, t interval", seen=partial(sequential, repetitions=REPETITIONS), judge=_judge
)
