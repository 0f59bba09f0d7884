"""Who is dropped in a search, and who is not: by properties, and by how often it is right."""

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.selection import row
from dbhone.analysis.selection import (
    block_scores,
    blocks_of_rung,
    pooled,
    stage_ratio,
    standings,
    survivors,
)
from dbhone.measurement.sample_array import Array
from tests.report.sample_run import Shape, a_run, samples

_LOGS = st.floats(-1, 1, allow_nan=False)


@st.composite
def _scores(draw: st.DrawFn) -> dict[str, Array]:
    """Up to eight candidates in three to six blocks; some were not measured in all of them."""
    count, blocks = draw(st.integers(1, 8)), draw(st.integers(3, 6))
    values = {
        f"c{at}": np.array(draw(st.lists(_LOGS, min_size=blocks, max_size=blocks)))
        for at in range(count)
    }
    for name, logs in values.items():
        if name != "c0" and draw(st.booleans()):
            logs[: draw(st.integers(1, blocks))] = np.nan
    return values


@given(_scores())
def test_the_leader_is_never_dropped_and_at_most_the_better_half_goes_on(
    scores: dict[str, Array],
) -> None:
    ranked = standings(scores)
    best = survivors(ranked)
    assert best[0] == ranked[0].name
    assert not ranked[0].beaten
    assert len(best) <= math.ceil(len(ranked) / 2)
    assert [each.ratio for each in ranked] == sorted((each.ratio for each in ranked), reverse=True)


@given(_scores(), st.lists(_LOGS, min_size=6, max_size=6))
def test_a_block_that_was_good_to_all_changes_no_order(
    scores: dict[str, Array], shifts: list[float]
) -> None:
    shifted = {name: values + np.array(shifts[: len(values)]) for name, values in scores.items()}
    before, after = standings(scores), standings(shifted)
    ratios = {each.name: each.ratio for each in before}
    for first, second in itertools.pairwise(after):
        assert math.log(ratios[first.name]) >= math.log(ratios[second.name]) - 1e-9


@given(_scores())
def test_who_was_not_measured_has_no_standing(scores: dict[str, Array]) -> None:
    absent = {"absent": np.full(len(scores["c0"]), np.nan)}
    assert standings(scores | absent) == standings(scores)


def test_who_is_certainly_worse_is_dropped_though_among_the_better_half() -> None:
    noise = np.array([0.001, -0.001, 0.0])
    scores = {"best": 0.2 + noise, "worse": 0.1 - noise, "bad": noise, "worst": noise - 0.1}
    assert survivors(standings(scores)) == ("best",)


def test_what_is_close_is_measured_on() -> None:
    a, b = np.array([0.2, 0.25, 0.21]), np.array([0.22, 0.2, 0.23])
    assert set(survivors(standings({"a": a, "b": b, "c": a - 1, "d": b - 1}))) == {"a", "b"}


def test_blocks_of_all_rungs_count_and_each_rung_has_twice_as_many() -> None:
    parts = [{"a": np.zeros(3), "b": np.ones(3)}, {"b": np.ones(6)}]
    scores = pooled(parts, [3, 6])
    assert np.isnan(scores["a"][3:]).all()
    assert [each.blocks for each in standings(scores)] == [9, 3]
    assert [blocks_of_rung(number) for number in range(3)] == [3, 6, 12]


def test_scores_are_of_held_out_steps_where_there_are_any() -> None:
    run = a_run()
    measured = samples(run, Shape(effects={"pgo": (1.1, 2.0)}, blocks=9))
    scores = block_scores(measured, "rel", run.steps)
    assert math.isclose(np.exp(scores["pgo"].mean()), 1.1, rel_tol=0.03)
    trained = tuple(step for step in run.steps if step.in_sample)
    assert math.isclose(
        np.exp(block_scores(measured, "rel", trained)["pgo"].mean()), 2.0, rel_tol=0.03
    )


def test_a_stage_brings_the_ratio_of_the_blocks_that_both_have() -> None:
    before = np.array([0.0, 0.1, 0.05, np.nan])
    ratio, half = stage_ratio(before + math.log(1.1), before)
    assert math.isclose(ratio, 1.1)
    assert half is not None
    assert half < 1e-9


def test_a_search_is_more_often_right_than_measuring_all_for_as_long() -> None:
    """docs/tune.md has the whole table."""
    right, cost, same, needed = row(14, 0.01, 0.02)
    assert right > same
    assert needed > 1.5 * cost
