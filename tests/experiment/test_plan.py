"""Plans and the order of blocks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.transforms.base import Pass
from dbhone.experiment.events import Stage
from dbhone.experiment.load import load_shipped, parse
from dbhone.experiment.plan import BuildOutlook, block_order, make_plan
from tests.experiment.test_load import GOOD

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8, unique=True).map(tuple)


@given(seed=st.integers(0, 2**32 - 1), block=st.integers(0, 1000), sets=NAMES, subjects=NAMES)
def test_a_block_is_every_set_on_every_subject_once(
    seed: int, block: int, sets: tuple[str, ...], subjects: tuple[str, ...]
) -> None:
    order = block_order(seed, block, sets, subjects)
    assert sorted(name for name, _ in order) == sorted(sets)
    assert all(sorted(each) == sorted(subjects) for _, each in order)
    assert order == block_order(seed, block, sets, subjects)


@given(seed=st.integers(0, 2**32 - 1), sets=NAMES, subjects=NAMES)
def test_an_ordered_block_keeps_the_order_of_its_sets(
    seed: int, sets: tuple[str, ...], subjects: tuple[str, ...]
) -> None:
    order = block_order(seed, 0, sets, subjects, ordered=True)
    assert tuple(name for name, _ in order) == sets
    assert all(sorted(each) == sorted(subjects) for _, each in order)


def test_every_subject_is_first_about_equally_often() -> None:
    subjects = ("a", "b", "c", "d")
    firsts = [block_order(1, block, ("main",), subjects)[0][1][0] for block in range(400)]
    assert all(70 < firsts.count(name) < 130 for name in subjects)


def test_another_seed_is_another_order() -> None:
    orders = {block_order(seed, 0, ("m",), tuple("abcdef")) for seed in range(20)}
    assert len(orders) > 10


def is_rel(inputs: BuildInputs) -> bool:
    return inputs.variant.name == "rel" and not inputs.copy_number


def outlook(inputs: BuildInputs, pass_: Pass) -> BuildOutlook:
    identity = f"{inputs.compiler} {pass_} {inputs.variant.name if pass_ != 'instrument' else ''}"
    return BuildOutlook(
        identity=f"{identity} {inputs.copy_number}",
        expected=0.0 if is_rel(inputs) else 10.0,
        done=is_rel(inputs),
    )


def test_a_plan_names_every_step_before_the_measuring() -> None:
    plan = make_plan(parse(GOOD, name="x.toml"), outlook, lambda _: True)
    assert [(step.stage, step.done) for step in plan.steps] == [
        (Stage.SOURCE, True),
        (Stage.BUILD, True),
        (Stage.BUILD, False),
        (Stage.BUILD, False),
        (Stage.TRAIN, False),
        (Stage.BUILD, False),
        (Stage.PROVE, False),
        (Stage.PROVE, False),
        (Stage.PROVE, False),
    ]
    assert plan.steps[3].what == "pgo: rel+lto+pgo with clang, instrumented"
    assert plan.measuring == 90.0 - plan.preparing


def test_an_instrumented_build_that_two_subjects_share_is_planned_once() -> None:
    text = GOOD.replace("[training]", 'both = { like = "pgo", variant = "pgo" }\n[training]')
    plan = make_plan(parse(text, name="x.toml"), outlook, lambda _: True)
    instrumented = [step for step in plan.steps if "instrumented" in step.what]
    assert len(instrumented) == 1
    assert sum(step.stage is Stage.TRAIN for step in plan.steps) == 1


def test_optional_subjects_for_which_there_is_no_time_are_left_out() -> None:
    more = """late = { like = "rel", variant = "o3", optional = true }
[training]"""
    short = parse(GOOD.replace("[training]", more), name="x.toml")

    def slow(inputs: BuildInputs, pass_: Pass) -> BuildOutlook:
        known = outlook(inputs, pass_)
        late = inputs.variant.name == "o3"
        return replace(known, expected=60.0, done=False) if late else known

    plan = make_plan(short, slow, lambda _: True)
    assert plan.left_out == ("late",)
    assert not any("late" in step.what for step in plan.steps)
    assert make_plan(short, outlook, lambda _: True).left_out == ()


def test_no_more_is_measured_than_the_most_blocks_take() -> None:
    shipped = load_shipped("postgresql-builds")
    long = replace(shipped, design=replace(shipped.design, budget_seconds=1e6, max_blocks=9))
    plan = make_plan(long, outlook, lambda _: True)
    assert plan.block is not None
    assert plan.blocks == 9
    assert plan.measuring == pytest.approx(9 * plan.block)
