"""A part of a step is a figure of its own: no count and no mean takes it for a step."""

from __future__ import annotations

import numpy as np

from dbhone.measurement.metric import THROUGHPUT
from dbhone.report.headline import dissenting_steps
from dbhone.report.page import Page, build_page, with_published
from dbhone.report.run_answer import run_answer
from tests.analysis.columns import columns, with_values
from tests.report.sample_run import without
from tests.report.sample_servers import Shape, a_server_run, server_samples, with_parts
from tests.report.told import answers

_WHOLE = "scan_range=100"


def _page(factor: float) -> Page:
    """Return a page of which lto is 1.2 times as fast, on two parts of a step times a factor."""
    run = without(with_parts(a_server_run(), _WHOLE, "first", "second"), "lto+pgo")
    measured = server_samples(run, Shape(effects={"lto": (1.2, 1.2)}))
    table = columns(measured)
    parts = np.char.find(np.array(table.steps), "/")[table.step] > 0
    own = np.array(table.subjects)[table.subject] == "lto"
    rates = table.values[THROUGHPUT.name] * np.where(parts & own, factor, 1.0)
    return build_page(run, with_values(measured, **{THROUGHPUT.name: rates}))


def test_a_slower_part_is_no_step_on_which_a_subject_is_slower() -> None:
    page = _page(0.5)
    slower = [each for each in page.analysis.throughput_parts if each.verdict == "slower"]
    assert {each.step for each in slower} == {f"{_WHOLE}/first", f"{_WHOLE}/second"}
    score = page.gain
    assert score is not None
    assert dissenting_steps(page.run, page.analysis, score) == ""
    assert "slower on" not in run_answer(page).sentence


def test_what_moved_most_may_be_a_part() -> None:
    assert f"; losses: {_WHOLE}/" in answers(_page(0.5))["Moved most"]


def test_summaries_are_of_the_steps() -> None:
    one, other = (_page(factor).analysis for factor in (1.0, 1000.0))
    assert one.throughput_summaries == other.throughput_summaries != ()
    assert one.throughput_parts != other.throughput_parts


def test_statistics_beside_published_ones_are_of_the_steps() -> None:
    word = "callaghan-builds-cached:rel_o2_lto=lto"
    (one,), (other,) = (with_published(page, [word]).published for page in (_page(1.0), _page(0.5)))
    assert one.rows == other.rows != ()
    assert one.alone == 0
