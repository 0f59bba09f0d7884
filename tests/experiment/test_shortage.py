from dataclasses import replace

import pytest

from dbhone.experiment.events import Stage
from dbhone.experiment.plan import Plan, PlannedStep
from dbhone.experiment.shortage import shortage
from dbhone.measurement.record import Design

DESIGN = Design(seed=1, target=0.02, budget_seconds=600.0, min_blocks=6, max_blocks=60)
BUILD = PlannedStep(stage=Stage.BUILD, what="rel", expected=300.0, done=False)
PLAN = Plan(steps=(BUILD,), measuring=300.0, block=60.0)


def test_a_budget_for_few_blocks_is_told_with_one_that_would_do() -> None:
    assert shortage(PLAN, DESIGN) == (
        "the budget of 10 m 00 s has time for about 5 blocks, and a verdict needs 6:"
        " '--budget 13m' would do"
    )


@pytest.mark.parametrize("block", [50.0, None])
def test_enough_time_and_time_that_only_trying_tells_need_no_word(block: float | None) -> None:
    assert shortage(replace(PLAN, block=block), DESIGN) is None


def test_who_wants_fewer_blocks_wants_no_verdict() -> None:
    assert shortage(PLAN, replace(DESIGN, min_blocks=2, max_blocks=3)) is None
