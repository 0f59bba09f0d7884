"""What a report of servers has beyond that of an embedded DBMS."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dbhone.measurement.build_facts import CodeLayout
from dbhone.measurement.record import Code, Run, RunningServer, Subject, Warning
from dbhone.report.formats.base import render
from dbhone.report.page import Page, build_page
from dbhone.report.table import Table
from dbhone.units import listed
from tests.analysis.columns import columns, only, with_values
from tests.report.sample_run import a_run, changed, run_page
from tests.report.sample_servers import (
    SUBJECTS,
    THREADS,
    Shape,
    a_server_run,
    a_sweep_run,
    server_page,
    server_samples,
)
from tests.report.told import every_table, rows_of, section_of, tables_of, titled


def _reading(count: float) -> Page:
    """Return the page of servers that read so many bytes for each operation."""
    run = a_server_run()
    found = server_samples(run, Shape(blocks=3))
    read = np.full(len(columns(found).step), count)
    return build_page(run, with_values(found, bytes_read=read))


def _overall(page: Page) -> Table:
    """Return what an operation takes over all steps, which is shown in brief."""
    section = section_of(page, "operations")
    assert section is not None
    assert section.brief is not None
    return section.brief[0]


def _in_other_metrics(page: Page) -> tuple[Table, ...]:
    section = section_of(page, "steps")
    assert section is not None
    return section.other_metrics


def _value(text: str) -> float:
    return float(text.split(" ", maxsplit=1)[0].replace(",", ""))


class TestThreads:
    def test_each_workload_is_shown_over_all_numbers_of_threads(self, sweep: Page) -> None:
        tables = tables_of(sweep, "threads")
        assert [each.title for each in tables] == [
            f"{workload}: {metric}"
            for workload in (
                "point-query_range=100",
                "update-nonindex_range=100",
                "read-write_range=100",
            )
            for metric in ("throughput in ops/s", "p95 latency in ms")
        ]
        for each in tables:
            titles = [column.title for column in each.columns]
            assert titles == ["Threads", *(str(count) for count in THREADS)]

    def test_ratio_stands_below_the_figures_that_it_relates(self, sweep: Page) -> None:
        rows = rows_of(tables_of(sweep, "threads")[0])
        names = list(rows)
        assert names[:3] == ["rel (base)", "lto+pgo", "lto+pgo ÷ rel"]
        base, own, ratios = (rows[name] for name in names[:3])
        for low, high, ratio in zip(base, own, ratios, strict=True):
            assert _value(ratio) == pytest.approx(_value(high) / _value(low), rel=0.03)
            assert re.fullmatch(r"\d\.\d\d\d? ±[\d.]+% [+~-]", ratio)

    def test_latency_below_the_base_is_better(self, sweep: Page) -> None:
        latency = tables_of(sweep, "threads")[1]
        marks = {cell[-1] for cell in rows_of(latency)["lto+pgo ÷ rel"]}
        assert {"+"} <= marks <= {"+", "~"}

    def test_summary_says_that_numbers_of_threads_are_together(self, sweep: Page) -> None:
        words = "14 steps of point-query_range=100 and update-nonindex_range=100 at 7 numbers"
        assert words in sweep.summary.caption
        assert "at 1 to 64 threads" in sweep.headline

    def test_one_number_of_threads_is_no_sweep(self, server: Page) -> None:
        assert tables_of(server, "threads") == ()
        assert "31 steps (9 point, 5 range, 8 aggregate, 9 write), 4 threads" in (
            server.summary.caption
        )

    def test_latency_that_was_not_measured_is_not_shown(self) -> None:
        run = a_sweep_run()
        measured = server_samples(run, Shape(blocks=3))
        bare = only(measured, "throughput")
        titles = [each.title for each in tables_of(build_page(run, bare), "threads")]
        assert len(titles) == 3
        assert not [title for title in titles if "latency" in title]


class TestSpread:
    def test_every_group_has_the_five_figures_and_the_interval(self, server: Page) -> None:
        names = list(rows_of(titled(server, "Spread over steps, held-out")))
        figures = ["average", "median", "min", "max", "stddev", "interval"]
        groups = ["all", "point", "range", "aggregate", "write"]
        assert names == [f"{group}: {each}" for group in groups for each in figures]

    def test_average_lies_between_min_and_max(self, server: Page) -> None:
        rows = rows_of(titled(server, "Spread over steps, held-out"))
        for name in ("all", "point", "write"):
            low, middle, high = (
                [_value(cell) for cell in rows[f"{name}: {each}"]]
                for each in ("min", "average", "max")
            )
            assert all(a <= b <= c for a, b, c in zip(low, middle, high, strict=True))

    def test_part_of_one_step_has_no_spread_and_no_groups(self, server: Page) -> None:
        assert [each.in_sample for each in server.context.portions] == [False, True]
        assert [each.title for each in tables_of(server, "groups")] == [
            "Held-out by group",
            "Spread over steps, held-out",
        ]


class TestOperations:
    def test_base_is_absolute_and_others_are_ratios(self, server: Page) -> None:
        table = _overall(server)
        assert [column.title for column in table.columns] == [
            "Subject",
            "Server CPU, µs/op",
            "Client CPU, µs/op",
            "Context switches, per op",
        ]
        rows = rows_of(table)
        assert _value(rows["rel (base)"][1]) == pytest.approx(40, rel=0.05)
        assert _value(rows["lto+pgo"][0]) == pytest.approx(1 / 1.17, rel=0.03)
        assert rows["lto+pgo"][0].endswith("+")
        assert re.fullmatch(r"\d\.\d{3}", rows["lto+pgo"][1])

    def test_bytes_that_nobody_read_have_no_column(self, server: Page) -> None:
        assert not [
            each for each in tables_of(server, "operations")[0].columns if "Read" in each.title
        ]

    def test_bytes_that_one_group_alone_writes_are_shown_by_group_only(self, server: Page) -> None:
        overall, by_group = (
            _overall(server),
            tables_of(server, "operations")[0],
        )
        assert not [each for each in overall.columns if "Written" in each.title]
        assert by_group.columns[-1].title == "Written, KiB/op"

    def test_a_ratio_to_nearly_nothing_is_not_told(self) -> None:
        page = _reading(16.0)
        assert not [each for each in _overall(page).columns if "Read" in each.title]
        assert not [each for each in _in_other_metrics(page) if each.title.startswith("Read")]
        assert [each for each in _overall(_reading(640.0)).columns if "Read" in each.title]

    def test_where_one_group_takes_enough_the_others_have_no_ratio(self, server: Page) -> None:
        table = tables_of(server, "operations")[0]
        point = next(at for at, row in enumerate(table.rows) if row.cells[0].text == "point")
        written = [row.cells[-1].text for row in table.rows[point + 1 : point + 5]]
        assert written == ["0", "", "", ""]
        assert (
            "Client CPU and written: bare ratios, of the steps where neither side is zero and, of "
            "bytes, rel takes 64 B or more; empty where its median step takes less."
        ) in table.caption

    def test_groups_are_all_that_have_steps(self, server: Page) -> None:
        headings = [
            row.cells[0].text for row in tables_of(server, "operations")[0].rows if row.heading
        ]
        assert headings == ["all", "point", "range", "aggregate", "write"]

    def test_other_metrics_do_not_repeat_them(self, server: Page) -> None:
        (metrics,) = tables_of(server, "metrics")
        titles = " ".join(column.title for column in metrics.columns)
        assert "P95 latency, held-out" in titles
        assert "CPU" not in titles

    def test_single_steps_have_them_too(self, server: Page) -> None:
        titles = [table.title for table in _in_other_metrics(server)]
        assert "Server CPU of each step, held-out" in titles
        assert "P95 latency of each step, in-sample" in titles


class TestBuilds:
    def test_build_that_subjects_share_is_shown_once(self, server: Page) -> None:
        times = tables_of(server, "builds")[0]
        assert [column.title for column in times.columns] == [
            "Build",
            "rel, control",
            "lto+pgo",
            "lto",
        ]
        rows = rows_of(times)
        assert rows["Wall time"] == ["4 m 08 s", "5 m 31 s", "5 m 09 s"]
        assert rows["Training"] == ["", "1 m 04 s", ""]
        assert rows["Wall time, ratio"] == ["1.00", "1.33", "1.25"]
        assert rows["of it configure"] == ["31.0 s"] * 3
        assert rows["Binary, ratio"] == ["1.00", "0.96", "0.96"]

    def test_slowest_build_targets_have_their_share(self, server: Page) -> None:
        rows = rows_of(tables_of(server, "builds")[1])
        assert list(rows) == ["src/backend/utils/adt", "src/backend"]
        assert rows["src/backend"] == ["57.7 (12%)", "77.0 (12%)", "71.8 (12%)"]

    def test_a_single_build_target_has_no_table(self) -> None:
        def with_one(subject: Subject) -> Subject:
            timings = subject.timings
            assert timings is not None
            return replace(
                subject, timings=replace(timings, build_targets=timings.build_targets[:1])
            )

        run = a_server_run(subjects=tuple(map(with_one, SUBJECTS)))
        page = server_page(run)
        assert [table.title for table in tables_of(page, "builds")] == [
            "Build times",
            "Slowest files",
        ]

    def test_slowest_files_come_first(self, server: Page) -> None:
        rows = rows_of(tables_of(server, "builds")[2])
        assert list(rows)[:2] == ["execExprInterp.c", "gram.c"]
        assert rows["gram.c"] == ["9.50", "", "9.50"]

    def test_what_a_post_link_optimiser_did_has_lines_where_there_was_one(self) -> None:
        layout = CodeLayout(
            tool="BOLT 22.1.8",
            functions=13622,
            profiled=2452,
            moved=1419,
            unmovable=18,
            skipped=("ExecInterpExpr",),
            text_bytes=5017486,
            hot_bytes=470270,
            taken_before=328464102,
            taken_after=121529186,
        )
        page = server_page(changed(a_server_run(), "lto+pgo", layout=layout))
        rows = rows_of(tables_of(page, "builds")[0])
        assert rows["Functions reached"] == ["", "2,452 of 13,622", ""]
        assert rows["of them rearranged"][1] == "1,419"
        assert rows["left alone"][1] == "ExecInterpExpr"
        assert rows["Taken branches"] == ["", "-63%", ""]
        assert rows["Hot code"][1] == "459.2 KiB of 4.8 MiB"

    def test_old_run_has_no_table(self) -> None:
        assert tables_of(run_page(a_run()), "builds") == ()


class TestSettings:
    def test_only_what_differs_is_in_the_table(self, server: Page) -> None:
        assert rows_of(titled(server, "Settings that differ")) == {"jit": ["–", "off", "–", "–"]}
        assert dict(server.shared_settings)["fsync"] == "on"

    def test_equal_settings_need_no_table(self) -> None:
        alike = tuple(replace(each, settings={"fsync": "on"}) for each in SUBJECTS)
        page = server_page(a_server_run(subjects=alike), Shape(blocks=1))
        assert titled(page, "Settings that differ") is None
        assert page.shared_settings == (("fsync", "on"),)

    @pytest.mark.parametrize(
        ("other", "shown"), [({}, "–"), ({"switch": ""}, "(none)")], ids=["absent", "empty"]
    )
    def test_a_long_list_without_a_common_word_stands_whole(
        self, other: dict[str, str], shown: str
    ) -> None:
        switch = f"a=on,{'x' * 40}=on"
        subjects = tuple(replace(each, settings={"switch": switch}) for each in SUBJECTS)
        run = changed(a_server_run(subjects=subjects), "lto", settings={"jit": "on"} | other)
        rows = rows_of(titled(server_page(run, Shape(blocks=1)), "Settings that differ"))
        assert rows["switch"] == [switch, switch, shown, switch]

    def test_limits_of_open_files_are_told_beside_the_settings(self) -> None:
        limits = {"lto": 41_470}
        subjects = tuple(
            replace(
                each,
                settings={"fsync": "on"},
                running=RunningServer(settings={}, open_files=limits.get(each.name, 20_000)),
            )
            for each in SUBJECTS
        )
        page = server_page(a_server_run(subjects=subjects), Shape(blocks=1))
        assert rows_of(titled(page, "Settings that differ")) == {
            "(limit of open files)": ["20000", "20000", "41470", "20000"],
        }

    def test_defaults_that_differ_are_told_where_all_have_the_setting(self) -> None:
        old = {"flush": "1", "mode": "", "gone": "1", "switch": f"a=on,b=on,{'x' * 40}=on"}
        new = {"flush": "0", "mode": "", "came": "1", "switch": f"a=off,b=on,{'x' * 40}=on,c=on"}
        run = a_server_run(subjects=tuple(replace(each, defaults=old) for each in SUBJECTS))
        page = server_page(changed(run, "lto", defaults=new), Shape(blocks=1))
        assert rows_of(titled(page, "Defaults that differ")) == {
            "flush": ["1", "1", "0", "1"],
            "switch": ["…,a=on", "…,a=on", "…,a=off,c=on", "…,a=on"],
        }
        for name in ("html", "markdown", "text"):
            assert "Defaults that differ" in render(page, name).decode()

    def test_without_them_there_is_no_table(self, server: Page) -> None:
        assert titled(server, "Defaults that differ") is None

    def test_several_dbms_are_told_apart(self) -> None:
        run = a_server_run(subjects=(*SUBJECTS[:3], replace(SUBJECTS[3], version="17.2")))
        page = server_page(run, Shape(blocks=1))
        subjects, *_ = tables_of(page, "subjects")
        assert subjects.columns[1].title == "DBMS"


class TestLevers:
    def test_they_stand_beside_what_each_subject_is_and_after_the_winners_name(self) -> None:
        page = server_page(changed(a_server_run(), "lto+pgo", levers=("cpus=0-1", "jemalloc")))
        subjects, *_ = tables_of(page, "subjects")
        assert [each.title for each in subjects.columns[1:3]] == ["Variant", "Levers"]
        rows = rows_of(subjects)
        assert rows["lto+pgo"][1] == "cpus=0-1, jemalloc"
        assert rows["rel (base)"][1] == ""
        assert page.winner_title == "lto+pgo (cpus=0-1, jemalloc)"
        assert json.loads(render(page, "json"))["winner"]["levers"] == ["cpus=0-1", "jemalloc"]
        for name in ("html", "markdown", "text"):
            assert "lto+pgo (cpus=0-1, jemalloc)" in render(page, name).decode()

    def test_without_any_there_is_no_column(self, server: Page) -> None:
        subjects, *_ = tables_of(server, "subjects")
        assert "Levers" not in {each.title for each in subjects.columns}
        assert server.winner is not None
        assert server.winner_title == server.winner.name


def _in_layouts(run: Run, layouts: int, *, but: str = "") -> Run:
    """Return a run of which all subjects but one were measured in so many layouts."""
    subjects = tuple(
        each if each.name == but else replace(each, inputs={"layouts": layouts})
        for each in run.subjects
    )
    experiment = f"{run.experiment}\n[design]\nlayouts = {layouts}\n"
    return replace(run, subjects=subjects, experiment=experiment)


def _method(run: Run, shape: Shape | None = None) -> str:
    """Return what the page of a run says of how it was measured."""
    method = server_page(run, shape).method
    assert method is not None
    return method


class TestNotes:
    def test_starts_are_told_of_servers_and_layout_of_builds(self, server: Page) -> None:
        starts, layout = "Every block starts each", "of these very binaries"
        assert server.method is not None
        assert starts in server.method
        assert layout in server.method
        embedded = run_page(a_run()).method
        assert embedded is not None
        assert starts not in embedded
        assert layout in embedded

    @pytest.mark.parametrize(("layouts", "missing"), [(6, "6 more blocks"), (64, "1 more block")])
    def test_the_summary_tells_as_many_missing_blocks_as_the_notes(
        self, layouts: int, missing: str
    ) -> None:
        run = _in_layouts(a_server_run(), layouts)
        found = server_samples(run, Shape(blocks=6)).in_layouts(layouts)
        places = columns(found)
        lacks = (places.subject == found.subjects.index("lto")) & (places.block == 3)
        throughput = np.where(lacks, np.nan, places.values["throughput"])
        page = build_page(run, with_values(found, throughput=throughput))
        at = [column.title for column in page.summary.columns].index("Would find")
        assert rows_of(page.summary)["lto"][at - 1] == missing
        assert any(f": {missing}" in note for note in page.notes)

    @pytest.mark.parametrize(("layouts", "told"), [(4, True), (64, False)])
    def test_more_blocks_than_layouts_are_told(self, layouts: int, told: bool) -> None:
        method = _method(_in_layouts(a_server_run(), layouts))
        assert (f"so that intervals are of {layouts} values" in method) == told

    def test_builds_in_several_layouts_are_told_and_those_with_one(self) -> None:
        method = _method(_in_layouts(a_server_run(), 8, but="lto+pgo"))
        assert "The programs were linked in 8 random orders of their functions" in method
        assert "The code of lto+pgo has one layout only." in method
        assert "of these very binaries" not in method

    @pytest.mark.parametrize(
        ("compiler", "linker", "told"),
        [
            ("clang 14.0.6", None, True),
            ("clang 14.0.6", "mold", False),
            ("gcc 12.2.0", None, False),
        ],
    )
    def test_builds_that_lld_orders_by_their_profile_are_told(
        self, compiler: str, linker: str | None, told: bool
    ) -> None:
        run = _in_layouts(a_server_run(), 8)
        inputs = {"layouts": 8} | ({"linker": linker} if linker else {})
        subjects = tuple(replace(each, compiler=compiler, inputs=inputs) for each in run.subjects)
        trained = [each.name for each in subjects if each.training_seconds is not None]
        method = _method(replace(run, subjects=subjects))
        assert 0 < len(trained) < len(subjects)
        kept = f"In {listed(trained)} the functions whose calls the profile counted keep one order"
        assert (kept in method) == told

    @pytest.mark.parametrize(
        ("blocks", "told"),
        [(5, None), (6, "one start in 2 may have happened to none of these 6"), (15, "start in 5")],
    )
    def test_a_page_with_verdicts_says_how_rare_a_start_it_cannot_know_of(
        self, blocks: int, told: str | None
    ) -> None:
        method = _method(a_server_run(), Shape(blocks=blocks))
        assert ("What happens to fewer than" in method) == (told is not None)
        assert (told or "") in method

    def test_the_method_of_cold_servers_is_told_as_it_was(self) -> None:
        cold = a_server_run(warnings=(Warning(code=Code.COLD, text="every server was cold"),))
        assert "Nothing is warmed up" in _method(cold, Shape(blocks=1))

    def test_warnings_of_the_run_are_footnotes(self, server: Page) -> None:
        assert "settings-dropped" in {each.code for each in server.footnotes}
        assert "refused-transactions" not in {each.code for each in server.footnotes}


def test_steps_are_in_the_run_s_order_within_their_group(server: Page) -> None:
    rows = tables_of(server, "steps")[0].rows
    headings = [row.cells[0].text for row in rows if row.heading]
    assert headings == ["point", "range", "aggregate", "write"]
    order = [step.name for step in server.run.steps]
    points = [row.cells[0].text for row in rows][1:10]
    assert points == sorted(points, key=order.index)


def test_every_row_of_every_table_has_a_cell_for_every_column(
    page: Page, server: Page, sweep: Page
) -> None:
    for one in (page, server, sweep):
        for table in (*every_table(one), *every_table(one, brief=True), *_in_other_metrics(one)):
            assert {len(row.cells) for row in table.rows} == {len(table.columns)}


def test_levels_and_effects_agree_in_the_data(server: Page) -> None:
    report = json.loads(render(server, "json"))
    effect = next(
        each
        for each in report["effects"]
        if (each["subject"], each["metric"]) == ("lto+pgo", "latency_p95")
    )
    assert effect["threads"] == 4
    assert effect["verdict"] in ("shorter", "no difference found")
    level = next(
        each
        for each in report["levels"]
        if (each["subject"], each["step"], each["metric"])
        == ("lto+pgo", effect["step"], "latency_p95")
    )
    assert level["value"] == effect["value"]
    assert level["unit"] == "s"
    assert effect["value"] / effect["base_value"] == pytest.approx(effect["ratio"], rel=0.03)
    metrics = {each["metric"] for each in report["levels"]}
    assert {"latency_p99", "client_cpu_seconds", "bytes_written", "refused_share"} <= metrics
