"""How latencies are distributed, in the report."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.report import distributions
from dbhone.report.page import Page, build_page
from dbhone.report.table import Table
from tests.analysis.columns import columns, with_values
from tests.report.sample_run import a_run, run_page
from tests.report.sample_servers import a_server_run, server_samples
from tests.report.told import tables_of


def _cells(table: Table) -> list[str]:
    return [cell.text for row in table.rows if not row.heading for cell in row.cells[1:]]


def test_each_step_has_three_percentiles_of_each_subject(server: Page) -> None:
    assert [each.title for each in tables_of(server, "latency")] == [
        "Latency distributions, held-out",
        "Latency distributions, in-sample",
    ]
    texts = _cells(tables_of(server, "latency")[0])
    assert len(texts) == 31 * 4
    for text in texts:
        median, high, highest = (float(part.replace(",", "")) for part in text.split(" / "))
        assert median < high < highest


def test_the_table_says_that_there_are_only_percentiles(server: Page) -> None:
    assert "Only these percentiles of a slice are kept" in tables_of(server, "latency")[0].caption


def test_figures_are_the_levels_in_milliseconds(server: Page) -> None:
    step = "point-query_range=100"
    row = next(row for row in tables_of(server, "latency")[0].rows if row.cells[0].text == step)
    level = next(
        each
        for each in server.levels
        if (each.subject, each.step, each.metric) == ("rel", step, "latency_p50")
    )
    assert row.cells[1].text.startswith(f"{level.value * 1000:.3f} / ")


def test_an_unknown_percentile_leaves_the_others() -> None:
    run = a_server_run()
    measured = server_samples(run)
    none = np.full(len(columns(measured).step), np.nan)
    page = build_page(run, with_values(measured, latency_p99=none))
    assert all(text.endswith(" / –") for text in _cells(tables_of(page, "latency")[0]))
    assert distributions.latency_picture(page, page.context.portions[0]) is None


def test_what_has_no_latency_has_no_table() -> None:
    assert tables_of(run_page(a_run()), "latency") == ()


def test_a_bar_is_drawn_for_each_step_and_subject(server: Page) -> None:
    picture = distributions.latency_picture(server, server.context.portions[0])
    assert picture is not None
    assert picture.alternative.startswith("Latency of 31 steps on 4 subjects")
    assert picture.svg.count("scan_range=100") >= 1


def test_more_bars_than_can_be_read_are_not_drawn(
    server: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "MOST_BARS", 100)
    assert distributions.latency_picture(server, server.context.portions[0]) is None
