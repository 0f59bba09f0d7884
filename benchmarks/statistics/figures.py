"""What a method is worth on a kind of noise: the truth is known, so one can count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.statistics.methods.base import Judged, Method, growing
from benchmarks.statistics.piece import Array, Piece, Plan

SLOWER = (0.01, 0.02, 0.05, 0.10)
"""By how much a subject is made slower, to see whether it is found."""
WANTED, WANTED_SHARE = 0.02, 0.95
"""What has to be found, and in how many of the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Shares of runs, all between 0 and 1.

    ``false_alarms`` are A/A runs that tell of a difference on any step. ``coverage`` is how
    often a step's 95 % interval holds the truth, ``half`` its median half-width on the
    logarithmic scale; None without intervals. ``found`` are for each of ``SLOWER`` the runs in
    which it is found on the one step that it was planted on. ``minutes`` is how long runs take
    of which ``WANTED_SHARE`` find ``WANTED``; None if the longest are too short.
    """

    false_alarms: float
    coverage: float | None
    half: float | None
    found: tuple[float, ...]
    minutes: float | None


def figures(
    method: Method, piece: Piece, plan: Plan, *, restarts: int, lengths: Sequence[int]
) -> Figures:
    """Judge a method on runs of so many restarts; find the minutes among the ``lengths``."""
    seen_after = growing(method, piece)
    seen = seen_after(restarts)
    same = method.judge(seen)
    coverage, half = _interval(same)
    return Figures(
        false_alarms=float(np.mean(np.any(same.different, axis=-1))),
        coverage=coverage,
        half=half,
        found=tuple(_found(method, seen, each) for each in SLOWER),
        minutes=next(
            (
                plan.after(each).minutes
                for each in lengths
                if _found(method, seen_after(each), WANTED) >= WANTED_SHARE
            ),
            None,
        ),
    )


def _interval(same: Judged) -> tuple[float | None, float | None]:
    if same.low is None or same.high is None:
        return None, None
    return float(np.mean(same.covered)), float(np.median(same.high - same.low)) / 2


def _found(method: Method, seen: Array, slower: float) -> float:
    """Return in how many runs a planted slowdown is found: on one step, or on all as one."""
    steps = slice(None) if method.over_steps else slice(0, 1)
    planted = seen.copy()
    planted[:, steps, :, 1] += np.log1p(-slower)
    told = method.judge(planted)
    return float(np.mean(told.different[:, 0] & (told.ratio[:, 0] < 0)))
