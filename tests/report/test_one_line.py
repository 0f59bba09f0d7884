"""A list of runs has the answer of each in a few words."""

from __future__ import annotations

import re

import pytest

from dbhone.measurement.record import Run, Warning
from dbhone.report.findings import findings_of
from dbhone.report.headline import headline
from dbhone.report.one_line import one_line
from tests.report.odd_runs import odd_runs
from tests.report.sample_history import a_history, history_samples
from tests.report.sample_run import Shape, a_small_run, samples, with_only, without


def said_of(run: Run, **ratios: float) -> str:
    """Return what is said of a run with these true ratios, by subject."""
    effects = {name: (ratio, ratio) for name, ratio in ratios.items()}
    return one_line(findings_of(run, samples(run, Shape(effects=effects))))


def test_names_the_winner_and_by_how_much() -> None:
    said = said_of(a_small_run(), pgo=1.5)
    assert said.startswith("pgo is 1.5")
    assert said.endswith(" times as fast as rel")


def test_says_that_nothing_is_faster() -> None:
    assert said_of(a_small_run()) == "nothing was found faster than rel"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.8, r"pgo is slower than rel \(0\.\d\d\)"),
        (1.0, r"no difference found between pgo and rel \([01]\.\d+\)"),
    ],
)
def test_tells_the_verdict_and_the_figure_of_the_only_candidate(ratio: float, words: str) -> None:
    run = with_only(a_small_run(), "rel", "control", "pgo")
    assert re.fullmatch(words, said_of(run, pgo=ratio))


def test_a_faster_candidate_that_cannot_be_believed_is_not_named() -> None:
    refused = Warning(code="many-refused", text="pgo's server refused", subject="pgo")
    said = said_of(a_small_run(warnings=(refused,)), pgo=1.5, lto=1.2)
    assert re.match(r"lto is 1\.\d+ times as fast as rel", said)


def test_counts_the_steps_of_a_history_that_changed() -> None:
    run = a_history()
    said = one_line(findings_of(run, history_samples(run)))
    assert said == f"2 of {len(run.steps)} steps changed from 5.6.14 to 8.0.33"


def test_claims_no_absence_of_changes_where_too_little_is_known() -> None:
    run = a_history()
    said = one_line(findings_of(run, history_samples(run, truth={})))
    assert said.startswith("no change found in ")
    assert said.endswith(" steps from 5.6.14 to 8.0.33")


def test_a_control_that_differs_comes_first() -> None:
    said = said_of(a_small_run(), control=1.3, pgo=1.5)
    assert said.startswith("Not to be trusted: pgo is 1.5")


def test_a_limit_of_trust_is_told() -> None:
    said = said_of(without(a_small_run(), "control"), pgo=1.5)
    assert said.endswith(" times as fast as rel (trust is limited)")


@pytest.mark.parametrize("odd", ["nothing", "no block", "five blocks", "base broken", "all broken"])
def test_where_nothing_was_found_says_why(odd: str) -> None:
    found = findings_of(*odd_runs()[odd])
    assert one_line(found) == headline(found)
    assert one_line(found).startswith(("There is no verdict", "Nothing was measured"))
