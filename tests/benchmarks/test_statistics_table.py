"""The tables as the document has them."""

import numpy as np
import pytest

from benchmarks.statistics.__main__ import DOCUMENT, METHODS, titles
from benchmarks.statistics.document import DocumentError, between, placed
from benchmarks.statistics.figures import Figures, figures
from benchmarks.statistics.kinds import CHOSEN_ON, HELD_OUT
from benchmarks.statistics.methods.dbhone import ROUNDS
from benchmarks.statistics.methods.sequential import WELCH
from benchmarks.statistics.noise import drift, quiet
from benchmarks.statistics.piece import Plan
from benchmarks.statistics.study import Row
from benchmarks.statistics.table import TABLES, tables

GOOD = Figures(
    false_alarms=0.042, coverage=0.951, half=0.0123, found=(0.1, 0.96, 1.0, 1.0), minutes=24.0
)
BAD = Figures(false_alarms=0.31, coverage=None, half=None, found=(0, 0, 0.5, 1.0), minutes=None)
ROWS = (
    Row(noise="quiet", held_out=False, longest=60.0, results={"ours": GOOD, "theirs": BAD}),
    Row(noise="drift", held_out=True, longest=60.0, results={"ours": GOOD}),
)


def test_each_question_has_a_table_with_noises_down_and_methods_across() -> None:
    text = tables(ROWS, ("ours", "theirs"), runs=400)
    assert "400 runs of each noise: a share of 5% is known to ±2.1%." in text
    assert text.count("| noise | ours | theirs |\n| --- | --- | --- |\n") == len(TABLES)
    for line in (
        "| quiet | 4.2% | 31.0% |",
        "| drift, held out | 4.2% | – |",
        "| quiet | 95.1%, ±1.2% | – |",
        "| quiet | 10 · 96 · 100 · 100 | 0 · 0 · 50 · 100 |",
        "| quiet | 24 | over 60 |",
    ):
        assert line in text.splitlines()


def test_a_text_is_put_into_its_place_and_the_rest_stays() -> None:
    document = "# Title\n<!-- begin: a -->\nold\n<!-- end: a -->\nrest \\1\n"
    new = placed(document, "a", "| new \\1 |\n")
    assert new == ("# Title\n<!-- begin: a -->\n\n| new \\1 |\n\n<!-- end: a -->\nrest \\1\n")
    assert between(new, "a") == "| new \\1 |\n"
    assert placed(new, "a", "| new \\1 |\n") == new


@pytest.mark.parametrize(
    "document", ["", "<!-- begin: a -->", "<!-- begin: b -->\n<!-- end: b -->"]
)
def test_a_document_without_the_place_is_refused(document: str) -> None:
    with pytest.raises(DocumentError):
        placed(document, "a", "text")
    with pytest.raises(DocumentError):
        between(document, "a")


def test_the_document_has_the_tables_that_the_command_makes() -> None:
    lines = between(DOCUMENT.read_text(encoding="utf-8"), "comparison").splitlines()
    heads = [line for line in lines if line.startswith("| noise")]
    assert heads == [f"| noise | {' | '.join(titles(METHODS))} |"] * len(TABLES)
    for mark, kinds in (("", CHOSEN_ON), (", held out", HELD_OUT)):
        for kind in kinds:
            rows = [line for line in lines if line.startswith(f"| {kind.name}{mark} |")]
            assert len(rows) == len(TABLES)


def test_the_document_asks_the_questions_of_the_tables() -> None:
    text = between(DOCUMENT.read_text(encoding="utf-8"), "comparison")
    assert [each.title for each in TABLES if f"**{each.title}.** {each.meaning}" not in text] == []


def test_figures_count_what_is_true() -> None:
    plan = Plan(restarts=10, steps=3, rounds=6)
    piece = quiet(np.random.default_rng(1), 60, plan)
    found = figures(ROUNDS, piece, plan, restarts=8, lengths=(6, 10))
    assert found.false_alarms < 0.2
    assert found.coverage == pytest.approx(0.95, abs=0.06)
    assert found.found == tuple(sorted(found.found))
    assert found.found[-1] == 1.0


def test_who_measures_in_turn_takes_a_drift_for_a_difference() -> None:
    plan = Plan(restarts=15)
    piece = drift(np.random.default_rng(1), 20, plan)
    found = figures(WELCH, piece, plan, restarts=15, lengths=())
    assert found.false_alarms > 0.5
    assert found.coverage is not None
    assert found.coverage < 0.7


def test_minutes_are_those_of_the_shortest_run_that_finds_enough() -> None:
    plan = Plan(restarts=12, steps=2)
    piece = quiet(np.random.default_rng(2), 40, plan)
    both = figures(ROUNDS, piece, plan, restarts=12, lengths=(6, 12))
    none = figures(ROUNDS, piece, plan, restarts=12, lengths=(3,))
    assert both.minutes in {plan.after(6).minutes, plan.after(12).minutes}
    assert none.minutes is None
