"""dbhone's own code on what its designs would have measured."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from benchmarks.statistics.methods.base import ALPHA, Judged, Method
from benchmarks.statistics.piece import Array, Piece
from dbhone.analysis.estimate import Estimates, estimate
from dbhone.analysis.multiplicity import holm
from dbhone.analysis.rounds import levels
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.measurement.round_noise import level_variances
from dbhone.measurement.sample_array import Logs
from dbhone.measurement.stall_noise import StallNoise
from dbhone.measurement.stalls import TrialStalls, trial_stalls, with_unseen

_ORDER = 1
"""The seed of the random order of subjects in a pass."""


@lru_cache(maxsize=1)  # two methods judge the same levels of one piece
def in_rounds(piece: Piece) -> Array:
    """Return each restart's levels, and of their difference what else is known of it.

    That is its variance by the rounds, its cluster, and the cumulants of the noise that the
    servers' stalls bring. As dbhone does, it leaves out the rounds in which a server seems not to
    have settled.
    """
    seen, left_out = _trials(piece.logs, piece.slice_seconds), piece.left_out()
    for place in map(tuple, np.argwhere(left_out)):
        seen[place] = _trials(piece.logs[place][left_out[place] :], piece.slice_seconds)
    clusters = np.arange(seen.shape[1]) if piece.clusters is None else piece.clusters
    labels = np.broadcast_to(clusters[:, None, None], (*seen.shape[:3], 1))
    parts = [seen[..., :3], labels, _stalls(seen[..., 3:])]
    return np.concatenate(parts, axis=-1).swapaxes(1, 2)


def _trials(logs: Array, slice_seconds: float) -> Array:
    """Return each server's level, the variance of their difference, and each server's stalls."""
    within = level_variances(logs).sum(axis=-1, keepdims=True)
    stalls = trial_stalls(logs, np.full(logs.shape, slice_seconds))
    parts = [levels(logs), within, stalls.count, stalls.variance, stalls.third]
    return np.concatenate(parts, axis=-1)


def _stalls(seen: Array) -> Array:
    """Return the cumulants of the servers' difference: runs x restarts x steps x 6.

    ``seen`` has the number of each server's stalls, and the cumulants of their noise.
    """
    count, variance, third = (part.ravel() for part in np.split(seen, 3, axis=-1))
    shape = (*seen.shape[:3], 2)
    run, _, step, server = np.indices(shape).reshape(4, -1)
    found = TrialStalls(count=count, variance=variance, third=third)
    cumulants = with_unseen(found, run * 2 + server, step).cumulants.reshape(2, 3, *shape)
    first, second = (StallNoise(cumulants=cumulants[..., server]) for server in range(2))
    return np.moveaxis((second - first).cumulants.reshape(6, *shape[:3]), 0, -1)


def in_long_slices(piece: Piece) -> Array:
    """Return each restart's rates if one subject has the first half of a step's time for itself."""
    alone = np.exp(piece.alone())
    half = alone.shape[-1] // 2
    parts = np.log(np.stack([alone[..., :half].mean(-1), alone[..., half:].mean(-1)], axis=-1))
    swapped = np.random.default_rng(_ORDER).random(parts.shape[:-1]) < 0.5
    logs: Array = np.where(swapped[..., None], parts[..., ::-1], parts) + piece.by_start
    return logs.swapaxes(1, 2)


def judge(seen: Array) -> Judged:
    """Tell what dbhone tells of each step, corrected for being one of several."""
    return _judged(estimate(_differences(seen)))


def judge_over_steps(seen: Array) -> Judged:
    """Tell what dbhone tells of all steps as one."""
    by_step = Logs.stacked([_differences(seen[:, step]) for step in range(seen.shape[1])])
    return _judged(estimate(by_step.mean()[:, None]))


def _differences(seen: Array) -> Logs:
    """Return the log ratios of what was seen, with their variances where there are rounds."""
    values = seen[..., 1] - seen[..., 0]
    if seen.shape[-1] == 2:
        return Logs.without_rounds(values)
    clusters = seen.reshape(-1, *seen.shape[-2:])[0, :, 3].astype(np.int32)
    cumulants = np.moveaxis(seen[..., 4:], -1, 0).reshape(2, 3, *values.shape)
    stalls = StallNoise(cumulants=cumulants)
    return Logs(values=values, within=seen[..., 2], clusters=clusters, stalls=stalls)


def _judged(found: Estimates) -> Judged:
    """Return the verdicts on estimates, runs x steps."""
    enough = np.where(found.count >= MINIMUM_BLOCKS, found.p, np.nan)
    adjusted = np.array([holm(run) for run in enough])
    return Judged(
        ratio=found.centre,
        different=adjusted < ALPHA,
        low=found.low,
        high=found.high,
    )


ROUNDS = Method(title="dbhone, short slices", seen=in_rounds, judge=judge, in_blocks=True)
PASSES = Method(
    title="dbhone, long slices", seen=in_long_slices, judge=judge, in_blocks=True, on_traces=False
)
OVER_STEPS = Method(
    title="dbhone, over all steps",
    seen=in_rounds,
    judge=judge_over_steps,
    in_blocks=True,
    over_steps=True,
)
