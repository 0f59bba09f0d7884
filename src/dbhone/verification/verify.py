"""Verifies a build against a base: every check of a grade, on both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from dbhone.compilation.manifest import Build
from dbhone.dbms.base import load_dbms
from dbhone.errors import UsageError
from dbhone.requirements import SANDBOX, Requirement
from dbhone.sandbox import is_waived
from dbhone.units import count_of
from dbhone.verification.checks.base import (
    Check,
    GeneratedQueries,
    RegressionTests,
    TestList,
    checks_for,
)
from dbhone.verification.differential import QueryRun
from dbhone.verification.harness import TestHarness
from dbhone.verification.outcome import (
    Grade,
    ListComparison,
    ListResult,
    Outcome,
    compare,
    worse_of,
    worse_of_base,
)
from dbhone.verification.outcome_store import OutcomeStore
from dbhone.verification.regression_run import RegressionRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A build to verify against a base at a grade.

    Of regression tests only ``names`` are run, if there are any: that outcome is not a grade, and
    is not kept. With ``again`` nothing is taken from before.
    """

    candidate: Build
    base: Build
    grade: Grade
    names: tuple[str, ...] = ()
    again: bool = False

    def outcome(self, harness: TestHarness, answers: tuple[ListComparison, ...] = ()) -> Outcome:
        """Return what all checks of the grade found; ``answers`` are those of the workload.

        Raises UsageError if there are no such checks, ToolError or MachineError before any work if
        this machine lacks what they need.
        """
        self._check_base()
        check_needs(self.candidate.manifest.dbms, self.grade, harness)
        outcome = Outcome(
            grade=self.grade,
            build=self.candidate.digest,
            base=self.base.digest,
            lists=(
                *answers,
                *(self._compare(*each, harness) for each in self._lists(harness)),
            ),
            finished_at=datetime.now(UTC),
        )
        if self.names:
            return outcome
        return OutcomeStore(harness.session.home, self.candidate).keep_outcome(outcome)

    def _lists(self, harness: TestHarness) -> tuple[tuple[Check, TestList, tuple[str, ...]], ...]:
        """Return the lists of the grade, each with the names of its tests that were asked for."""
        lists = lists_of(self.candidate.manifest.dbms, self.grade)
        if not self.names:
            return tuple((check, tests, ()) for check, tests in lists)
        named = tuple(self._named(lists, harness))
        found = {name for _, _, names in named for name in names}
        unknown = [name for name in self.names if name not in found]
        if unknown:
            raise UsageError(f"the grade {self.grade.value} has no test {' or '.join(unknown)}")
        return named

    def _named(
        self, lists: Iterable[tuple[Check, TestList]], harness: TestHarness
    ) -> Iterator[tuple[Check, TestList, tuple[str, ...]]]:
        """Yield the lists that have a named test; of a check's lists the first that has it."""
        tree = harness.tree_of(self.candidate)
        source = None if tree is None else tree.path
        taken: set[tuple[str, str]] = set()
        for check, tests in lists:
            if not isinstance(check, RegressionTests):
                continue
            left = (name for name in self.names if (check.name, name) not in taken)
            names = tuple(name for name in left if check.has_test(tests.name, name, source))
            taken |= {(check.name, name) for name in names}
            if names:
                yield check, tests, names

    def _check_base(self) -> None:
        dbms = self.candidate.manifest.dbms
        if self.base.manifest.dbms != dbms:
            raise UsageError(
                f"{self.base.digest[:12]} is not a build of {load_dbms(dbms).title}",
                hint="name a base of the same DBMS with --against",
            )

    def _compare(
        self, check: Check, tests: TestList, names: tuple[str, ...], harness: TestHarness
    ) -> ListComparison:
        if isinstance(check, GeneratedQueries):
            run = QueryRun(check=check, list=tests, harness=harness, again=self.again)
            queries = run.of_base(self.base)
            return compare(queries.base, run.of_candidate(self.candidate, queries))
        assert isinstance(check, RegressionTests), "there are two kinds of checks"
        return self._compare_regression(check, tests, names, harness)

    def _compare_regression(
        self,
        regression: RegressionTests,
        tests: TestList,
        names: tuple[str, ...],
        harness: TestHarness,
    ) -> ListComparison:
        base, candidate = (
            RegressionRun(
                regression=regression, list=tests, build=build, harness=harness, names=names
            )
            for build in (self.base, self.candidate)
        )
        expected = base.base_result(again=self.again)
        # A build is its own base: what it passes, it passes.
        again = self.again and self.candidate.digest != self.base.digest
        found = candidate.result(again=again)
        failed = expected.attempted_once(_failed(expected, found))
        if failed:
            harness.notify(f"{tests.name}: the base once more, because {_count(failed)} failed")
            expected = base.once_more(expected, failed, partial(worse_of_base, expected))
        failed = found.attempted_once(_failed(expected, found))
        if failed:
            harness.notify(f"{tests.name}: once more, because {_count(failed)} failed")
            found = candidate.once_more(found, failed, partial(worse_of, expected, found))
        return compare(expected, found)


def _count(tests: tuple[str, ...]) -> str:
    return count_of(len(tests), "test")


def _failed(expected: ListResult, found: ListResult) -> tuple[str, ...]:
    return tuple(failure.test for failure in compare(expected, found).failures)


def lists_of(dbms: str, grade: Grade) -> tuple[tuple[Check, TestList], ...]:
    """Return the lists of a grade for a DBMS, the quickest first, each with its check.

    Raises UsageError if the grade wants regression tests and hone knows none.
    """
    checks = checks_for(dbms)
    if grade is not Grade.ANSWERS and not _has_regression_tests(dbms):
        raise UsageError(
            f"hone knows no regression tests of {load_dbms(dbms).title}",
            hint=f"verify it with --grade {Grade.ANSWERS.value}",
        )
    found = ((check, tests) for check in checks for tests in check.lists if grade in tests.grades)
    return tuple(sorted(found, key=lambda pair: pair[1].seconds))


def usual_grade(dbms: str) -> Grade:
    """Return the grade at which builds of a DBMS are verified if nobody names one."""
    return Grade.SMOKE if _has_regression_tests(dbms) else Grade.ANSWERS


def _has_regression_tests(dbms: str) -> bool:
    return any(isinstance(check, RegressionTests) for check in checks_for(dbms))


def check_needs(dbms: str, grade: Grade, harness: TestHarness) -> None:
    """Raise ToolError or MachineError if this machine lacks what a grade's checks need."""
    for check, _ in lists_of(dbms, grade):
        harness.check_needs(check)


def requirements_of_checks(dbms: str, grade: Grade) -> tuple[Requirement, ...]:
    """Return what a grade's checks of a DBMS require; several may require the same."""
    lists = lists_of(dbms, grade)
    enclosing = (SANDBOX,) if lists and not is_waived() else ()
    return (*enclosing, *(need for check, _ in lists for need in check.requirements))


def expected_seconds(dbms: str, grade: Grade, builds: int) -> float:
    """Return about how long two cores take to verify this many builds, and to make the tests."""
    lists = lists_of(dbms, grade)
    programs = {
        check.name: check.test_programs(dbms)
        for check, _ in lists
        if isinstance(check, RegressionTests)
    }
    making = sum(
        each.build_seconds * (1 if each.fixed else builds)
        for each in programs.values()
        if each is not None
    )
    return making + builds * sum(tests.seconds for _, tests in lists)
