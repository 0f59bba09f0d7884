"""A run in which nothing was measured says why, what is ready and what to do next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbhone.measurement.record import RunState
from dbhone.report.formats.base import formats, render
from dbhone.report.page import Page
from tests.report.odd_runs import odd_page
from tests.report.sample_run import SUBJECTS, Shape, a_run, run_page
from tests.report.told import answers, every_table

_UNMEASURED = ("nothing", "no block", "servers, no block", "history, no block")


def _stopped(state: RunState, **changes: object) -> Page:
    """Return the page of a run that ended, or is, before its first block."""
    return run_page(a_run(state=state, **changes), Shape(blocks=0))


@pytest.mark.parametrize("odd", _UNMEASURED)
def test_no_table_is_empty(odd: str) -> None:
    page = odd_page(odd)
    for table in every_table(page):
        assert table.rows
        for column in range(1, len(table.columns)):
            some = any(row.cells[column].text for row in table.rows)
            assert some, (table.title, table.columns[column].title)


@pytest.mark.parametrize("odd", _UNMEASURED)
def test_no_format_tells_how_far_to_trust_what_was_not_measured(odd: str) -> None:
    page = odd_page(odd)
    for name in ("text", "markdown", "html"):
        text = render(page, name).decode()
        assert "Nothing was measured" in text
        assert "To be trusted" not in text
        assert "badge none" not in text
    assert all(render(page, name) is not None for name in formats())


def test_a_run_without_subjects_has_no_section_of_them() -> None:
    html = render(odd_page("nothing"), "html").decode()
    assert 'id="subjects"' not in html
    assert "#summary" not in html


def test_an_interrupted_run_says_what_is_ready_and_how_to_continue() -> None:
    page = _stopped(RunState.INTERRUPTED, subjects=SUBJECTS[:2], error="interrupted by the user")
    assert page.headline == "Nothing was measured: the run was interrupted by the user."
    assert page.notes == ("the run was interrupted by the user",)
    assert answers(page) == {
        "Ready": "rel and control, but not pgo.",
        "Next": "'hone resume 7' continues from what is finished.",
    }


def test_a_failed_run_says_why() -> None:
    page = _stopped(RunState.FAILED, error="gcc: internal compiler error")
    assert page.headline == ("Nothing was measured: the run failed (gcc: internal compiler error).")
    assert answers(page)["Next"] == "'hone resume 7' continues it once the reason is mended."


def test_what_broke_is_not_ready_and_needs_a_new_run() -> None:
    broke = replace(SUBJECTS[2], broken="it gave no answer")
    page = _stopped(
        RunState.FAILED,
        subjects=(SUBJECTS[0], broke),
        error="nothing is left to compare with rel",
    )
    said = answers(page)
    assert said["Ready"].startswith(SUBJECTS[0].name)
    assert broke.name not in said["Ready"].partition(", but not")[0]
    assert said["Not ready"] == f"{broke.name} broke: it gave no answer"
    assert said["Next"].startswith("A new run tries again what broke")


def test_a_run_that_is_not_over_is_waited_for() -> None:
    page = _stopped(RunState.RUNNING)
    assert page.headline == "Nothing was measured yet: the run is not over, or was cut off."
    assert answers(page)["Next"] == (
        "'hone show 7' says how far it is; 'hone resume 7' continues it if it was cut off."
    )


def test_a_run_whose_budget_was_too_small_for_a_block_asks_for_a_larger_one() -> None:
    assert "a larger --budget" in answers(_stopped(RunState.DONE))["Next"]


def test_a_base_that_broke_is_the_reason() -> None:
    page = odd_page("base broken")
    assert page.headline == "There is no verdict: the base rel broke (it crashed)."


def test_what_was_measured_before_an_interruption_is_told() -> None:
    run = a_run(state=RunState.INTERRUPTED, error="interrupted by the user", stopped_by=None)
    page = run_page(replace(run, finished_at=None), Shape(blocks=8))
    assert (
        "the run was interrupted by the user; this is what its measurements say so far"
        in page.notes
    )
    assert "Measured" in answers(page)
