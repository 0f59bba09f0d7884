from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.verification.outcome import (
    SERVER,
    Failure,
    Grade,
    ListResult,
    Outcome,
    Status,
    compare,
    worse_of,
    worse_of_base,
)
from tests.verification.outcomes import NOW, results

STATUSES = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(Status), max_size=8)


def answering(answers: Mapping[str, str]) -> ListResult:
    return results(dict.fromkeys(answers, Status.PASSED), answers=answers)


def outcome(base: ListResult, candidate: ListResult) -> Outcome:
    return Outcome(
        grade=Grade.SMOKE,
        build="candidate",
        base="base",
        lists=(compare(base, candidate),),
        finished_at=NOW,
    )


def test_what_the_base_fails_proves_nothing() -> None:
    base = results({"a": Status.PASSED, "b": Status.FAILED})
    compared = compare(base, results({"a": Status.PASSED, "b": Status.FAILED}))
    assert compared.base_failures == ("b",)
    assert (compared.tests, compared.proving, compared.failures) == (2, 1, ())


@pytest.mark.parametrize(
    ("status", "said"),
    [(Status.FAILED, "its answer differs"), (Status.SKIPPED, "it was skipped")],
)
def test_a_candidate_must_pass_what_the_base_passes(status: Status, said: str) -> None:
    found = outcome(results({"a": Status.PASSED}), results({"a": status}))
    assert not found.passed
    assert [failure.difference for failure in found.failures] == [said]
    assert found.reason() == "it fails 1 test of check list that the base passes: a"


@pytest.mark.parametrize(
    ("difference", "excerpt"),
    [
        ("its answer differs", "its answer differs"),
        (
            "diff -U3 a b\n--- a\n+++ b\n@@ -1,3 +1,3 @@\n count\n-    42\n+    41\n (1 row)",
            "- 42 / + 41",
        ),
        ("! got:\n  \x1b[31m<b>", "! got: / [31m<b>"),
        ("x" * 300, "x" * 240 + " …"),
        ("", ""),
    ],
)
def test_a_difference_is_cut_down_to_one_line(difference: str, excerpt: str) -> None:
    failure = Failure(check="check", list="list", test="a", difference=difference)
    assert failure.excerpt == excerpt


def test_a_test_that_gives_no_result_is_failed() -> None:
    base = results({"a": Status.PASSED, "b": Status.PASSED})
    (failure,) = compare(base, results({"a": Status.PASSED})).failures
    assert (failure.test, failure.difference) == ("b", "it gave no result")


def test_another_answer_is_a_failure_though_both_passed() -> None:
    base = answering({"a": "1 row"})
    assert compare(base, answering({"a": "2 rows"})).failures
    assert not compare(base, answering({"a": "1 row"})).failures


def test_a_list_of_which_the_base_passes_nothing_is_no_proof() -> None:
    base = results({"a": Status.FAILED})
    found = outcome(base, base)
    assert not found.passed
    assert found.reason() == "the base passes no test of check list, so that it proves nothing"


def test_a_build_whose_every_result_is_undecided_has_not_passed() -> None:
    found = outcome(results({"a": Status.PASSED}), results({"a": Status.UNDECIDED}))
    assert (found.failures, found.lists[0].proving) == ((), 0)
    assert not found.passed
    assert found.reason() == "all tests of check list that the base passes are undecided"


def test_a_build_of_which_nothing_was_asked_has_not_passed() -> None:
    asked = results({"a": Status.PASSED})
    found = outcome(asked, asked).model_copy(update={"lists": ()})
    assert not found.passed
    assert found.reason() == "nothing was asked of it"


PASSED = results(dict.fromkeys("abc", Status.PASSED))


def test_what_a_candidate_fails_in_either_attempt_is_failed_and_tells_if_it_was_only_one() -> None:
    once = results({"a": Status.FAILED, "b": Status.PASSED, "c": Status.FAILED}, "wrong")
    then = results({"a": Status.PASSED, "b": Status.FAILED, "c": Status.FAILED}, "wrong")
    failures = compare(PASSED, worse_of(PASSED, once, then)).failures
    assert [(failure.test, failure.difference) for failure in failures] == [
        ("a", "in one of two attempts:\nwrong"),
        ("b", "in one of two attempts:\nwrong"),
        ("c", "wrong"),
    ]


def test_what_a_base_fails_in_either_attempt_proves_nothing_and_is_named() -> None:
    once = results({"a": Status.FAILED, "b": Status.PASSED, "c": Status.PASSED})
    then = results({"a": Status.PASSED, "b": Status.FAILED, "c": Status.PASSED})
    compared = compare(worse_of_base(once, then), results(dict.fromkeys("abc", Status.FAILED)))
    assert compared.base_failures == ("a", "b")
    assert [failure.test for failure in compared.failures] == ["c"]


def test_what_a_base_answers_in_two_ways_is_undecided() -> None:
    once, then = (answering({"a": "1 row", "b": word}) for word in ("2 rows", "3 rows"))
    base = worse_of_base(once, then)
    assert [test.status for test in base.tests] == [Status.PASSED, Status.UNDECIDED]


@given(STATUSES, STATUSES)
def test_which_attempt_comes_first_does_not_matter(
    first: dict[str, Status], second: dict[str, Status]
) -> None:
    one, other = (
        compare(PASSED, worse_of(PASSED, results(each[0]), results(each[1])))
        for each in ((first, second), (second, first))
    )
    assert {failure.test for failure in one.failures} == {
        failure.test for failure in other.failures
    }
    assert set(one.undecided) == set(other.undecided)


def test_a_server_that_crashes_in_either_attempt_has_failed() -> None:
    base = results({"a": Status.PASSED, SERVER: Status.PASSED})
    crashed = results({"a": Status.PASSED, SERVER: Status.FAILED})
    for first, second in ((crashed, base), (base, crashed)):
        failures = compare(base, worse_of(base, first, second)).failures
        assert [failure.test for failure in failures] == [SERVER]


@pytest.mark.parametrize(("tests", "passes"), [(("a", SERVER), True), ((SERVER,), False)])
def test_a_server_that_lives_on_proves_nothing_alone(
    tests: tuple[str, ...], *, passes: bool
) -> None:
    found = results({"skipped": Status.SKIPPED} | dict.fromkeys(tests, Status.PASSED))
    outcome = Outcome(
        grade=Grade.SMOKE,
        build="build",
        base="base",
        lists=(compare(found, found),),
        finished_at=datetime(2026, 11, 24, tzinfo=UTC),
    )
    assert outcome.passed == passes


@given(STATUSES, STATUSES)
def test_only_what_the_base_passes_can_fail(
    base: dict[str, Status], candidate: dict[str, Status]
) -> None:
    compared = compare(results(base), results(candidate))
    passed = {name for name, status in base.items() if status is Status.PASSED}
    failed = {failure.test for failure in compared.failures}
    fine = (Status.PASSED, Status.UNDECIDED)
    assert failed == {name for name in passed if candidate.get(name) not in fine}
    doubtful = {name for name in passed if candidate.get(name) is Status.UNDECIDED}
    assert set(compared.undecided) == doubtful
    assert compared.proving == len(passed - doubtful)


@given(STATUSES)
def test_a_build_that_is_its_own_base_fails_nothing(statuses: dict[str, Status]) -> None:
    never = {name: status for name, status in statuses.items() if status is not Status.SKIPPED}
    assert compare(results(never), results(never)).failures == ()
