"""Changes through versions: those that are there are found, where they are, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbhone.analysis import change_points
from dbhone.analysis.change_points import LEAST_CHANGE, find_changes
from dbhone.analysis.comparison import analyse
from dbhone.analysis.history import History, Lineage, VersionTrend
from dbhone.measurement.record import Group, Step
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import Array, noisy, samples

_GROUPS = (Group.POINT, Group.RANGE, Group.AGGREGATE, Group.WRITE)


def _steps(names: Sequence[str], *, trained: Sequence[str] = ()) -> tuple[Step, ...]:
    return tuple(
        Step(set=name, key="", title="", group=_GROUPS[int(name) % 4], in_sample=name in trained)
        for name in names
    )


def _found(values: Array, *, controls: Mapping[str, str] | None = None) -> History:
    of = samples(values)
    again = controls or {}
    versions = tuple(name for name in of.subjects if name not in again)
    lineage = Lineage(versions=versions, controls=again)
    return find_changes(of, lineage, steps=_steps(of.steps))


def _planted(ratio: float, *, step: int, after: int, seed: int = 1, blocks: int = 10) -> Array:
    """Return five versions and eight steps; from one version on one step's throughput differs."""
    values = noisy(seed, (5, 8, blocks), (1.0,) * 5)
    values[after:, step] *= ratio
    return values


def _sole(history: History) -> VersionTrend:
    (changed,) = (each for each in history.steps if each.changes)
    return changed


