"""One run of A, then one of B, and a fixed threshold: as HammerDB 6 compares two releases."""

from __future__ import annotations

from functools import partial

from benchmarks.statistics.methods.base import Judged, Method, beyond_threshold, sequential
from benchmarks.statistics.piece import Array


def _judge(seen: Array) -> Judged:
    return beyond_threshold(seen[..., 0, 1] - seen[..., 0, 0])


ONE_RUN = Method(title="one run each, 2.5 %", seen=partial(sequential, repetitions=1), judge=_judge)
