"""What every format must bear, and what each must look like."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from dbhone.errors import UnknownName
from dbhone.measurement.record import Run
from dbhone.report.formats.base import find_format, format_of_file, formats, render
from dbhone.report.formats.text import Text
from dbhone.report.page import Page
from dbhone.report.search import CandidateResult, Search, StageGain
from dbhone.report.table import Table, columns, text_row
from dbhone.report.terminal import show, show_table
from dbhone.safe_text import terminal_safe
from tests.report.hostile import HOSTILE, HOSTILE_PAGES, _hostile_page, hostile_observed
from tests.report.odd_runs import odd_page, odd_runs
from tests.report.sample_run import SUBJECTS, Shape, a_run, run_page
from tests.report.sample_servers import SUBJECTS as SERVERS
from tests.report.sample_servers import Shape as ServerShape
from tests.report.sample_servers import (
    a_server_run,
    a_sweep_run,
    many_builds,
    server_page,
)

Golden = Callable[[str, bytes], None]


def test_formats_are_found_by_their_files() -> None:
    assert set(formats()) >= {"text", "markdown", "csv", "json", "html", "tsv", "gobench"}
    for name in formats():
        assert find_format(name).suffix.startswith(".")


def test_a_file_s_name_tells_the_format() -> None:
    for name in ("html", "json", "csv", "tsv", "markdown", "hyperfine", "text"):
        assert format_of_file(f"mine{find_format(name).suffix}") == name
    assert format_of_file("MINE.HTML") == "html"
    assert format_of_file("mine.htm") == "html"
    assert format_of_file("mine.markdown") == "markdown"
    assert format_of_file("mine.xyz") is None


def test_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UnknownName) as error:
        find_format("htlm")
    assert error.value.hint == "did you mean 'html'?"


@pytest.mark.parametrize("kind", ["page", "sweep", "history"])
@pytest.mark.parametrize("name", ["text", "markdown", "tsv"])
def test_format_looks_like_its_golden_file(
    kind: str, name: str, request: pytest.FixtureRequest, golden: Golden
) -> None:
    suffix = find_format(name).suffix
    file = "run" if kind == "page" else kind
    golden(f"report/{file}{suffix}", render(request.getfixturevalue(kind), name))


def test_report_of_servers_that_refuse_looks_like_its_golden_file(golden: Golden) -> None:
    page = server_page(a_server_run(), ServerShape(refused=0.02))
    golden("report/server.txt", render(page, "text"))


@pytest.mark.parametrize("name", ["csv", "json"])
def test_data_look_like_their_golden_file(name: str, golden: Golden) -> None:
    """Compare a run of two steps: what a format writes of each, it writes of all."""
    run = a_run()
    few = tuple(step for step in run.steps if step.name in ("main/410", "cte/100"))
    run = replace(run, steps=few, subjects=(*run.subjects[:2], run.subjects[-1]))
    golden(f"report/run{find_format(name).suffix}", render(run_page(run), name))


@pytest.mark.parametrize("name", [each for each in formats() if each != "html"])
@pytest.mark.parametrize("odd", odd_runs())
def test_format_tells_what_can_be_told_of_an_odd_run(name: str, odd: str) -> None:
    page = odd_page(odd)
    text = render(page, name).decode()
    assert "nan" not in text.lower()
    if name not in ("csv", "tsv", "series", "gobench", "hyperfine"):
        said = json.loads(text)["headline"] if name == "json" else re.sub(r"\s+|\\", " ", text)
        assert page.headline.split(":")[0] in said


@pytest.mark.parametrize("hostile", [*HOSTILE_PAGES.values(), hostile_observed])
@pytest.mark.parametrize("name", formats())
def test_nothing_from_outside_drives_the_terminal(name: str, hostile: Callable[[], Page]) -> None:
    text = render(hostile(), name).decode().replace("\r\n", "\n")
    assert text == terminal_safe(text)


@pytest.mark.parametrize("name", formats())
def test_format_gives_the_same_bytes_twice(page: Page, name: str) -> None:
    assert render(page, name) == render(page, name)


class TestText:
    @pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
    def test_lines_fit_the_width(self, page: Page, width: int) -> None:
        *lines, path = Text(width=width).render(page).decode().splitlines()
        assert max(len(line) for line in lines) <= width
        assert page.winner is not None
        assert path == f"{page.winner.name}: {page.winner.build_path}"

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_no_figure_is_cut_or_broken(self, page: Page, width: int) -> None:
        text = Text(width=width).render(page).decode()
        assert "…" not in text
        figures = re.findall(r"\d\.\d{3} ±\d+(?:\.\d)?% (?:\([+-]\)|[+~?-])", text)
        summaries = 6 * 2 + 6 * 4 * 2 + 6 * 4
        assert len(figures) == summaries + 6 * len(page.run.steps)

    def test_winner_and_its_path_come_last(self, page: Page) -> None:
        lines = render(page, "text").decode().rstrip().splitlines()
        assert lines[-1] == f"lto+pgo: {SUBJECTS[-1].build_path}"
        assert " ".join(lines[:-1]).endswith(f" {page.headline}")

    def test_warning_of_the_control_comes_first(self) -> None:
        doubtful = run_page(a_run(), Shape(effects={"control": (1.1, 1.1)}))
        lines = render(doubtful, "text").decode().splitlines()
        assert lines[2].startswith("WARNING: control is rel over again and yet differs")

    def test_only_significant_figures_are_coloured(self, page: Page) -> None:
        out = io.StringIO()
        console = Console(
            file=out, width=120, force_terminal=True, color_system="standard", _environ={}
        )
        show(page, console)
        coloured = re.findall(r"\x1b\[(?:2;)?3[12]m([^\x1b]+)", out.getvalue())
        assert coloured
        assert all(re.fullmatch(r"\s*\d\.\d{3} ±[\d.]+% [+-]\s*", each) for each in coloured)

    def test_brief_text_has_no_single_steps(self, page: Page) -> None:
        out = io.StringIO()
        show(page, Console(file=out, width=100, _environ={}))
        assert "cte/100" not in out.getvalue()
        assert page.headline[:60] in out.getvalue()

    def test_letters_of_two_columns_have_the_room_that_they_take(self) -> None:
        name = "姜老师" * 3
        table = Table(
            title="Table",
            caption="",
            columns=columns("Step", (name, name)),
            rows=(text_row("main", "1", "1"),),
        )
        out = io.StringIO()
        show_table(table, Console(file=out, width=40, _environ={}))
        assert out.getvalue().count(name) == 2

    @pytest.mark.parametrize("run", [a_server_run(), a_sweep_run(), many_builds()])
    @pytest.mark.parametrize("width", [80, 120])
    def test_lines_of_servers_fit_the_width(self, run: Run, width: int) -> None:
        text = Text(width=width).render(server_page(run)).decode()
        lines = text.splitlines()
        if ": /home" in lines[-1]:
            lines.pop()
        assert max(len(line) for line in lines) <= width
        assert "…" not in text


class TestMarkdown:
    @pytest.mark.parametrize("hostile", HOSTILE_PAGES)
    def test_nothing_from_outside_becomes_markup(self, hostile: str) -> None:
        text = render(HOSTILE_PAGES[hostile](), "markdown").decode()
        unescaped = re.sub(r"\\.", "", text)
        blocks = re.sub(r"^````toml$.*?^````$", "", unescaped, flags=re.DOTALL | re.MULTILINE)
        prose = re.sub(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "", blocks)
        assert len(prose) < len(blocks) < len(unescaped)
        assert "<script" in blocks
        assert not re.search(r"[<>`|]", re.sub(r"^[|>].*$", "", prose, flags=re.MULTILINE))
        assert "<" not in prose

    @pytest.mark.parametrize("hostile", HOSTILE_PAGES)
    def test_every_table_row_has_as_many_cells(self, hostile: str) -> None:
        text = render(HOSTILE_PAGES[hostile](), "markdown").decode()
        for table in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
            counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(counts) == 1


class TestCsv:
    def test_lines_are_the_effects(self, page: Page) -> None:
        lines = list(csv.DictReader(io.StringIO(render(page, "csv").decode(), newline="")))
        assert len(lines) == len(page.analysis.effects)
        assert list(lines[0]) == _EFFECT_KEYS
        assert {line["in_sample"] for line in lines} == {"true", "false"}

    def test_what_is_not_known_is_empty(self) -> None:
        text = render(odd_page("one block"), "csv").decode()
        first = next(csv.DictReader(io.StringIO(text, newline="")))
        assert (first["low"], first["high"], first["verdict"]) == ("", "", "not enough data")


_EFFECT_KEYS = [
    *("subject", "step", "group", "in_sample", "metric"),
    *("ratio", "low", "high", "blocks", "verdict", "likely", "threads", "value"),
    *("base_value", "findable", "p_adjusted"),
]


class TestTsv:
    def test_every_line_has_a_ratio_for_each_subject_and_its_step_last(self, server: Page) -> None:
        text = render(server, "tsv").decode()
        assert text.startswith("Relative to: rel\ncol-1 : lto+pgo\ncol-2 : lto\ncol-3 : control\n")
        rows = [line.split("\t") for line in text.splitlines() if "_range=" in line]
        assert {row[-1] for row in rows} == {step.name for step in server.run.steps}
        assert all(re.fullmatch(r"\d\.\d\d", cell) for row in rows for cell in row[:-1])
        assert {len(row) for row in rows} == {4}


class TestJson:
    def _report(self, page: Page) -> dict[str, Any]:
        def refuse(word: str) -> None:
            raise AssertionError(word)

        loaded: dict[str, Any] = json.loads(render(page, "json"), parse_constant=refuse)
        return loaded

    def test_contract_has_its_keys(self, page: Page) -> None:
        report = self._report(page)
        assert report["schema"] == "dbhone-report/1"
        assert set(report) == {
            *("schema", "run", "base", "effects", "summary", "builds", "warnings"),
            *(
                "environment",
                "headline",
                "trust",
                "winner",
                "levels",
                "ceilings",
                "history",
                "search",
                "joined",
                "beside",
            ),
            "needs",
        }
        assert list(report["effects"][0]) == _EFFECT_KEYS
        assert set(report["summary"][0]) == {
            *("subject", "group", "in_sample", "ratio", "low", "high", "mean", "median"),
            *("minimum", "maximum", "standard_deviation", "steps", "blocks", "verdict"),
            *("likely", "findable", "p_adjusted"),
        }
        assert set(report["builds"][0]) >= {
            *("subject", "digest", "compiler", "flags", "seconds", "binary_bytes", "path"),
            *("variant", "trained_on", "training_seconds", "profile_coverage", "broken"),
        }
        assert set(report["warnings"][0]) == {"code", "text", "subject", "step"}

    def test_verdicts_on_throughput_are_the_four(self, page: Page) -> None:
        report = self._report(page)
        effects = [each for each in report["effects"] if each["metric"] == "throughput"]
        four = {"faster", "slower", "no difference found", "not enough data"}
        assert {each["verdict"] for each in (*effects, *report["summary"])} <= four
        assert {each["group"] for each in report["summary"]} == {"all", "point", "range", "write"}

    def test_there_is_one_summary_of_each_kind(self, page: Page) -> None:
        summaries = self._report(page)["summary"]
        kinds = {(each["subject"], each["group"], each["in_sample"]) for each in summaries}
        assert len(kinds) == len(summaries) == 6 * 4 * 2

    def test_a_search_has_all_that_was_tried_and_what_each_stage_brought(self, page: Page) -> None:
        assert self._report(page)["search"] is None
        search = Search(
            tried=(
                CandidateResult(name="lto", ratio=1.1, blocks=6, status="measured afresh"),
                CandidateResult(name="bolt", ratio=None, blocks=0, status="cannot be built here"),
            ),
            stages=(StageGain(stage="lto", ratio=1.1, low=1.05, high=1.15),),
        )
        assert self._report(replace(page, search=search))["search"] == {
            "stages": [{"stage": "lto", "ratio": 1.1, "low": 1.05, "high": 1.15}],
            "candidates": [
                {"name": "lto", "ratio": 1.1, "blocks": 6, "status": "measured afresh"},
                {"name": "bolt", "ratio": None, "blocks": 0, "status": "cannot be built here"},
            ],
        }

    def test_subjects_have_the_defaults_of_their_servers(self) -> None:
        subjects = tuple(replace(each, defaults={"flush": "1"}) for each in SERVERS)
        page = server_page(a_server_run(subjects=subjects), ServerShape(blocks=1))
        assert {each["defaults"]["flush"] for each in self._report(page)["builds"]} == {"1"}

    def test_text_of_outside_is_whole_but_for_lone_surrogates(self) -> None:
        title = self._report(_hostile_page())["run"]["title"]
        assert title == HOSTILE.replace("\udcff", "?")


def test_a_table_does_not_wait_for_charts() -> None:
    program = (
        "import sys; from dbhone.report.formats.base import find_format, format_of_file;"
        "find_format('text'); format_of_file('x.md');"
        "print(*{'altair', 'vl_convert', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
