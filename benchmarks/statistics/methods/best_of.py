"""The best of several runs of A and of B, and a fixed threshold: rustc-perf takes the minimum."""

from __future__ import annotations

from functools import partial

from benchmarks.statistics.methods.base import (
    REPETITIONS,
    Judged,
    Method,
    beyond_threshold,
    sequential,
)
from benchmarks.statistics.piece import Array


def _judge(seen: Array) -> Judged:
    best = seen.max(axis=-2)
    return beyond_threshold(best[..., 1] - best[..., 0])


BEST_OF = Method(
    title=f"best of {REPETITIONS}, 2.5 %",
    seen=partial(sequential, repetitions=REPETITIONS),
    judge=_judge,
)
