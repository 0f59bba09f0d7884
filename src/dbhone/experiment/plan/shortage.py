"""Whether the budget of a plan is enough for a verdict, and which one would be."""

from __future__ import annotations

from dataclasses import dataclass

from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan.plan import Plan, PlanProgress
from dbhone.units import count_of, duration, whole_minutes

_UNKNOWN_BLOCK = 30.0
"""About how many seconds a block takes where only calibration tells."""
_FEW_SECONDS = 60.0
"""Seconds of measuring that may be too few where only calibration tells how long a block takes."""
_CAUTION = 1.1
"""How much more than expected a budget should be, so that it is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why a budget gives no verdict, and the remedy, each in words.

    It is ``certain``, or a doubt where only calibration tells how long a block takes.
    """

    reason: str
    remedy: str
    certain: bool = True


def shortage(
    plan: Plan, experiment: Experiment, progress: PlanProgress | None = None
) -> Shortage | None:
    """Say why the budget is too small and which is enough, None if there is time for a verdict.

    ``progress`` is that of the run whose rest the plan is: one that has the blocks for a verdict
    needs time for another one. So does an experiment that wants no verdict.
    """
    progress, design = progress or PlanProgress(), experiment.design
    if progress.blocks >= design.max_blocks:
        return None
    wants_verdict = design.max_blocks >= MINIMUM_BLOCKS
    needed = max(1, MINIMUM_BLOCKS - progress.blocks) if wants_verdict else 1
    short = _too_short(plan, design.budget_seconds, progress, needed)
    doubt = None if short else _perhaps_too_short(plan, design.budget_seconds)
    reason = short or doubt
    if reason is None:
        return None
    block = plan.measure.block_seconds or _UNKNOWN_BLOCK
    further = plan.preparing + needed * block
    enough = whole_minutes(progress.seconds + further * _CAUTION)
    would = "would" if short else "would probably"
    return Shortage(
        reason=reason, remedy=f"'--budget {enough}' {would} do", certain=short is not None
    )


def _too_short(plan: Plan, seconds: float, progress: PlanProgress, needed: int) -> str | None:
    """Say why a budget has no time for the blocks that are ``needed``, None if it has."""
    used = f", of which {duration(progress.seconds)} are used," if progress.seconds else ""
    budget, blocks = f"the budget of {duration(seconds)}{used}", plan.blocks
    if plan.measure.cost.seconds <= 0:
        preparing = duration(plan.preparing)
        return f"{budget} leaves no time for measuring: to prepare takes about {preparing}"
    if blocks is None:
        return _less_than_least(plan, budget, needed)
    if blocks >= needed:
        return None
    if needed == 1:
        takes = duration(plan.measure.block_seconds or 0.0)
        which = "another" if progress.blocks else "a"
        return f"{budget} leaves no time for {which} block, which takes about {takes}"
    more = " more" if progress.blocks else ""
    time = count_of(blocks, f"{more} block".strip())
    return f"{budget} has time for about {time}, and a verdict needs {needed}{more}"


def _less_than_least(plan: Plan, budget: str, needed: int) -> str | None:
    """Say that blocks do not fit however fast this machine is, None if they may."""
    measuring, least = plan.measure.cost.seconds, needed * plan.measure.least_block_seconds
    if measuring >= least:
        return None
    blocks = count_of(needed, "block")
    return (
        f"{budget} leaves {duration(measuring)} for measuring, and the {blocks} that are needed"
        f" take {duration(least)} or more"
    )


def _perhaps_too_short(plan: Plan, seconds: float) -> str | None:
    """Say that the time may be too short where only calibration tells how long a block takes."""
    measuring = plan.measure.cost.seconds
    if plan.blocks is not None or measuring >= _FEW_SECONDS:
        return None
    return (
        f"the budget of {duration(seconds)} leaves {duration(measuring)} for measuring, which may"
        " be too little, since only calibration tells how long a block takes"
    )
