"""Published results beside a run's own: which belong together, and what is never shown."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.errors import UnknownName, UsageError
from dbhone.measurement.metric import BY_NAME
from dbhone.measurement.record import Group
from dbhone.report.formats.base import render
from dbhone.report.page import Page, with_published
from dbhone.report.publication import load_publication, parse_choice, publication_names
from dbhone.report.published_comparison import PublishedComparison
from dbhone.report.table import plain
from dbhone.workload import suite as suites
from tests.report.odd_runs import odd_page, odd_runs
from tests.report.sample_run import a_run, changed, run_page, without
from tests.report.sample_servers import THREADS, a_hiroi10_run, a_sweep_run, server_page
from tests.report.told import tables_of

Golden = Callable[[str, bytes], None]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sweep() -> Page:
    return server_page(a_hiroi10_run())


def _one(page: Page, word: str) -> PublishedComparison:
    (found,) = with_published(page, [word]).published
    return found


class TestPublications:
    @pytest.mark.parametrize("name", publication_names())
    def test_figures_fit_what_they_are_of(self, name: str) -> None:
        of = load_publication(name)
        known = suites.load(of.suite).sets if of.suite else {}
        assert bool(known) == bool(of.steps)
        assert of.base in of.subjects
        assert of.steps or of.groups or of.build_seconds
        for figures in of.steps:
            assert figures.step in known
            assert figures.metric in BY_NAME
            assert {len(each) for each in figures.values.values()} == {len(figures.threads)}
            assert set(figures.values) == set(of.subjects)
        for group in of.groups:
            assert set(group.groups) <= {each.value for each in Group}
            assert set(group.values) == set(of.candidates)
            for spread in group.values.values():
                assert spread.min <= spread.median <= spread.max
                assert spread.min <= spread.average <= spread.max
        assert not of.build_seconds or set(of.build_seconds) == set(of.subjects)

    @pytest.mark.parametrize("name", publication_names())
    def test_is_documented(self, name: str) -> None:
        assert f"| `{name}` |" in (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")

    def test_unknown_one_names_the_nearest(self) -> None:
        with pytest.raises(UnknownName) as error:
            parse_choice("hiroi10-pgi")
        assert error.value.hint == "did you mean 'hiroi10-pgo'?"


class TestWhoStandsForWhom:
    def test_a_candidate_of_that_variant(self, sweep: Page) -> None:
        pair = _one(sweep, "hiroi10-pgo").pair
        assert (pair.theirs, pair.mine.name, pair.why) == ("pgo", "lto+pgo", "by its variant")

    def test_whom_the_user_says(self, sweep: Page) -> None:
        pair = _one(sweep, "hiroi10-pgo:pgo=lto").pair
        assert (pair.mine.name, pair.why) == ("lto", "as you said")

    @pytest.mark.parametrize(
        ("base", "candidate"),
        [
            ({"variant": "ready-made"}, {"variant": "ready-made", "dbms": "mariadb"}),
            ({"variant": "rel"}, {"variant": "ready-made", "dbms": "mariadb"}),
            ({"variant": "rel"}, {"variant": "rel+lto", "version": "16.1"}),
            ({"variant": "rel"}, {"variant": "rel+lto"}),
        ],
    )
    def test_unlike_pairs_are_not_set_beside_by_themselves(
        self, base: dict[str, str], candidate: dict[str, str]
    ) -> None:
        run = without(a_hiroi10_run(), "lto+pgo")
        page = server_page(changed(changed(run, "rel", **base), "lto", **candidate))
        with pytest.raises(UsageError, match="no candidate of run 12 has a variant") as error:
            with_published(page, ["hiroi10-pgo"])
        assert error.value.hint == "pair them by name: --beside hiroi10-pgo:pgo=lto"
        assert _one(page, "hiroi10-pgo:pgo=lto").pair.why == "as you said"

    def test_debug_information_makes_no_other_variant(self, server: Page) -> None:
        page = server_page(changed(server.run, "lto", variant="rel+g+lto"))
        assert _one(page, "callaghan-builds-cached").pair.theirs == "rel_o2_lto"

    def test_a_build_without_it_differs_from_a_base_with_it(self, server: Page) -> None:
        run = changed(without(server.run, "lto+pgo"), "lto", variant="rel")
        page = server_page(changed(run, "rel", variant="rel+g"))
        assert _one(page, "callaghan-builds-cached").pair.theirs == "rel_o2"

    def test_a_build_with_it_is_no_candidate_beside_a_base_without(self, server: Page) -> None:
        page = server_page(changed(without(server.run, "lto+pgo"), "lto", variant="rel+g"))
        with pytest.raises(UsageError, match="no candidate of run 12 has a variant"):
            with_published(page, ["callaghan-builds-cached"])

    def test_a_broken_candidate_stands_for_nobody(self) -> None:
        page = server_page(changed(a_hiroi10_run(), "lto+pgo", broken="it crashed"))
        with pytest.raises(UnknownName, match="no sound candidate of run 12 'lto\\+pgo'"):
            with_published(page, ["hiroi10-pgo:pgo=lto+pgo"])

    def test_nobody_says_how_to_say_it(self, server: Page) -> None:
        with pytest.raises(UsageError, match="no candidate of run 12 has a version") as error:
            with_published(server, ["callaghan-versions-cached"])
        assert error.value.hint == (
            "pair them by name: --beside callaghan-versions-cached:5.7.40=lto"
        )

    @pytest.mark.parametrize(
        ("word", "message"),
        [
            ("hiroi10-pgo:", "is not a valid choice"),
            ("hiroi10-pgo:pgo", "is not a valid choice"),
            ("hiroi10-pgo:normal=lto", "is the base"),
            ("hiroi10-pgo:pgi=lto", "no subject of hiroi10-pgo 'pgi'"),
            ("hiroi10-pgo:pgo=ltoo", "no sound candidate of run 12 'ltoo'"),
        ],
    )
    def test_words_that_cannot_be_meant(self, sweep: Page, word: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            with_published(sweep, [word])


class TestRows:
    def test_published_ratio_is_that_of_the_authors_figures(self, sweep: Page) -> None:
        rows = _one(sweep, "hiroi10-pgo").rows
        first = next(each for each in rows if each.what == "simple-select" and each.threads == 1)
        assert first.published == pytest.approx(14791.91 / 9536.00)

    def test_own_ratio_and_interval_are_the_effects(self, sweep: Page) -> None:
        effects = {
            (each.step, each.metric): (each.ratio, each.low, each.high)
            for each in sweep.analysis.effects
            if each.subject == "lto+pgo"
        }
        for row in _one(sweep, "hiroi10-pgo").rows:
            own = effects[f"{row.what}@{row.threads}", row.metric]
            assert (row.ratio, row.low, row.high) == own

    def test_what_does_not_match_is_counted(self, sweep: Page) -> None:
        found = _one(sweep, "hiroi10-pgo")
        # Three of the four workloads, at seven of the eleven numbers of threads, in two metrics.
        assert {row.threads for row in found.rows} == set(THREADS)
        assert (len(found.rows), found.unmatched, found.alone) == (42, 4 * 11 * 2 - 42, 0)

    def test_steps_only_match_at_the_same_number_of_threads(self, server: Page) -> None:
        found = _one(server, "jiang-pgo")
        assert found.rows == ()
        assert (found.unmatched, found.alone) == (2, len(server.run.steps))

    def test_held_out_and_in_sample_steps_stay_apart(self, sweep: Page, server: Page) -> None:
        parts = [row.in_sample for row in _one(sweep, "hiroi10-pgo").rows]
        assert parts == sorted(parts, key=bool)
        assert set(parts) == {False, True}
        rows = _one(server, "callaghan-builds-cached").rows
        assert {row.in_sample for row in rows if row.what == "write: average"} == {False, True}

    def test_only_the_average_of_a_group_has_an_interval(self, server: Page) -> None:
        for row in _one(server, "callaghan-builds-cached").rows:
            assert (row.lies is not None) == row.what.endswith(": average")

    def test_an_average_is_the_spread_tables(self, server: Page) -> None:
        rows = {row.what: row for row in _one(server, "callaghan-builds-cached").rows}
        summary = server.analysis.summary(
            "lto", in_sample=False, group=Group.POINT, metric="throughput"
        )
        assert summary is not None
        assert rows["point: average"].ratio == pytest.approx(summary.mean)

    def test_what_one_part_of_the_steps_has_is_not_unmatched(self, server: Page) -> None:
        """A single in-sample step has no standard deviation; several held-out ones have."""
        found = _one(server, "callaghan-builds-cached")
        assert {row.what for row in found.rows if row.what.endswith("stddev")} == {
            f"{group}: stddev" for group in ("point", "range and aggregate", "write")
        }
        assert found.unmatched == 0

    def test_the_range_group_is_ours_of_ranges_and_aggregates(self, server: Page) -> None:
        found = _one(server, "callaghan-builds-cached")
        assert "range and aggregate: average" in {row.what for row in found.rows}
        assert found.alone == 0

    def test_build_times_are_those_of_the_compilers(self, server: Page) -> None:
        (row,) = _one(server, "callaghan-build-times:mysql=lto").rows
        assert row.published == pytest.approx(5294 / 619)
        own = {each.name: each.timings for each in server.run.subjects}
        assert own["lto"] is not None
        assert own["rel"] is not None
        assert row.ratio == pytest.approx(own["lto"].cpu_seconds / own["rel"].cpu_seconds)
        assert row.lies is None

    @pytest.mark.parametrize(
        ("whole", "said"),
        [
            ((), 'Here, of lto and rel, it is the server alone: targets = "all" builds the rest.'),
            (("lto",), "Here, of rel, it is the server alone"),
            (("lto", "rel"), "Here, too, it is all that the configured trees have."),
        ],
    )
    def test_a_caption_says_which_of_both_was_built(
        self, server: Page, whole: tuple[str, ...], said: str
    ) -> None:
        subjects = tuple(
            replace(each, inputs={**each.inputs, "targets": "all"} if each.name in whole else {})
            for each in server.run.subjects
        )
        page = replace(server, run=replace(server.run, subjects=subjects))
        (table,) = tables_of(with_published(page, ["callaghan-build-times:mysql=lto"]), "beside")
        assert said in table.caption


class TestTable:
    def test_looks_like_its_golden_file(self, sweep: Page, server: Page, golden: Golden) -> None:
        pages = (
            with_published(sweep, ["hiroi10-pgo"]),
            with_published(server, ["callaghan-builds-cached"]),
        )
        lines = []
        for table in (each for page in pages for each in tables_of(page, "beside")):
            lines += [table.title, table.caption]
            lines.append(" | ".join(column.title for column in table.columns))
            lines += [" | ".join(plain(cell) for cell in row.cells) for row in table.rows]
        golden("report/beside.txt", ("\n".join(lines) + "\n").encode())

    def test_caption_says_in_what_the_two_differ(self, server: Page) -> None:
        (table,) = tables_of(with_published(server, ["callaghan-builds-os-cached"]), "beside")
        assert "Here it was postgresql 15.14." in table.caption
        assert "Theirs was at 20 threads, this at 4." in table.caption
        assert "Their regime was os-cached, here it is cached." in table.caption

    def test_steps_of_another_suite_do_not_match_and_the_caption_says_so(self) -> None:
        page = with_published(server_page(a_sweep_run()), ["hiroi10-pgo"])
        (table,) = tables_of(page, "beside")
        assert table.rows == ()
        assert "Theirs are steps of the suite hiroi10, here it is sysbench:micro." in table.caption

    def test_a_step_of_the_same_name_in_another_suite_is_another_step(self) -> None:
        page = server_page(a_hiroi10_run(suite="./mine.toml"))
        assert _one(page, "hiroi10-pgo").rows == ()

    def test_caption_says_when_the_bases_differ(self, server: Page) -> None:
        page = replace(server, run=changed(server.run, "rel", variant="rel+lto"))
        (table,) = tables_of(with_published(page, ["jiang-pgo"]), "beside")
        assert "The bases differ: here it is rel+lto." in table.caption

    @pytest.mark.parametrize("name", ["text", "markdown", "html"])
    def test_no_absolute_figure_of_another_machine_is_shown(self, sweep: Page, name: str) -> None:
        shown = render(with_published(sweep, ["hiroi10-pgo"]), name).decode()
        text = re.sub(r"<svg.*?</svg>|base64,[\w+/=]+", "", shown, flags=re.DOTALL)
        assert "normal" in text
        of = load_publication("hiroi10-pgo")
        rates = [
            value
            for figures in of.steps
            if figures.metric == "throughput"
            for values in figures.values.values()
            for value in values
        ]
        figures_shown = set(re.findall(r"\d[\d,.]*\d", text))
        for rate in rates:
            ways = {f"{rate:.0f}", f"{rate:,.0f}", f"{rate:.2f}", f"{rate:,.2f}", str(rate)}
            assert not ways & figures_shown

    def test_data_has_it_too(self, sweep: Page) -> None:
        page = with_published(sweep, ["hiroi10-pgo"])
        (found,) = json.loads(render(page, "json"))["beside"]
        assert (found["name"], found["here"]) == ("hiroi10-pgo", ["lto+pgo", "rel"])
        assert len(found["rows"]) == 42
        text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
        assert [key for key in (*found, *found["rows"][0]) if f"`{key}`" not in text] == []


@pytest.mark.parametrize("odd", odd_runs())
def test_an_odd_run_says_what_can_be_told(odd: str) -> None:
    page = odd_page(odd)
    try:
        shown = with_published(page, ["callaghan-builds-cached:rel_o2_lto=lto+pgo"])
    except UsageError as error:
        assert error.message
    else:
        for each in shown.published:
            assert each.rows or each.unmatched
            figures = [figure for row in each.rows for figure in (row.ratio, row.low, row.high)]
            assert all(figure is None or math.isfinite(figure) for figure in figures)


def test_a_run_of_another_kind_matches_nothing_and_says_so() -> None:
    run = a_run()
    page = with_published(run_page(run), ["hiroi10-pgo:pgo=lto+pgo"])
    (table,) = tables_of(page, "beside")
    assert table.rows == ()
    assert f"{len(run.steps)} steps of this run." in table.caption


def test_subjects_that_do_not_differ_in_what_was_compared_stand_for_nobody(server: Page) -> None:
    # It compares two DBMS; all subjects here are of one.
    with pytest.raises(UsageError, match="has a DBMS that is compared"):
        with_published(server, ["callaghan-build-times"])
