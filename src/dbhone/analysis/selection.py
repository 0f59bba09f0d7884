"""Which candidates of a search are measured on: those that may still be the best.

The method is sequential halving (Z. Karnin, T. Koren and O. Somekh, Almost optimal exploration in
multi-armed bandits, ICML 2013): in each rung the worse half of the candidates is dropped, and the
others are measured in twice as many blocks. Beside that a candidate is dropped as soon as it is
certainly worse than the leader in the blocks that both have, as in a race (O. Maron and A. Moore,
Hoeffding races, NIPS 1993, here with the t interval of ``estimate``). The measurements of earlier
rungs count, too.

What is found here chooses. It does not tell how good the chosen is: the best of many looks better
than it is, and so the winner is measured afresh.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.estimate import estimate
from dbhone.analysis.judged_steps import judged_steps
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Step
from dbhone.measurement.sample_array import Array, Logs, SampleArray

FIRST_BLOCKS = 3
"""The blocks of the first rung: the fewest from which a spread can be estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the blocks so far say of one candidate.

    ``ratio`` is its throughput over the base's, a geometric mean over steps and blocks. ``blocks``
    are those in which it was measured. It is ``beaten`` if it is certainly worse than the leader.
    """

    name: str
    ratio: float
    blocks: int
    beaten: bool


def block_scores(samples: SampleArray, base: str, steps: Collection[Step]) -> dict[str, Array]:
    """Return each subject's mean log ratio to the base over the steps, for each block.

    The steps are those by which subjects are judged. It is NaN in a block in which a step was not
    measured on either.
    """
    wanted = {step.name for step in judged_steps(samples, base, steps)}
    columns = [at for at, name in enumerate(samples.steps) if name in wanted]
    if base not in samples.subjects or not columns:
        return {}
    logs = samples.logs(THROUGHPUT).values[:, columns]
    ratios = (logs - logs[samples.subjects.index(base)]).mean(axis=1)
    return {name: ratios[at] for at, name in enumerate(samples.subjects) if name != base}


def pooled(rungs: Sequence[Mapping[str, Array]], lengths: Sequence[int]) -> dict[str, Array]:
    """Return the scores of all rungs' blocks one after the other, NaN where there is none."""
    names = dict.fromkeys(name for rung in rungs for name in rung)
    return {
        name: np.concatenate(
            [
                rung.get(name, np.full(length, np.nan))
                for rung, length in zip(rungs, lengths, strict=True)
            ]
        )
        for name in names
    }


def standings(scores: Mapping[str, Array]) -> tuple[Standing, ...]:
    """Return the candidates' standings, the best first; ``scores`` have one value for each block.

    All are compared with the one that was measured in most blocks, in the blocks that both have:
    a block that was good for all favours none.
    """
    known = {name: values for name, values in scores.items() if not np.isnan(values).all()}
    if not known:
        return ()
    means = {name: float(np.nanmean(values)) for name, values in known.items()}
    reference = max(known, key=lambda name: (_count(known[name]), means[name]))
    levels = {
        name: means[reference] + float(np.nanmean(values - known[reference]))
        for name, values in known.items()
        if _count(values - known[reference])
    }
    leader = max(levels, key=lambda name: levels[name])
    ordered = sorted(levels, key=lambda name: -levels[name])
    return tuple(
        Standing(
            name=name,
            ratio=math.exp(levels[name]),
            blocks=_count(known[name]),
            beaten=name != leader and _is_beaten(known[leader] - known[name]),
        )
        for name in ordered
    )


def survivors(ranked: Sequence[Standing]) -> tuple[str, ...]:
    """Return who is measured on, of standings with the best first: the better half, at most."""
    keep = math.ceil(len(ranked) / 2)
    return tuple(standing.name for standing in ranked if not standing.beaten)[:keep]


def blocks_of_rung(number: int) -> int:
    """Return the blocks of a rung; ``number`` counts from 0."""
    return int(FIRST_BLOCKS * 2**number)


def stage_ratio(after: Array, before: Array) -> tuple[float, float | None]:
    """Return what a stage brought, as a ratio, and the interval's half-width on its logarithm.

    ``after`` and ``before`` are scores with and without it, compared in the blocks that both have.
    NaN if there is no such block.
    """
    found = estimate(Logs.without_rounds(after - before))
    half = float(found.high - found.low) / 2
    return float(np.exp(found.centre)), None if math.isnan(half) else half


def _is_beaten(difference: Array) -> bool:
    """Return whether the leader is certainly better, by its lead in each block."""
    found = estimate(Logs.without_rounds(difference))
    return bool(found.low > 0)


def _count(values: Array) -> int:
    return int(np.count_nonzero(~np.isnan(values)))
