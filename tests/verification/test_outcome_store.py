from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dbhone.home import Home
from dbhone.verification.outcome import Grade, Outcome, Status, compare
from dbhone.verification.outcome_store import OutcomeStore
from tests.verification.test_outcome import results


@pytest.fixture
def outcomes(tmp_path: Path) -> OutcomeStore:
    home = Home(tmp_path)
    home.verifications.mkdir()
    return OutcomeStore(home, "build")


def outcome(grade: Grade, *, passed: bool) -> Outcome:
    base = results({"a": Status.PASSED})
    found = results({"a": Status.PASSED if passed else Status.FAILED})
    return Outcome(
        grade=grade,
        build="build",
        base="base",
        lists=(compare(base, found),),
        finished_at=datetime(2026, 11, 24, tzinfo=UTC),
    )


def test_results_are_found_as_they_were_kept_with_their_log(outcomes: OutcomeStore) -> None:
    assert outcomes.find("list") is None
    result = results({"a": Status.PASSED, "b": Status.UNDECIDED}, answers={"a": "1 row"})
    outcomes.keep("list", result, b"printed\n")
    assert outcomes.find("list") == result
    assert outcomes.log("list").read_bytes() == b"printed\n"


def test_damaged_results_count_as_none(outcomes: OutcomeStore) -> None:
    outcomes.keep("list", results({"a": Status.PASSED}), b"")
    path = outcomes.log("list").with_suffix(".json")
    path.write_text(path.read_text()[:-20])
    assert outcomes.find("list") is None


def test_the_best_grade_is_the_highest_that_was_passed(outcomes: OutcomeStore) -> None:
    assert outcomes.best() is None
    outcomes.keep_outcome(outcome(Grade.ANSWERS, passed=True))
    assert outcomes.failed() is None
    outcomes.keep_outcome(outcome(Grade.FULL, passed=False))
    failed = outcomes.failed()
    assert failed is not None
    assert failed.grade is Grade.FULL
    best = outcomes.best()
    assert best is not None
    assert best.grade is Grade.ANSWERS
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=True))
    best = outcomes.best()
    assert best is not None
    assert best.grade is Grade.SMOKE
