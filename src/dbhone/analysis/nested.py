"""What differs between restarts, and what between rounds of one restart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbhone.analysis.allocation import LEAST_ROUNDS, Known
from dbhone.analysis.estimate import MINIMUM_FOR_INTERVAL
from dbhone.analysis.rounds import levels
from dbhone.measurement.sample_array import Array


def known(restarts: Sequence[Array]) -> Known | None:
    """Return what restarts tell of one step, None if they are too few or there is no pair.

    Each is rounds x subjects, the base first: the logarithms of the slices' rates, NaN where one
    is missing. Every other round of a restart gives ratios of its own; how far these lie from
    the other rounds' tells what a round is worth, whatever the noise is like. What that does not
    explain of how the restarts' ratios vary is between them (a method of moments). All are means
    over the subjects.
    """
    usable = [each for each in restarts if len(each) >= LEAST_ROUNDS and _has_pairs(each)]
    if len(usable) < MINIMUM_FOR_INTERVAL:
        return None
    total = float(np.var([_ratios(each) for each in usable], axis=0, ddof=1).mean())
    apart = [np.square(_ratios(each[::2]) - _ratios(each[1::2])).mean() for each in usable]
    rounds = [len(each) for each in usable]
    within = float(np.mean(np.array(apart) * rounds)) / 4
    explained = within * float(np.mean(1 / np.array(rounds)))
    return Known(error=total / len(usable), between=max(total - explained, 0.0), within=within)


def _has_pairs(logs: Array) -> bool:
    halves = (logs[::2], logs[1::2])
    return logs.shape[1] > 1 and not any(np.isnan(half).all(axis=0).any() for half in halves)


def _ratios(logs: Array) -> Array:
    found = levels(logs)
    ratios: Array = found[1:] - found[0]
    return ratios
