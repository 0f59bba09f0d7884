"""What the servers did meanwhile, in the report."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest

from dbhone.report.formats.base import render
from dbhone.report.page import Page, build_page
from tests.report.hostile import hostile_observed
from tests.report.sample_series import observations
from tests.report.sample_servers import a_server_run, server_page, server_samples


@pytest.fixture(scope="module")
def page() -> Page:
    run = a_server_run()
    return build_page(run, server_samples(run), observations(run, blocks=3))


def test_the_steps_that_differ_most_are_shown(page: Page) -> None:
    ratios: dict[str, float] = {}
    for each in page.analysis.effects:
        if each.metric == "throughput" and each.subject != "control":
            ratios[each.step] = max(ratios.get(each.step, 0.0), abs(each.ratio - 1))
    shown = [each.step.name for each in page.server_sections]
    assert len(shown) == 4
    assert max(ratios, key=lambda name: ratios[name]) in shown


def test_general_panels_come_first_and_what_stayed_at_zero_is_left_out(page: Page) -> None:
    titles = [panel.title for panel in page.server_sections[0].panels]
    assert titles[:4] == ["throughput", "server CPU", "written", "memory"]
    assert set(titles[4:]) == {"pg_stat_database.xact_commit", "pg_stat_activity.IO:WALSync"}
    assert {len(panel.series) for panel in page.server_sections[0].panels} == {4}


def test_what_was_not_observed_has_no_part() -> None:
    run = a_server_run()
    run = replace(run, steps=run.steps[:1])
    page = server_page(run)
    assert page.server_sections == ()
    assert 'id="meanwhile"' not in render(page, "html").decode()
    assert render(page, "series").decode().count("\r\n") == 1


def test_the_page_draws_each_step_with_one_axis_of_time(page: Page) -> None:
    text = render(page, "html").decode()
    section = text[text.index('<div id="meanwhile"') :]
    section = section[: section.index("</section>")]
    assert section.count("<svg") == 4
    assert section.count("seconds since the slice began") == 4
    assert section.count("server CPU, cores") >= 4
    assert '<a href="#meanwhile">' in text


def test_kinds_of_statements_have_no_pictures_of_their_own() -> None:
    run = a_server_run()
    whole = next(step for step in run.steps if not step.key)
    parts = tuple(replace(whole, key=key, title=key) for key in ("1-update", "2-select"))
    run = replace(run, steps=(whole, *parts))
    page = build_page(run, server_samples(run), observations(run, blocks=3))
    assert [each.step for each in page.server_sections] == [whole]


def test_what_is_too_short_for_a_line_is_not_drawn() -> None:
    run = a_server_run()
    page = build_page(run, server_samples(run), observations(run, blocks=3, seconds=2))
    assert page.server_sections == ()
    assert "seconds since the slice began" not in render(page, "html").decode()
    assert render(page, "series").decode().count("\r\n") > 1, "the data have it"


def test_too_many_counters_are_counted_and_left_to_the_data() -> None:
    run = a_server_run()
    run = replace(run, steps=run.steps[:1])
    page = build_page(run, server_samples(run), observations(run, blocks=2, more=20))
    (shown,) = page.server_sections
    assert len(shown.panels) == 4 + 8
    assert shown.left_out == 22 - 8
    assert "14 more counters are in the data" in render(page, "html").decode()


def test_a_long_run_stays_small() -> None:
    run = a_server_run()
    run = replace(run, steps=run.steps[:4])
    page = build_page(run, server_samples(run), observations(run, blocks=1, seconds=600, more=9))
    assert len(render(page, "html")) < 3_000_000


def test_the_csv_has_every_value(page: Page) -> None:
    rows = list(csv.DictReader(io.StringIO(render(page, "series").decode())))
    values = [len(each.at) for one in page.observations for each in one.series]
    assert len(rows) == sum(values)
    first = page.observations[0]
    assert (rows[0]["subject"], rows[0]["set"]) == (first.subject, first.set)
    assert rows[0]["series"] == "throughput"
    assert rows[0]["kind"] == "rate"
    assert float(rows[0]["value"]) == pytest.approx(first.series[0].values[0], rel=1e-5)


def test_a_hostile_counter_does_not_become_markup() -> None:
    text = render(hostile_observed(), "html").decode()
    assert not re.search(r"<script", text)
    assert "&lt;script&gt;" in text
