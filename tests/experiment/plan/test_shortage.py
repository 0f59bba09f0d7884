"""Budgets that leave too little time for a verdict are told, with one that would do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.compilation import builder
from dbhone.experiment.declaration.load import load_shipped, shipped_names
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.plan import PlanProgress
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.plan.shortage import Shortage, shortage
from dbhone.home import Home
from tests.experiment.planned import Known


@pytest.mark.parametrize("name", shipped_names())
def test_what_ships_has_time_for_a_verdict_on_two_cores(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "usual_jobs", lambda dbms: 2)
    experiment = load_shipped(name)
    plan = make_plan(experiment, BuildEstimator(Home(tmp_path)))
    assert shortage(plan, experiment) is None


def short_of(budget: float, **design: int) -> str | None:
    shipped = load_shipped("postgresql-builds")
    plan = make_plan(shipped, Known())
    assert plan.measure.block_seconds is not None
    limited = replace(shipped.design, budget_seconds=budget * plan.measure.block_seconds, **design)
    experiment = replace(shipped, design=limited)
    short = shortage(make_plan(experiment, Known(kept={"rel": 1})), experiment)
    return None if short is None else f"{short.reason}: {short.remedy}"


def test_a_budget_for_few_blocks_is_told_with_one_that_would_do() -> None:
    told = short_of(5.0)
    assert told is not None
    assert "has time for about" in told
    assert "a verdict needs 6: '--budget " in told


def test_enough_time_needs_no_word() -> None:
    assert short_of(50.0) is None


def test_who_wants_fewer_blocks_wants_no_verdict() -> None:
    assert short_of(5.0, min_blocks=2, max_blocks=3) is None


def test_who_wants_fewer_blocks_needs_time_for_one() -> None:
    told = short_of(0.5, min_blocks=2, max_blocks=3)
    assert told is not None
    assert "leaves no time for a block, which takes about" in told


def short_of_rest(budget: float, blocks: int) -> str | None:
    """Return what is said of a budget for a run of 1,000 s that has so many blocks of 300 s."""
    shipped = load_shipped("postgresql-builds")
    experiment = replace(shipped, design=replace(shipped.design, budget_seconds=budget))
    subjects = [subject.name for subject in experiment.subjects]
    progress = PlanProgress(
        seconds=1000.0, blocks=blocks, block_seconds=300.0, measured=frozenset(subjects)
    )
    every = {subject.inputs.variant.name: 9 for subject in experiment.subjects}
    short = shortage(make_plan(experiment, Known(kept=every), progress), experiment, progress)
    return None if short is None else f"{short.reason}: {short.remedy}"


def test_the_rest_of_a_run_needs_time_for_the_blocks_that_a_verdict_lacks() -> None:
    told = short_of_rest(1650.0, blocks=2)
    assert told is not None
    assert told.startswith("the budget of 27 m 30 s, of which 16 m 40 s are used, has time for")
    assert "about 2 more blocks, and a verdict needs 4 more: '--budget 39m' would do" in told
    assert short_of_rest(2250.0, blocks=2) is None


def test_a_run_that_has_its_verdict_needs_time_for_another_block() -> None:
    told = short_of_rest(1250.0, blocks=8)
    assert told is not None
    assert "leaves no time for another block, which takes about 5 m 00 s: '--budget 23m'" in told
    assert short_of_rest(1350.0, blocks=8) is None


def short_of_unknown(measuring: float) -> Shortage | None:
    """Return the shortage of a budget that leaves so many seconds for blocks of unknown length."""
    shipped = load_shipped("try")
    kept = {subject.inputs.variant.name: 9 for subject in shipped.subjects}
    preparing = make_plan(shipped, Known(kept=kept)).preparing
    budget = replace(shipped.design, budget_seconds=preparing + measuring)
    experiment = replace(shipped, design=budget)
    return shortage(make_plan(experiment, Known(kept=kept)), experiment)


def test_a_budget_is_refused_whose_blocks_take_longer_than_there_is_time_at_any_speed() -> None:
    short = short_of_unknown(2.0)
    assert short is not None
    assert short.certain
    assert "leaves 2.0 s for measuring, and the 6 blocks that are needed take" in short.reason


def test_a_short_time_for_blocks_of_unknown_length_is_told_as_a_doubt() -> None:
    short = short_of_unknown(30.0)
    assert short is not None
    assert not short.certain
    assert "which may be too little, since only calibration tells how long" in short.reason
    assert short.remedy.endswith("would probably do")
    assert short_of_unknown(300.0) is None
