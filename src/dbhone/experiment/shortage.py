"""Whether a budget has time for a verdict, before it is spent. Pure."""

from __future__ import annotations

from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.experiment.plan import Plan
from dbhone.measurement.record import Design
from dbhone.units import count_of, duration, whole_minutes

_CAUTION = 1.1
"""Of the time that is expected, so that it does."""


def shortage(plan: Plan, design: Design) -> str | None:
    """Return how many blocks fit and what budget would do, None if there is time for a verdict.

    None too where only trying tells, and where no verdict is wanted.
    """
    if plan.blocks is None or plan.block is None or design.max_blocks < MINIMUM_BLOCKS:
        return None
    if plan.blocks >= MINIMUM_BLOCKS:
        return None
    enough = (plan.preparing + MINIMUM_BLOCKS * plan.block) * _CAUTION
    return (
        f"the budget of {duration(design.budget_seconds)} has time for about"
        f" {count_of(plan.blocks, 'block')}, and a verdict needs {MINIMUM_BLOCKS}:"
        f" '--budget {whole_minutes(enough)}' would do"
    )
