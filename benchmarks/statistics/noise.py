"""Synthetic noise: what happens to the rates of two equal servers, slice by slice.

Each function is one cause, about as bad as a shared machine has shown it. ``kinds.py`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

from benchmarks.statistics.piece import Array, Piece, Plan

SPREAD = 0.03
"""The standard deviation of a slice on a quiet machine: 3 %."""
_STANDSTILL = 1e-3
"""What a server still does that stands still: half an operation, where 500 are usual."""

Noise = Callable[[np.random.Generator, int, Plan], Piece]


def quiet(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return normal noise: a machine with nothing else to do."""
    return _alike(rng.normal(0, SPREAD, plan.shape(runs)))


def heavy(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return heavy-tailed noise: Student's t with 3 degrees of freedom."""
    return _alike(rng.standard_t(3, plan.shape(runs)) * 2 * SPREAD)


def bursts(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return noise that is ten times as large for minutes, three tenths of the time."""
    loud = _spells(rng, runs, plan, share=0.3, seconds=180)
    return _alike(rng.normal(0, SPREAD, plan.shape(runs)) * np.where(loud, 10, 1))


def humps(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return two-humped noise: a neighbour takes a fifth for seconds, again and again."""
    return _alike(
        rng.normal(0, SPREAD, plan.shape(runs))
        - 0.2 * _spells(rng, runs, plan, share=0.4, seconds=2)
    )


def stalls(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return one-sided noise: mostly little time is lost, sometimes much."""
    return _alike(-(rng.exponential(1.0, plan.shape(runs)) ** 2) * SPREAD)


def drift(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return a machine that becomes slower: by a tenth in half an hour, and wanders as much."""
    times = np.arange(plan.slices) * plan.slice_seconds / 1800
    steps = rng.normal(0, 0.1, (runs, plan.slices)) * np.sqrt(plan.slice_seconds / 1800)
    slow = (np.cumsum(steps, axis=-1) - 0.1 * times).reshape(plan.shape(runs))
    return _alike(rng.normal(0, SPREAD, plan.shape(runs)) + slow)


def uneven_starts(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return servers of which each start is faster or slower, by 1 %, half of it step by step."""
    starts = rng.normal(0, 0.01, (runs, plan.restarts, 1, 2))
    steps = rng.normal(0, 0.005, (runs, plan.restarts, plan.steps, 2))
    noise = rng.normal(0, SPREAD, plan.shape(runs))
    return Piece.of(noise, starts + steps)


def odd_starts(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return servers of which one start in twenty is off by some 10 %, faster or slower."""
    shape = (runs, plan.restarts, 1, 2)
    starts = rng.normal(0, 0.1, shape) * (rng.random(shape) < 0.05)
    noise = rng.normal(0, SPREAD, plan.shape(runs))
    return Piece.of(noise, np.repeat(starts, plan.steps, axis=2))


def waves(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return autocorrelated noise: waves of 20 s that both ride, and each server's own of 5 s."""
    shared = _waves(rng, (runs, plan.slices), plan.slice_seconds / 20).reshape(plan.shape(runs))
    own = _waves(rng, (runs, 2, plan.slices // 2), plan.slice_seconds * 2 / 5)
    own = np.moveaxis(own, 1, -1).reshape(plan.shape(runs))
    return _alike(rng.normal(0, SPREAD, plan.shape(runs)) + 0.1 * shared + 0.04 * own)


def everything(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return a shared machine at its worst: all of the above, each a little less."""
    loud = _spells(rng, runs, plan, share=0.3, seconds=180)
    noise = rng.standard_t(3, plan.shape(runs)) * SPREAD * np.where(loud, 5, 1)
    noise -= 0.1 * _spells(rng, runs, plan, share=0.3, seconds=2)
    noise += 0.05 * _waves(rng, (runs, plan.slices), plan.slice_seconds / 20).reshape(noise.shape)
    noise += drift(rng, runs, plan).logs / 2
    return Piece.of(noise, uneven_starts(rng, runs, plan).by_start / 2)


def uniform(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return starts of one server that are off by anything up to 10 %: tails that are too light."""
    starts = np.zeros((runs, plan.restarts, plan.steps, 2))
    starts[..., 1] = rng.uniform(-0.1, 0.1, starts.shape[:-1])
    return Piece.of(rng.normal(0, SPREAD, plan.shape(runs)), starts)


def two_levels(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return starts that are good or bad, evenly, by 5 %: two humps."""
    good = rng.integers(0, 2, (runs, plan.restarts, plan.steps, 2))
    return Piece.of(rng.normal(0, SPREAD, plan.shape(runs)), np.where(good, 0.05, 0.0))


def long_stalls(rng: np.random.Generator, runs: int, plan: Plan, *, share: float) -> Piece:
    """Return a server that stands still for 2 s, again and again.

    It is faster in between, by so much that both end equally many operations in the long run.
    """
    logs = rng.normal(0, SPREAD, plan.shape(runs))
    still = _spells(rng, runs, plan, share=share, seconds=2)[..., 1]
    mean = np.log(1 - share + share * _STANDSTILL)
    logs[..., 1] += np.where(still, np.log(_STANDSTILL), 0.0) - mean
    return _alike(logs)


def both_stall(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return two servers that each stand still for a second, 4 % of the time."""
    logs = rng.normal(0, SPREAD, plan.shape(runs))
    for server in range(2):
        still = _spells(rng, runs, plan, share=0.04, seconds=1)[..., server]
        logs[..., server] += np.where(still, np.log(_STANDSTILL), 0.0)
    return _alike(logs)


def stalls_of_one_step(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return a server that stands still for 1.5 s on one step, and never on the others."""
    share = 0.08
    logs = rng.normal(0, SPREAD, plan.shape(runs))
    still = _spells(rng, runs, plan, share=share, seconds=1.5)[:, :, 0, :, 1]
    mean = np.log(1 - share + share * _STANDSTILL)
    logs[:, :, 0, :, 1] += np.where(still, np.log(_STANDSTILL), 0.0) - mean
    return _alike(logs)


def slow_starts(rng: np.random.Generator, runs: int, plan: Plan) -> Piece:
    """Return a server of which one start in ten is a fifth slower, on all steps.

    Its other starts are faster, by so much that the mean of the logarithms is the other server's.
    """
    piece = uneven_starts(rng, runs, plan)
    slow = rng.random((runs, plan.restarts, 1)) < 0.1
    starts = piece.by_start.copy()
    starts[..., 1] += np.log(0.8) * (slow - 0.1)
    return Piece.of(piece.logs - piece.by_start[..., None, :], starts)


def layouts(rng: np.random.Generator, runs: int, plan: Plan, *, count: int | None = None) -> Piece:
    """Return two builds of one source whose layouts are faster or slower, by 1.3 % on a step.

    Each has so many layouts, one start after the other, or another one in each start.
    """
    numbers = np.arange(plan.restarts) % (count or plan.restarts)
    offsets = rng.normal(0, 0.013, (runs, int(numbers.max()) + 1, plan.steps, 2))
    piece = Piece.of(rng.normal(0, SPREAD, plan.shape(runs)), offsets[:, numbers])
    return replace(piece, clusters=numbers) if count != 1 else piece


def _alike(noise: Array) -> Piece:
    """Return noise that strikes both servers alike, whichever start of them it is."""
    return Piece.of(noise, np.zeros((*noise.shape[:3], 2)))


def _spells(
    rng: np.random.Generator, runs: int, plan: Plan, *, share: float, seconds: float
) -> Array:
    """Return 1 during spells that last ``seconds`` on average and take a share of the time."""
    leave = min(plan.slice_seconds / seconds, 1.0)
    enter = leave * share / (1 - share)
    state = rng.random(runs) < share
    chances = rng.random((plan.slices, runs))
    found = np.empty((plan.slices, runs))
    for each in range(plan.slices):
        state = np.where(state, chances[each] >= leave, chances[each] < enter)
        found[each] = state
    return np.ascontiguousarray(found.T).reshape(plan.shape(runs))


def _waves(rng: np.random.Generator, shape: tuple[int, ...], step: float) -> Array:
    """Return first-order autoregressive noise of variance 1; ``step`` is in correlation times."""
    keep = np.exp(-step)
    kicks = rng.normal(0, np.sqrt(1 - keep**2), shape)
    kicks[..., 0] = rng.normal(0, 1, shape[:-1])
    found: Array = lfilter([1.0], [1.0, -keep], kicks, axis=-1)
    return found
