from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.variant import parse_variant
from dbhone.home import Home
from dbhone.verification.outcome import Grade, Outcome, Status, compare
from dbhone.verification.outcome_store import OutcomeStore
from tests.compilation.plain_build import plain_build
from tests.verification.outcomes import results

DIGEST = "1" * 64


@pytest.fixture
def outcomes(tmp_path: Path) -> OutcomeStore:
    home = Home(tmp_path)
    home.verifications.mkdir()
    return OutcomeStore(home, build_of("o3", tmp_path))


def build_of(variant: str, folder: Path) -> Build:
    inputs = BuildInputs(dbms="sqlite", source="dir:tree", variant=parse_variant(variant))
    return plain_build(folder, inputs, digest=DIGEST)


def outcome(grade: Grade, *, passed: bool, base: str = "base") -> Outcome:
    expected = results({"a": Status.PASSED})
    found = results({"a": Status.PASSED if passed else Status.FAILED})
    return Outcome(
        grade=grade,
        build=DIGEST,
        base=base,
        lists=(compare(expected, found),),
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


def test_a_failure_against_one_base_stays_when_another_base_shows_none(
    outcomes: OutcomeStore,
) -> None:
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=False))
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=True, base="as wrong as the build"))
    failed = outcomes.failed()
    assert failed is not None
    assert failed.base == "base"
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=True))
    assert outcomes.failed() is None


@pytest.mark.parametrize(("variant", "counts"), [("rel", True), ("o3", False)])
def test_only_a_usual_base_passes_in_comparison_with_itself(
    variant: str, *, counts: bool, tmp_path: Path
) -> None:
    home = Home(tmp_path)
    home.verifications.mkdir()
    outcomes = OutcomeStore(home, build_of(variant, tmp_path))
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=True, base=DIGEST))
    assert (outcomes.best() is not None) == counts


def test_what_was_found_of_an_earlier_build_of_the_same_inputs_does_not_count(
    tmp_path: Path, outcomes: OutcomeStore
) -> None:
    outcomes.keep("list", results({"a": Status.PASSED}), b"")
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=True))
    earlier = build_of("o3", tmp_path)
    later = earlier.manifest.built_at.replace(year=2027) + timedelta(days=1)
    manifest = earlier.manifest.model_copy(update={"built_at": later})
    again = OutcomeStore(Home(tmp_path), Build(tmp_path, manifest))
    assert outcomes.find("list") is not None
    assert again.find("list") is None
    assert again.outcomes() == ()


def test_a_list_that_failed_stays_until_it_is_run_again(outcomes: OutcomeStore) -> None:
    failed = outcome(Grade.SMOKE, passed=False)
    (own,) = failed.lists
    other = own.model_copy(update={"list": "another workload", "failures": ()})
    outcomes.keep_outcome(failed)
    whole = outcomes.keep_outcome(failed.model_copy(update={"lists": (other,)}))
    assert [each.name for each in whole.lists] == [other.name, own.name]
    assert outcomes.failed() == whole
    outcomes.keep_outcome(outcome(Grade.SMOKE, passed=True))
    assert outcomes.failed() is None