class TestAChange:
    def test_is_found_at_its_step_between_its_versions(self) -> None:
        trend = _sole(_found(_planted(0.55, step=3, after=2)))
        (change,) = trend.changes
        assert (trend.step, change.before, change.after) == ("3", "b", "c")
        assert change.ratio == pytest.approx(0.55, rel=0.05)
        assert change.low < 0.55 < change.high
        assert change.p_adjusted < 0.05

    def test_parts_the_versions_into_segments_relative_to_the_first_version(self) -> None:
        trend = _sole(_found(_planted(0.55, step=3, after=2)))
        assert [each.versions for each in trend.segments] == [("a", "b"), ("c", "d", "e")]
        assert [each.ratio for each in trend.segments] == pytest.approx([1.0, 0.55], rel=0.05)
        assert trend.changes[0].level is trend.segments[1]

    def test_has_both_versions_own_ratios_whatever_lies_beside_them(self) -> None:
        """What was only not found, such as a fall by 4 %, is no part of another's figure."""
        values = noisy(3, (4, 2, 20), (1.0, 1.0, 1.5, 1.44), spread=0.002)
        (change,) = _found(values).steps[0].changes
        assert (change.start.versions, change.end.versions) == (("b",), ("c",))
        assert change.end.ratio == pytest.approx(1.5, rel=0.003)
        assert change.level.ratio == pytest.approx(1.47, rel=0.003)

    def test_and_its_undoing_are_two_changes(self) -> None:
        values = _planted(0.5, step=0, after=1)
        values[3:, 0] *= 2.0
        trend = _sole(_found(values))
        assert [(each.before, each.after) for each in trend.changes] == [("a", "b"), ("c", "d")]
        assert [round(each.ratio, 1) for each in trend.segments] == [1.0, 0.5, 1.0]

    def test_of_less_than_the_least_is_not_told_however_certain(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        values = noisy(5, (3, 4, 40), (1.0, 1.03, 1.03), spread=0.002)
        assert not any(each.changes for each in _found(values).steps)
        monkeypatch.setattr(change_points, "LEAST_CHANGE", 0.01)
        assert all(each.changes for each in _found(values).steps)

    def test_no_larger_than_what_the_control_shows_on_that_step_is_not_told(self) -> None:
        values = noisy(6, (4, 2, 20), (1.0, 0.8, 0.8, 1.0), spread=0.01)
        values[3, 0] *= 0.7  # the control differs from itself on the first step
        first, second = _found(values, controls={"d": "a"}).steps
        assert not first.changes
        assert [each.after for each in second.changes] == ["b"]

    def test_of_all_steps_of_a_group_is_found_in_the_group(self) -> None:
        values = noisy(7, (3, 8, 10), (1.0,) * 3)
        values[2, [1, 5]] *= 0.7  # the range steps
        groups = {each.group: each for each in _found(values).groups}
        assert [each.after for each in groups[Group.RANGE].changes] == ["c"]
        assert not groups[Group.POINT].changes
        assert set(groups) == {None, *_GROUPS}

    def test_of_a_part_is_found_in_it_and_in_no_group(self) -> None:
        values = noisy(7, (3, 4, 10), (1.0,) * 3)
        values[2, 3] *= 0.3  # of the last step, which is a part of the first
        names = ("0", "1", "2", "0/rare")
        first, *others = _steps(names[:3])
        steps = (first, *others, replace(first, key="rare"))
        of = replace(samples(values), steps=names)
        found = find_changes(of, Lineage(versions=of.subjects, controls={}), steps=steps)
        assert _sole(found).step == "0/rare"
        assert not any(group.changes for group in found.groups)
        analysis = analyse(of, base="a", steps=steps)
        for group in found.groups:
            (segment,) = group.segments
            ratios = [score.ratio for score in analysis.summaries if score.group == group.group]
            mean = np.exp(np.log([1.0, *ratios]).mean())
            assert segment.ratio == pytest.approx(mean, rel=1e-6)

    def test_that_creeps_is_told_from_end_to_end(self) -> None:
        values = noisy(8, (9, 3, 6), tuple(1.07**power for power in range(9)), spread=0.05)
        trend = next(each for each in _found(values).steps if not each.changes)
        assert trend.overall is not None
        assert (trend.overall.before, trend.overall.after) == ("a", "i")
        assert trend.overall.ratio == pytest.approx(1.07**8, rel=0.15)
        assert trend.likely_cause is None

    def test_that_is_sure_from_end_to_end_alone_is_said_to_lie_where_it_seems_to(self) -> None:
        values = noisy(8, (3, 1, 8), (1.0, 1.0, 1.3), spread=0.01)
        values[1] *= np.tile((0.7, 1.4), 4)  # the version before the change is badly known
        (trend,) = _found(values).steps
        assert not trend.changes
        assert trend.overall is not None
        assert trend.likely_cause == "c"


class TestWhereNothingChanged:
    def test_hardly_a_run_has_a_false_alarm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(change_points, "LEAST_CHANGE", 0.0)
        runs = 300
        alarms = 0
        for seed in range(runs):
            values = noisy(seed, (5, 12, 8), (1.0,) * 5, spread=0.1)
            found = _found(values)
            alarms += any(each.changes or each.overall for each in found.steps)
        assert alarms / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5

    def test_it_says_what_would_have_been_found(self) -> None:
        quiet = _found(noisy(1, (4, 6, 12), (1.0,) * 4, spread=0.03))
        for trend in quiet.steps:
            assert trend.findable is not None
            assert trend.findable >= LEAST_CHANGE
        most = max(each.findable or 0.0 for each in quiet.steps)
        values = noisy(1, (4, 6, 12), (1.0,) * 4, spread=0.03)
        values[2:] *= 1 / (1 + most) / 1.1
        assert all(each.changes for each in _found(values).steps)

    def test_fewer_blocks_than_a_verdict_needs_find_nothing(self) -> None:
        history = _found(_planted(0.3, step=0, after=1, blocks=5))
        assert not any(each.changes or each.overall for each in history.steps)
        assert {each.findable for each in history.steps} == {None}


class TestWhatIsMissing:
    def test_a_version_that_few_blocks_have_does_not_hide_its_neighbours(self) -> None:
        values = _planted(0.55, step=3, after=3)
        values[2, :, 3:] = np.nan  # it died early
        trend = _sole(_found(values))
        assert trend.versions == ("a", "b", "d", "e")
        assert [(each.before, each.after) for each in trend.changes] == [("b", "d")]

    def test_a_step_that_one_version_lacks_leaves_its_group_whole(self) -> None:
        values = noisy(2, (3, 8, 10), (1.0,) * 3)
        values[1, 0] = np.nan
        history = _found(values)
        assert history.steps[0].versions == ("a", "c")
        assert all(each.versions == ("a", "b", "c") for each in history.groups)

    def test_nothing_measured_is_no_history(self) -> None:
        empty = samples(np.zeros((0, 0, 0)))
        assert find_changes(empty, Lineage(versions=("a", "b")), steps=()).steps == ()

    def test_in_sample_steps_are_never_in_one_figure_with_others(self) -> None:
        of = samples(noisy(3, (3, 8, 8), (1.0,) * 3))
        steps = _steps(of.steps, trained=("0", "1"))
        found = find_changes(of, Lineage(versions=of.subjects), steps=steps)
        assert [each.in_sample for each in found.groups if each.group is None] == [False, True]


def _shape(history: History) -> list[tuple[str | None, list[tuple[str, str, float]]]]:
    return sorted(
        (
            each.step,
            [(it.before, it.after, round(it.ratio, 9)) for it in each.changes],
        )
        for each in history.steps
    )


@settings(max_examples=20)
@given(st.permutations(range(8)), st.integers(0, 20))
def test_the_order_of_the_steps_does_not_matter(order: list[int], seed: int) -> None:
    values = _planted(0.7, step=2, after=3, seed=seed)
    of = samples(values)
    moved = samples(values[:, order])
    moved = replace(moved, steps=tuple(str(each) for each in order))
    assert _shape(_of(of)) == _shape(_of(moved))


@settings(max_examples=20)
@given(st.floats(1e-6, 1e6), st.integers(0, 20))
def test_the_unit_of_the_figures_does_not_matter(scale: float, seed: int) -> None:
    values = _planted(0.7, step=2, after=3, seed=seed)
    assert _shape(_found(values)) == _shape(_found(values * scale))


@settings(max_examples=20)
@given(st.integers(0, 20))
def test_backwards_through_time_every_change_is_turned_round(seed: int) -> None:
    values = _planted(0.7, step=2, after=3, seed=seed)
    forth = {each.step: each.changes for each in _found(values).steps}
    back = {each.step: each.changes for each in _found(values[::-1].copy()).steps}
    for step, changes in forth.items():
        assert sorted(each.ratio for each in changes) == pytest.approx(
            sorted(1 / each.ratio for each in back[step])
        )


def _of(of: SampleArray) -> History:
    return find_changes(of, Lineage(versions=of.subjects), steps=_steps(sorted(of.steps)))
