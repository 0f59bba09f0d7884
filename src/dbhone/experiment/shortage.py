"""Whether the budget of a plan is enough for a verdict, and which one would be."""

from __future__ import annotations

from dataclasses import dataclass

from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.experiment.model import Experiment
from dbhone.experiment.plan import Plan, PlanProgress
from dbhone.units import count_of, duration, whole_minutes

_UNKNOWN_BLOCK = 30.0
"""About how many seconds a block takes where only calibration tells."""
_CAUTION = 1.1
"""How much more than expected a budget should be, so that it is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why a budget gives no verdict, and the remedy, each in words."""

    reason: str
    remedy: str


def shortage(
    plan: Plan, experiment: Experiment, progress: PlanProgress | None = None
) -> Shortage | None:
    """Say why the budget is too small and which is enough, None if there is time for a verdict.

    ``progress`` is that of the run whose rest the plan is: one that has the blocks for a verdict
    needs time for another one. So does an experiment that wants no verdict. None too where only
    calibration tells how long a block takes, as long as there is time for measuring at all.
    """
    progress, design = progress or PlanProgress(), experiment.design
    if progress.blocks >= design.max_blocks:
        return None
    wants_verdict = design.max_blocks >= MINIMUM_BLOCKS
    needed = max(1, MINIMUM_BLOCKS - progress.blocks) if wants_verdict else 1
    reason = _too_short(plan, design.budget_seconds, progress, needed)
    if reason is None:
        return None
    block = plan.measure.block_seconds or _UNKNOWN_BLOCK
    further = plan.preparing + needed * block
    enough = whole_minutes(progress.seconds + further * _CAUTION)
    return Shortage(reason=reason, remedy=f"'--budget {enough}' would do")


def _too_short(plan: Plan, seconds: float, progress: PlanProgress, needed: int) -> str | None:
    """Say why a budget has no time for the blocks that are ``needed``, None if it has."""
    used = f", of which {duration(progress.seconds)} are used," if progress.seconds else ""
    budget, blocks = f"the budget of {duration(seconds)}{used}", plan.blocks
    if plan.measure.cost.seconds <= 0:
        preparing = duration(plan.preparing)
        return f"{budget} leaves no time for measuring: to prepare takes about {preparing}"
    if blocks is None or blocks >= needed:
        return None
    if needed == 1:
        takes = duration(plan.measure.block_seconds or 0.0)
        which = "another" if progress.blocks else "a"
        return f"{budget} leaves no time for {which} block, which takes about {takes}"
    more = " more" if progress.blocks else ""
    time = count_of(blocks, f"{more} block".strip())
    return f"{budget} has time for about {time}, and a verdict needs {needed}{more}"
