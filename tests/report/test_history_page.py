"""What a report of a history has beyond that of other runs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dbhone.analysis.history import Change, Segment, VersionTrend
from dbhone.measurement.record import READY_MADE, Group, Role, Warning
from dbhone.report.context import short_names
from dbhone.report.formats.base import render
from dbhone.report.history import _change_words
from dbhone.report.page import Page, build_joined_page, build_page
from dbhone.report.table import Table
from dbhone.report.timeline import history_pictures
from tests.report.sample_history import (
    EXPERIMENT,
    TRUTH,
    VERSIONS,
    a_history,
    a_version,
    history_page,
    history_samples,
    of_group,
)
from tests.report.sample_run import changed, without
from tests.report.sample_servers import a_server_run
from tests.report.told import every_table, rows_of, tables_of


@pytest.fixture(scope="module")
def page(history: Page) -> Page:
    return history


def _found(page: Page) -> Table:
    (table,) = tables_of(page, "history")
    return table


class TestOrder:
    def test_versions_are_shown_in_the_order_that_the_experiment_declares(self, page: Page) -> None:
        assert [each.name for each in page.context.subjects] == [*VERSIONS, "control"]
        assert [column.title for column in tables_of(page, "groups")[0].columns[1:4]] == list(
            VERSIONS[1:]
        )

    def test_a_run_whose_experiment_declares_none_is_no_history(self) -> None:
        run = a_server_run()
        assert run.version_order == ()
        assert history_page(run).history is None

    @pytest.mark.parametrize(
        "text", ["[history", "history = 1", "[history]\norder = 3", "[history]\norder = ['other']"]
    )
    def test_an_experiment_that_cannot_be_meant_is_no_history(self, text: str) -> None:
        assert history_page(a_history(experiment=text)).history is None

    def test_a_version_that_was_left_out_is_not_looked_for(self) -> None:
        run = a_history(experiment=EXPERIMENT.replace('"8.0.33"', '"8.4.0", "8.0.33"'))
        assert run.version_order == VERSIONS

    def test_a_history_of_which_one_version_was_measured_is_none(self) -> None:
        run = a_history()
        alone = replace(run, subjects=run.subjects[:2])
        assert build_page(run, history_samples(alone)).history is None


class TestWords:
    def test_headline_tells_how_the_newest_does_and_what_changed(self, page: Page) -> None:
        assert page.headline.startswith(
            "8.0.33 runs sysbench:micro 1.008 times as fast as 5.6.14 (95 % interval 1.006 to "
            "1.010, 12 blocks). On the way, 2 of 32 steps changed: update-index fell "
            "to 0.56 between 5.7.22 and 8.0.12 and rose to 0.94 between 8.0.12 and 8.0.33; "
            "scan rose "
        )
        assert page.winner is None

    def test_headline_tells_that_different_compilers_built_the_versions(self) -> None:
        run = a_history()
        compilers = {"5.6.14": "gcc 4.1.2", "8.0.33": "gcc 7.2.1"}
        subjects = tuple(
            replace(each, variant=READY_MADE, compiler=compilers.get(each.name, "gcc 4.4.7"))
            for each in run.subjects
        )
        page = history_page(replace(run, subjects=subjects))
        assert " The versions were built by different compilers, which may be" in page.headline
        alike = tuple(replace(each, compiler="gcc 7.2.1") for each in subjects)
        page = history_page(replace(run, subjects=alike))
        assert "compilers" not in page.headline

    def test_headline_tells_of_a_newest_that_is_slower(self) -> None:
        run = a_history()
        truth = {("8.0.33", step.name): 0.7 for step in run.steps}
        page = history_page(run, truth=truth)
        assert page.headline.startswith(
            "8.0.33 is slower than 5.6.14 on sysbench:micro: 0.700 times as fast (95 % interval 0.6"
        )
        assert " On the way, 32 of 32 steps changed: " in page.headline

    def test_without_the_oldest_for_a_base_only_changes_are_told(self) -> None:
        run = changed(a_history(), "5.6.14", role=Role.CANDIDATE)
        page = history_page(changed(run, "5.7.22", role=Role.BASE), truth={})
        assert page.headline.startswith(
            "From 5.6.14 to 8.0.33 on sysbench:micro, no change was found in 32 steps ("
        )

    def test_headline_tells_what_would_have_been_found_where_nothing_changed(self) -> None:
        page = history_page(a_history(), truth={})
        assert page.headline == (
            "No difference was found between 8.0.33 and 5.6.14 on sysbench:micro: 0.999 times as "
            "fast (95 % interval 0.997 to 1.002, 12 blocks). On the way, no change was found in 32 "
            "steps (half of such runs would have found one of 5 to 9 %)."
        )

    def test_too_few_blocks_give_no_verdict(self) -> None:
        page = history_page(a_history(), blocks=4)
        assert "a verdict needs 6 blocks" in page.headline
        assert "32 steps: not enough data" in rows_of(_found(page))

    def test_many_changes_are_counted_in_the_headline_and_listed_in_the_table(self) -> None:
        run = a_history()
        truth = {
            ("8.0.33", step): 0.6 + place / 50
            for place, step in enumerate(of_group(run, Group.POINT))
        }
        page = history_page(run, truth=truth)
        assert page.headline.endswith("between 8.0.12 and 8.0.33; and 6 more.")
        names = list(rows_of(_found(page)))
        assert sum(" fell to " in name for name in names[names.index("steps") :]) == 9

    def test_what_creeps_is_told_as_such(self) -> None:
        truth = {
            (version, "point-query_range=100"): 0.96**age for age, version in enumerate(VERSIONS)
        }
        page = history_page(a_history(), truth=truth)
        assert "point-query fell to 0.89 in all, little by little" in page.headline


class TestTables:
    def test_changes_have_the_level_that_they_came_to_and_their_own_ratio(self, page: Page) -> None:
        rows = rows_of(_found(page))
        level, change = rows["update-index rose from 0.56 to 0.94 between 8.0.12 and 8.0.33"]
        assert level.startswith("0.936 ±")
        assert level.endswith("%"), "how far it is from the oldest is no verdict"
        assert change.startswith("1.671 ±")
        assert change.endswith(" +")

    def test_a_fall_that_ends_above_the_oldest_is_told_with_where_it_began(self) -> None:
        low, high, own = (
            Segment(versions=versions, ratio=ratio, low=ratio / 1.1, high=ratio * 1.1)
            for versions, ratio in ((("8.0",), 1.04), (("5.6", "5.7"), 1.2), (("5.7",), 1.31))
        )
        change = Change(
            before="5.7",
            after="8.0",
            ratio=0.7,
            low=0.6,
            high=0.8,
            p_adjusted=0.01,
            level=low,
            start=own,
            end=low,
        )
        trend = VersionTrend(
            step="scan",
            group=None,
            in_sample=False,
            versions=("5.6", "5.7", "8.0"),
            segments=(high, low),
            changes=(change,),
            overall=None,
            likely_cause=None,
            findable=0.1,
        )
        assert _change_words(change, trend) == "fell from 1.31 to 1.04 between 5.7 and 8.0"

    def test_groups_come_first_and_what_did_not_change_last(self, page: Page) -> None:
        names = list(rows_of(_found(page)))
        assert names[0] == "groups of steps"
        assert names[1] == "no change found in all steps together"
        assert names[-1] == "no change found in 30 other steps"

    def test_arrows_stand_where_a_change_begins(self, page: Page) -> None:
        steps = rows_of(tables_of(page, "steps")[0])
        assert [cell[0] for cell in steps["update-index_range=100"][1:4]] == ["1", "↓", "↑"]
        assert [cell[0] for cell in steps["scan_range=100"][1:4]] == ["↑", "1", "1"]
        assert rows_of(tables_of(page, "groups")[0])["write"][1].startswith("↓ ")

    def test_changes_stand_behind_the_summary(self, page: Page) -> None:
        assert every_table(page)[:2] == (page.summary, _found(page))

    def test_names_of_steps_are_short_where_that_is_plain(self, page: Page) -> None:
        short = short_names(page.run)
        assert short["update-index_range=100"] == "update-index"
        assert short["read-only_range=10"] == "read-only_range=10"


def test_pictures_show_groups_and_the_steps_that_changed(page: Page) -> None:
    groups, changed = history_pictures(page)
    assert "At 8.0.33, point is lowest" in groups.alternative
    for name in ("update-index", "scan"):
        assert name in changed.svg
    assert "insert" not in changed.svg


def test_a_history_without_changes_has_a_picture_of_its_groups_only() -> None:
    assert len(history_pictures(history_page(a_history(), truth={}))) == 1


def test_json_has_segments_and_changes(page: Page) -> None:
    history = json.loads(render(page, "json"))["history"]
    assert history["versions"] == list(VERSIONS)
    (step,) = (each for each in history["steps"] if each["step"] == "update-index_range=100")
    assert [each["versions"] for each in step["segments"]] == [
        ["5.6.14", "5.7.22"],
        ["8.0.12"],
        ["8.0.33"],
    ]
    assert [(each["before"], each["after"]) for each in step["changes"]] == [
        ("5.7.22", "8.0.12"),
        ("8.0.12", "8.0.33"),
    ]
    truth = TRUTH["8.0.12", "update-index_range=100"]
    assert step["segments"][1]["ratio"] == pytest.approx(truth, rel=0.05)
    fall = step["changes"][0]
    assert fall["start"]["versions"] == ["5.7.22"]
    assert fall["end"]["versions"] == ["8.0.12"]
    assert fall["end"]["ratio"] == pytest.approx(truth, rel=0.05)


def test_a_control_that_differs_from_itself_stands_before_the_headline() -> None:
    run = a_history()
    truth = {**TRUTH, **{("control", step.name): 0.7 for step in run.steps}}
    page = history_page(run, truth=truth)
    doubt = "Not to be trusted, since the base 5.6.14 differs from itself here: "
    assert page.headline.startswith(doubt)


def test_without_a_control_changes_are_found_as_well() -> None:
    page = history_page(without(a_history(), "control"))
    assert "update-index fell to 0.5" in page.headline


@pytest.fixture(scope="module")
def joined() -> Page:
    first = replace(a_history(), id=7)
    later = replace(
        first,
        id=8,
        experiment='[history]\norder = ["8.0.33", "9.7.2"]\n',
        experiment_name="/home/me/newer.toml",
        subjects=(
            replace(a_version("8.0.33"), role=Role.BASE),
            replace(a_version("control", Role.CONTROL), version="8.0.33"),
            a_version("9.7.2"),
        ),
    )
    return build_joined_page([(later, history_samples(later)), (first, history_samples(first))])


class TestJoined:
    """Two histories on one page."""

    def test_has_the_versions_of_both_and_one_control(self, joined: Page) -> None:
        assert [each.name for each in joined.context.subjects] == [*VERSIONS, "9.7.2", "control"]
        assert joined.analysis.base == "5.6.14"

    def test_says_of_which_runs_it_is_and_how_they_were_joined(self, joined: Page) -> None:
        assert joined.title.endswith("(runs 7 and 8 joined)")
        (note,) = (each for each in joined.footnotes if each.code == "joined")
        assert "run 7 and run 8 were joined by way of 8.0.33" in note.text
        names = [name for name, _ in joined.environment]
        assert [name for name in names if name.startswith(("Design", "Begun"))] == [
            "Design of run 7",
            "Begun of run 7",
            "Design of run 8",
            "Begun of run 8",
        ]

    def test_what_several_runs_have_to_say_in_the_same_words_is_told_once(self) -> None:
        first = replace(a_history(), id=7, warnings=(Warning(code="awake", text="no CPU slept"),))
        runs = [(each, history_samples(each)) for each in (first, replace(first, id=8))]
        said = [each.text for each in build_joined_page(runs).footnotes]
        assert [each for each in said if "no CPU slept" in each] == [
            "run 7 and run 8: no CPU slept"
        ]
        (how,) = (each for each in said if "were joined" in each)
        assert "by way of" not in how, "every version was measured by both"
        assert (
            "5.6.14, 5.7.22, 8.0.12, 8.0.33 and control are computed over the blocks of all" in how
        )

    def test_tells_how_to_repeat_each_run(self, joined: Page) -> None:
        assert [each.name for each in joined.repeat][1:] == ["newer.toml"]
        for name in ("html", "markdown"):
            text = render(joined, name).decode()
            assert "hone run newer.toml" in text
            assert "/home/me" not in text
        assert json.loads(render(joined, "json"))["joined"] == [7, 8]

    @pytest.mark.parametrize("name", ["text", "markdown", "html", "csv", "json", "tsv"])
    def test_can_be_told_in_every_format(self, joined: Page, name: str) -> None:
        assert b"9.7.2" in render(joined, name)
