"""Lists of regression tests: what is kept of them, and what of a list that was cut off."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone import process
from dbhone.errors import DriverError, UsageError
from dbhone.home import Home
from dbhone.session import open_session
from dbhone.verification.checks.base import Read, RegressionTests, TestCommand, TestJob, TestList
from dbhone.verification.harness import TestHarness
from dbhone.verification.outcome import (
    RUNNER,
    Evidence,
    Grade,
    Status,
    TestResult,
    compare,
    worse_of,
)
from dbhone.verification.regression_run import RegressionRun
from dbhone.verification.verify import Verification
from tests.compilation.plain_build import plain_build
from tests.package.builds import server_build

LIST = TestList(name="parallel", grades=frozenset({Grade.SMOKE}), seconds=10)


def finished(printed: str, status: int = 0, *, timed_out: bool = False) -> process.Finished:
    """Return how a runner ended that printed this."""
    return process.Finished(
        status=status,
        seconds=900.0,
        cpu_seconds=0.0,
        output=printed.encode(),
        timed_out=timed_out,
        overflowed=False,
    )


WHOLE = finished("ok 1\nok 2\nok 3\nthe end\n")
ONE_FAILS = finished("not 1\nok 2\nok 3\nthe end\n", 1)
GAVE_UP = finished("ok 1\n", 1)
KILLED = finished("ok 1\n", -signal.SIGKILL)
FAILED = ("1", "2", "3")
LATE = finished("ok 1\n", -signal.SIGKILL, timed_out=True)


class Numbered(RegressionTests):
    """Tests that are called by their numbers."""

    name = "numbered"
    title = "the regression tests"
    systems = frozenset({"mysql"})
    evidence = Evidence.BYTES
    lists = (LIST,)

    def command(self, job: TestJob) -> TestCommand:
        raise NotImplementedError

    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        lines = [line.split() for line in printed.splitlines() if line.startswith(("ok", "not"))]
        return tuple(
            TestResult(name=number, status=Status.PASSED if word == "ok" else Status.FAILED)
            for word, number in lines
        )

    def came_to_end(self, printed: str) -> bool:
        return printed.endswith("the end\n")


class Independent(Numbered):
    """Tests of which each can be run alone."""

    def alone(self, test: str) -> str | None:
        return None if test == RUNNER else test


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[TestHarness]:
    with open_session(Home(tmp_path / "home")) as session:
        pretended = SimpleNamespace(
            session=session,
            notify=lambda _: None,
            tests_of=lambda *_: tmp_path / "tests",
            tree_of=lambda _: None,
            exclusive=contextlib.nullcontext,
        )
        yield cast("TestHarness", pretended)


@pytest.fixture
def run(tmp_path: Path, harness: TestHarness) -> RegressionRun:
    build = server_build(tmp_path, "f" * 64)
    return RegressionRun(regression=Numbered(), list=LIST, build=build, harness=harness)


def ends(monkeypatch: pytest.MonkeyPatch, *endings: process.Finished) -> Iterator[process.Finished]:
    """Have the runs of a list end so, one after the other; return those that are left."""
    left = iter(endings)
    monkeypatch.setattr(RegressionRun, "_finish", lambda *_: (next(left), None))
    return left


def repeats(monkeypatch: pytest.MonkeyPatch, *endings: process.Finished) -> list[tuple[str, ...]]:
    """Have the runs of a list end so; return the tests that each was asked for, in a list to be.

    After these endings each run passes the tests that it is asked for.
    """
    left, asked = iter(endings), []

    def finish(run: RegressionRun, *_: object) -> tuple[process.Finished, None]:
        asked.append(run.names)
        passing = "".join(f"ok {name}\n" for name in run.names)
        return next(left, finished(f"{passing}the end\n")), None

    monkeypatch.setattr(RegressionRun, "_finish", finish)
    return asked


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (KILLED, "was ended by SIGKILL"),
        (LATE, "did not end within 900 s and was stopped"),
        (GAVE_UP, "ended with exit code 1 before the end of the list"),
    ],
)
def test_a_list_that_was_cut_off_with_the_base_is_an_error_and_is_run_again_the_next_time(
    ending: process.Finished,
    said: str,
    run: RegressionRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = ends(monkeypatch, ending, WHOLE)
    with pytest.raises(DriverError, match=f"parallel, with the base: the runner {said}") as error:
        run.base_result()
    assert error.value.log is not None
    assert "ok 1" in error.value.log.read_text()
    assert [test.name for test in run.base_result().tests] == ["1", "2", "3"]
    assert run.base_result().cut_off is None
    assert next(left, None) is None


def test_a_list_that_was_cut_off_twice_with_the_candidate_is_failed_and_not_kept(
    run: RegressionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ends(monkeypatch, WHOLE, GAVE_UP, LATE, WHOLE)
    base = run.base_result(again=True)
    first = run.result(again=True)
    assert [failure.test for failure in compare(base, first).failures] == [RUNNER]
    compared = compare(base, run.once_more(first, FAILED, partial(worse_of, base, first)))
    assert [failure.test for failure in compared.failures] == [RUNNER]
    assert compared.undecided == ("2", "3")
    assert compared.failures[-1].difference == "the runner did not end within 900 s and was stopped"
    assert not compare(base, run.result()).failures
    assert next(left, None) is None


def test_a_list_that_was_cut_off_only_once_counts_as_the_second_run_found_it(
    run: RegressionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, WHOLE, KILLED, WHOLE)
    base = run.base_result(again=True)
    first = run.result(again=True)
    compared = compare(base, run.once_more(first, FAILED, partial(worse_of, base, first)))
    assert compared.failures == ()
    assert (compared.proving, compared.undecided) == (3, (RUNNER,))
    assert run.result().attempts == 2


def test_a_list_that_was_cut_off_the_second_time_only_counts_as_both_attempts_found_it(
    run: RegressionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, WHOLE, ONE_FAILS, KILLED)
    base = run.base_result(again=True)
    first = run.result(again=True)
    compared = compare(base, run.once_more(first, FAILED, partial(worse_of, base, first)))
    assert [failure.test for failure in compared.failures] == ["1"]
    assert compared.undecided == (RUNNER,)
    assert run.result().attempts == 2


@pytest.fixture
def verification(tmp_path: Path) -> Verification:
    inputs = server_build(tmp_path, "f" * 64).manifest.inputs
    base, candidate = (plain_build(tmp_path / name, inputs) for name in ("base", "candidate"))
    return Verification(base=base, candidate=candidate, grade=Grade.SMOKE)


def test_a_base_is_given_a_second_attempt_before_a_failure_counts(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ends(monkeypatch, WHOLE, ONE_FAILS, ONE_FAILS)
    for _ in range(2):
        compared = verification._compare_regression(Numbered(), LIST, (), harness)
        assert (compared.base_failures, compared.failures) == (("1",), ())
    assert next(left, None) is None, "what the base fails is kept, so nothing is run once more"


def test_a_failure_that_the_base_does_not_show_counts_though_the_second_attempt_passes(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ends(monkeypatch, WHOLE, ONE_FAILS, WHOLE, WHOLE)
    for _ in range(2):
        compared = verification._compare_regression(Numbered(), LIST, (), harness)
        assert [failure.test for failure in compared.failures] == ["1"]
    assert next(left, None) is None, "no build is given a third attempt"


def test_tests_that_can_be_run_alone_are_repeated_without_the_others(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_fail = finished("not 1\nok 2\nnot 3\nthe end\n", 1)
    asked = repeats(monkeypatch, WHOLE, two_fail, finished("ok 1\nnot 3\nthe end\n", 1))
    compared = verification._compare_regression(Independent(), LIST, (), harness)
    # Of what the build fails the base fails one test when it is asked once more.
    assert asked == [(), (), ("1", "3"), ("1",)]
    assert (compared.base_failures, compared.proving) == (("3",), 2)
    assert [failure.test for failure in compared.failures] == ["1"]
    verification._compare_regression(Independent(), LIST, (), harness)
    assert len(asked) == 4, "what was found is kept"


def test_another_build_has_the_base_repeat_only_what_it_did_not_repeat_before(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeats(monkeypatch, WHOLE, ONE_FAILS)
    verification._compare_regression(Independent(), LIST, (), harness)
    inputs = verification.base.manifest.inputs
    another = dataclasses.replace(
        verification,
        candidate=plain_build(verification.base.folder.parent / "another", inputs),
    )
    asked = repeats(monkeypatch, finished("not 1\nnot 2\nok 3\nthe end\n", 1))
    another._compare_regression(Independent(), LIST, (), harness)
    assert asked == [(), ("2",), ("1", "2")]


def test_a_runner_that_did_not_come_to_its_end_repeats_the_whole_list(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = repeats(monkeypatch, WHOLE, KILLED, WHOLE, WHOLE)
    compared = verification._compare_regression(Independent(), LIST, (), harness)
    assert asked == [(), (), (), ()]
    assert not compared.failures


def test_a_named_test_runs_in_the_first_list_of_a_check_that_may_have_it(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = dataclasses.replace(LIST, name="longer", seconds=100)
    pair = ((Numbered(), LIST), (Numbered(), longer))
    monkeypatch.setattr("dbhone.verification.verify.lists_of", lambda *_: pair)
    named = dataclasses.replace(verification, names=("1", "3"))
    ((_, tests, names),) = named._lists(harness)
    assert (tests.name, names) == ("parallel", ("1", "3"))
    assert [tests.name for _, tests, _ in verification._lists(harness)] == ["parallel", "longer"]


def test_a_named_test_that_no_list_has_is_refused_whatever_the_others_are(
    harness: TestHarness, verification: Verification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.verification.verify.lists_of", lambda *_: ((Numbered(), LIST),))
    monkeypatch.setattr(Numbered, "has_test", lambda _self, _list, name, _tree: name.isdigit())
    named = dataclasses.replace(verification, names=("1", "boolaen"))
    with pytest.raises(UsageError, match="has no test boolaen"):
        named._lists(harness)
