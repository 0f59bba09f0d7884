"""Plans: which steps there are, in which order, what they cost, and whether there is time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbhone.compilation.transforms.base import Pass
from dbhone.experiment.declaration.load import load_shipped, shipped_names
from dbhone.experiment.plan.events import Stage
from dbhone.experiment.plan.plan import (
    DONE,
    CheckSubjects,
    Compile,
    Cost,
    DataCost,
    Fetch,
    PlanProgress,
    PostLink,
    Train,
    Verify,
)
from dbhone.experiment.plan.planning import make_plan
from tests.experiment.experiment_files import GOOD
from tests.experiment.planned import Known, planned


def test_a_plan_names_every_step() -> None:
    plan = planned(GOOD, Known(kept={"rel": 1}))
    assert [(step.stage, step.cost.done) for step in plan.steps] == [
        (Stage.CHECK, False),
        (Stage.SOURCE, True),
        (Stage.BUILD, True),
        (Stage.BUILD, True),
        (Stage.BUILD, False),
        (Stage.TRAIN, False),
        (Stage.BUILD, False),
        (Stage.CHECK, False),
        (Stage.VERIFY, False),
        (Stage.VERIFY, False),
        (Stage.VERIFY, False),
        (Stage.CALIBRATE, False),
        (Stage.MEASURE, False),
    ]
    assert plan.steps[4].label == "pgo: rel+lto+pgo with clang, instrumented"
    assert plan.measure.cost.seconds == 90.0 - plan.preparing


def test_a_step_needs_only_what_steps_before_it_make() -> None:
    for name in shipped_names():
        made: set[str] = set()
        for step in make_plan(load_shipped(name), Known()).steps:
            assert set(step.needs) <= made, (name, step)
            assert step.makes not in made, (name, step)
            made.add(step.makes)


def test_an_instrumented_build_that_two_subjects_share_is_planned_once() -> None:
    text = GOOD.replace("[training]", 'both = { like = "pgo", variant = "pgo" }\n[training]')
    plan = planned(text)
    instrumented = [step for step in plan.steps if "instrumented" in step.label]
    assert [step.subjects for step in instrumented] == [("pgo", "both")]
    assert [step.subjects for step in plan.steps if isinstance(step, Train)] == [("pgo", "both")]


def test_a_post_link_optimiser_comes_after_whatever_compiles() -> None:
    text = GOOD.replace("[training]", 'bolt = { like = "pgo", variant = "pgo+bolt" }\n[training]')
    plan = planned(text)
    own = [step for step in plan.steps if "bolt" in step.subjects]
    chain = own[2 : own.index(next(step for step in own if isinstance(step, CheckSubjects)))]
    assert [type(step) for step in chain] == [Compile, Train, Compile, PostLink, Train, PostLink]
    instrument, first, linked, counting, second, last = chain
    assert instrument.subjects == ("pgo", "bolt")
    assert linked.needs[-1] == first.makes
    assert first.needs == (instrument.makes,)
    assert counting.needs == (linked.makes,)
    assert second.needs == (counting.makes,)
    assert last.needs == (linked.makes, second.makes)
    assert plan.builds["bolt"] == last.makes


def test_a_context_sensitive_profile_contains_the_one_before() -> None:
    text = GOOD.replace("[training]", 'cs = { like = "pgo", variant = "cspgo" }\n[training]')
    plan = planned(text)
    trainings = [step for step in plan.steps if isinstance(step, Train) and "cs" in step.subjects]
    first, second = trainings
    assert second.needs[1] == first.makes
    assert plan.builds["cs"].endswith(second.makes)


def test_the_profile_of_another_source_is_trained_on_that() -> None:
    text = GOOD.replace("[sources]", '[sources]\nold = "dir:old"').replace(
        "[training]", 'aged = { like = "pgo", profile_source = "old" }\n[training]'
    )
    plan = planned(text)
    own = [step for step in plan.steps if step.subjects == ("aged",)]
    fetched, instrumented, trained, used = own[:4]
    assert isinstance(fetched, Fetch)
    assert fetched.reference == "dir:old"
    assert isinstance(instrumented, Compile)
    assert isinstance(used, Compile)
    assert (instrumented.inputs.source, instrumented.needs) == ("dir:old", (fetched.makes,))
    assert trained.needs == (instrumented.makes,)
    assert used.needs[-1] == trained.makes
    assert used.inputs.source != "dir:old"
    assert plan.builds["aged"] == used.makes != plan.builds["pgo"]


def test_subjects_that_are_trained_otherwise_are_other_builds() -> None:
    text = GOOD.replace("[training]", 'orm = { like = "pgo", train = ["orm"] }\n[training]')
    plan = planned(text)
    assert sum(isinstance(step, Train) for step in plan.steps) == 2
    assert plan.builds["pgo"] != plan.builds["orm"]
    last = [step for step in plan.steps if isinstance(step, Compile) and step.pass_ is Pass.USE]
    assert [step.subjects for step in last] == [("pgo",), ("orm",)]


def test_a_control_that_is_no_build_of_its_own_shares_the_base() -> None:
    plan = planned(GOOD.replace(", rebuild = true", ""))
    assert plan.builds["control"] == plan.builds["rel"]


LATE = GOOD.replace(
    "[training]", 'late = { like = "rel", variant = "o3", optional = true }\n[training]'
)


def test_optional_subjects_for_which_there_is_no_time_are_tentative() -> None:
    plan = planned(LATE, Known({"o3": 60.0}))
    assert plan.tentative == ("late",)
    assert plan.preparing < 60.0
    assert all(step.tentative for step in plan.steps[:-1] if step.subjects == ("late",))
    assert planned(LATE, Known({"o3": 1.0})).tentative == ()


def test_optional_subjects_leave_time_for_the_least_blocks_where_it_is_known() -> None:
    variants = ("lto", "pgo", "o1", "o3", "lto+pgo")
    text = """
