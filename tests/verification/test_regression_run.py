"""Lists of regression tests: what is kept of them, and what of a list that was cut off."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbhone import process
from dbhone.errors import DriverError
from dbhone.home import Home, open_session
from dbhone.verification.checks.base import Read, RegressionTests, TestCommand, TestJob, TestList
from dbhone.verification.harness import TestHarness
from dbhone.verification.outcome import RUNNER, Evidence, Grade, Status, TestResult, compare
from dbhone.verification.regression_run import RegressionRun
from tests.package.builds import server_build

LIST = TestList(name="parallel", grades=frozenset({Grade.SMOKE}), seconds=10)


def finished(printed: str, status: int = 0, *, timed_out: bool = False) -> process.Finished:
    """Return how a runner ended that printed this."""
    return process.Finished(
        status=status,
        seconds=900.0,
        usage=cast("Any", None),
        output=printed.encode(),
        timed_out=timed_out,
        overflowed=False,
    )


WHOLE = finished("ok 1\nok 2\nok 3\n")
KILLED = finished("ok 1\n", -signal.SIGKILL)
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


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[TestHarness]:
    with open_session(Home(tmp_path / "home")) as session:
        pretended = SimpleNamespace(
            session=session,
            check_needs=lambda _: None,
            tests_of=lambda *_: tmp_path / "tests",
            tree_of=lambda _: None,
            exclusively=lambda work: work(),
        )
        yield cast("TestHarness", pretended)


@pytest.fixture
def run(tmp_path: Path) -> RegressionRun:
    return RegressionRun(regression=Numbered(), list=LIST, build=server_build(tmp_path, "f" * 64))


def ends(monkeypatch: pytest.MonkeyPatch, *endings: process.Finished) -> Iterator[process.Finished]:
    """Have the runs of a list end so, one after the other; return those that are left."""
    left = iter(endings)
    monkeypatch.setattr(RegressionRun, "_finish", lambda *_: (next(left), None))
    return left


@pytest.mark.parametrize(
    ("ending", "said"),
    [(KILLED, "was ended by SIGKILL"), (LATE, "did not end within 900 s and was stopped")],
)
def test_a_list_that_was_cut_off_with_the_base_is_an_error_and_is_run_again_the_next_time(
    ending: process.Finished,
    said: str,
    harness: TestHarness,
    run: RegressionRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = ends(monkeypatch, ending, WHOLE)
    with pytest.raises(DriverError, match=f"parallel, with the base: the runner {said}") as error:
        run.base_result(harness)
    assert error.value.log is not None
    assert "ok 1" in error.value.log.read_text()
    assert [test.name for test in run.base_result(harness).tests] == ["1", "2", "3"]
    assert run.base_result(harness).cut_off is None
    assert next(left, None) is None


def test_a_list_that_was_cut_off_twice_with_the_candidate_is_failed_and_not_kept(
    harness: TestHarness, run: RegressionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ends(monkeypatch, WHOLE, KILLED, LATE, WHOLE)
    base = run.base_result(harness, again=True)
    first = run.result(harness, again=True)
    assert [failure.test for failure in compare(base, first).failures] == ["2", "3", RUNNER]
    compared = compare(base, run.repeat(harness, first))
    assert [failure.test for failure in compared.failures] == ["2", "3", RUNNER]
    assert compared.failures[-1].difference == "the runner did not end within 900 s and was stopped"
    assert not compare(base, run.result(harness)).failures
    assert next(left, None) is None


def test_a_list_that_was_cut_off_only_once_counts_as_the_second_run_found_it(
    harness: TestHarness, run: RegressionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, WHOLE, KILLED, WHOLE)
    base = run.base_result(harness, again=True)
    first = run.result(harness, again=True)
    compared = compare(base, run.repeat(harness, first))
    assert compared.failures == ()
    assert (compared.proving, compared.undecided) == (3, (RUNNER,))
    assert run.result(harness).tests[-1].name == "3"


def test_a_list_that_was_cut_off_the_second_time_only_is_failed(
    harness: TestHarness, run: RegressionRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(monkeypatch, WHOLE, finished("not 1\nok 2\nok 3\n", 1), KILLED)
    base = run.base_result(harness, again=True)
    first = run.result(harness, again=True)
    compared = compare(base, run.repeat(harness, first))
    assert [failure.test for failure in compared.failures] == [RUNNER]
    assert compared.undecided == ("1",)