title = "Many"
base = "rel"
[sources]
postgresql = "apt:postgresql"
[subjects]
rel = {dbms = "postgresql", source = "postgresql", variant = "rel"}
""" + "".join(
        f'"{name}" = {{like = "rel", variant = "{name}", optional = true}}\n' for name in variants
    )
    text += '[workload]\nsuite = "sysbench:micro"\n[design]\nbudget = "30m"\n'
    plan = planned(text)
    assert plan.tentative
    certain = [name for name in variants if name not in plan.tentative]
    assert certain == list(variants[: len(certain)])
    assert plan.blocks is not None
    assert plan.blocks >= 6
    assert planned(text.replace("30m", "3h")).tentative == ()
    # Three blocks and no more leave time for further builds.
    few = planned(text + "blocks = { min = 3, max = 3 }\n")
    assert set(few.tentative) < set(plan.tentative)


def test_the_first_candidate_is_built_however_long_it_takes() -> None:
    text = """
title = "Two"
base = "rel"
[sources]
sqlite = "apt:sqlite3"
[subjects]
rel = { dbms = "sqlite", source = "sqlite" }
o3 = { like = "rel", variant = "o3", optional = true }
o1 = { like = "rel", variant = "o1", optional = true }
[workload]
suite = "speedtest1"
[design]
budget = "10m"
"""
    slow = Known({"o3": 6000.0, "o1": 6000.0})
    assert planned(text, slow).tentative == ("o1",)
    later = PlanProgress(broken={"o3": "it crashed"})
    assert planned(text, slow, later).tentative == ()


def test_optional_subjects_that_cannot_be_built_here_are_left_out() -> None:
    plan = planned(LATE, Known(absent=frozenset({"late"})))
    assert plan.left_out == {"late": "it is not there"}
    assert not any("late" in step.subjects for step in plan.steps)


def test_what_a_run_has_measured_is_not_verified_again() -> None:
    def verified(*measured: str) -> list[str]:
        plan = planned(GOOD, progress=PlanProgress(measured=frozenset(measured)))
        steps = [step for step in plan.steps if isinstance(step, Verify)]
        return [step.subject for step in steps if not step.cost.done]

    assert verified() == ["rel", "control", "pgo"]
    assert verified("rel", "control") == ["rel", "pgo"]
    assert verified("rel", "control", "pgo") == []


def test_what_blocks_have_already_is_never_tentative() -> None:
    progress = PlanProgress(measured=frozenset({"rel", "control", "late"}))
    assert planned(LATE, Known({"o3": 60.0}), progress).tentative == ()


def test_what_broke_before_takes_no_part() -> None:
    plan = planned(GOOD, progress=PlanProgress(broken={"pgo": "it crashed"}))
    assert set(plan.builds) == {"rel", "control"}


def test_data_is_loaded_once_and_copied_for_each_start() -> None:
    shipped = load_shipped("postgresql-builds")
    data = DataCost(
        label="rows", name="data", load=Cost(seconds=100.0), size=1000, copy_seconds=7.0
    )
    bare, plan = make_plan(shipped, Known()), make_plan(shipped, Known(data=data))
    added = [
        step.cost.seconds - other.cost.seconds
        for step, other in zip(plan.steps, bare.steps, strict=True)
        if isinstance(step, Train | Verify) and not step.tentative
    ]
    assert added == pytest.approx([107.0] + [7.0] * (len(added) - 1))
    assert plan.data == (data,)
    assert plan.measure.block_seconds is not None
    assert bare.measure.block_seconds is not None
    more = plan.measure.block_seconds - bare.measure.block_seconds
    assert more == pytest.approx(7.0 * len(plan.builds))


def test_kept_data_is_copied_and_not_loaded() -> None:
    shipped = load_shipped("postgresql-builds")
    data = DataCost(label="rows", name="data", load=DONE, size=1000, copy_seconds=7.0)
    bare, plan = make_plan(shipped, Known()), make_plan(shipped, Known(data=data))
    servers = [step for step in plan.steps if isinstance(step, Train | Verify)]
    assert plan.preparing - bare.preparing == pytest.approx(7.0 * len(servers))


def test_no_more_is_measured_than_the_most_blocks_take() -> None:
    shipped = load_shipped("postgresql-builds")
    long = replace(shipped, design=replace(shipped.design, budget_seconds=1e6, max_blocks=9))
    plan = make_plan(long, Known())
    block = plan.measure.block_seconds
    assert block is not None
    assert plan.blocks == 9
    assert plan.measure.cost.seconds == pytest.approx(9 * block)
