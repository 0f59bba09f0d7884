"""What checks found: grades, the results of tests, and how a candidate's compare with the base's.

Nothing is run here. The records are kept as JSON (``outcome_store.py``) and become part of
packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from dbhone.safe_text import flat
from dbhone.units import count_of, listed

SERVER = "(server)"
"""The test that a server passes by neither crashing nor refusing to stop."""
RUNNER = "(runner)"
"""The test that a list fails whose runner did not come to its end; there is none for one that did.
"""
_NO_RESULT = "it gave no result"
_ONCE = "in one of two attempts:"
_EXCERPT = 240
"""The most characters of a difference that a page shows."""
_HEADS = ("diff ", "--- ", "+++ ", "@@ ")
_CHANGED = ("-", "+")


class Grade(StrEnum):
    """How thoroughly a build is verified; each grade includes those before it."""

    ANSWERS = "answers"
    """The workload's own answers, and generated queries."""
    SMOKE = "smoke"
    """The short list of the DBMS's own regression tests, too."""
    FULL = "full"
    """The main lists of its regression tests, too."""


class Evidence(StrEnum):
    """What a check tests, and so what it proves."""

    BYTES = "the build's bytes"
    FLAGS = "its flags and profile"


class Status(StrEnum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It does not apply here."""
    UNDECIDED = "undecided"
    """It shows nothing certain: it changes by itself, or took too long."""


_SEVERITY = {Status.PASSED: 0, Status.UNDECIDED: 1, Status.SKIPPED: 2, Status.FAILED: 3}
"""How bad it is for a test to end so: of two attempts the worse one counts."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TestResult(_Record):
    """One test of a list. ``difference`` is what a failed one found instead of what it expected.

    ``answer`` is a digest of what a generated query returned; tests that know what to expect have
    none.
    """

    __test__ = False  # pytest takes it for tests otherwise

    name: str
    status: Status
    difference: str = ""
    answer: str = ""

    def as_undecided(self) -> TestResult:
        """Return it as a result that tells nothing."""
        return self.model_copy(update={"status": Status.UNDECIDED})


class ListResult(_Record):
    """The results of one list of a check for one build.

    ``attempts`` counts how often the whole list was run, and ``repeated`` names the tests that were
    run once more without the others. Of several attempts each test has its worst result.
    ``seconds`` is the wall time of the first.
    """

    check: str
    list: str
    build: str
    evidence: Evidence
    tests: tuple[TestResult, ...]
    seconds: float
    finished_at: datetime
    attempts: int = 1
    repeated: tuple[str, ...] = ()

    def attempted_once(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return which of these tests had one attempt only."""
        return () if self.attempts > 1 else tuple(n for n in names if n not in self.repeated)

    @property
    def cut_off(self) -> str | None:
        """How the list's runner stopped before its end, None if it came to it."""
        ends = (
            test.difference
            for test in self.tests
            if test.name == RUNNER and test.status is Status.FAILED
        )
        return next(ends, None)


class Failure(_Record):
    """A test that the base passes and the candidate does not."""

    check: str
    list: str
    test: str
    difference: str

    @property
    def excerpt(self) -> str:
        """How its difference begins, on one line: of a diff, the lines that differ."""
        lines = [line for line in self.difference.splitlines() if not line.startswith(_HEADS)]
        changed = [line for line in lines if line.startswith(_CHANGED)]
        text = flat(" / ".join(changed or lines))
        return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rstrip()} …"


class ListComparison(_Record):
    """One list of ``tests`` tests on both builds, in numbers.

    Of the tests that the base passes, ``undecided`` names those whose result is undecided for the
    candidate, and ``proving`` counts the others. ``base_failures`` names those that the base fails.
    That the server lived on, and the runner came to its end, can fail but counts as no test: alone
    it proves nothing.
    """

    check: str
    list: str
    evidence: Evidence
    tests: int
    proving: int
    base_failures: tuple[str, ...]
    undecided: tuple[str, ...]
    failures: tuple[Failure, ...]
    seconds: float

    @property
    def name(self) -> str:
        """The check and its list, for people."""
        return f"{self.check} {self.list}"

    @property
    def passed(self) -> int:
        """How many of the proving tests the candidate passes."""
        return self.proving - sum(_is_asked(failure.test) for failure in self.failures)


class Outcome(_Record):
    """What verifying a build against a base at a grade found."""

    grade: Grade
    build: str
    base: str
    lists: tuple[ListComparison, ...]
    finished_at: datetime

    @property
    def passed(self) -> bool:
        """Whether the build passes whatever the base passes, and something was proved at all."""
        return bool(self.lists) and not self.failures and all(each.proving for each in self.lists)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The tests that the base passes and the build does not."""
        return tuple(failure for each in self.lists for failure in each.failures)

    def reason(self) -> str | None:
        """Return why the build does not pass, None if it passes."""
        if self.passed:
            return None
        if not self.lists:
            return "nothing was asked of it"
        if not self.failures:
            empty = next(each for each in self.lists if not each.proving)
            if empty.undecided:
                return f"all tests of {empty.name} that the base passes are undecided"
            return f"the base passes no test of {empty.name}, so that it proves nothing"
        names = [failure.test for failure in self.failures]
        lists = " and ".join(dict.fromkeys(each.name for each in self.lists if each.failures))
        return (
            f"it fails {count_of(len(names), 'test')} of {lists} that the base passes:"
            f" {listed(names)}"
        )


def _is_asked(test: str) -> bool:
    """Return whether a test asks the build something, rather than telling how the list went."""
    return test not in (SERVER, RUNNER)


def compare(base: ListResult, candidate: ListResult) -> ListComparison:
    """Return how a candidate's results of a list compare with the base's.

    Only a test that the base passes proves something, and none that is undecided. A candidate
    fails such a test, too, if it gave no result, as a test program that crashed gives none. The
    base's runner was not cut off, so a candidate's must not be either; the tests that one did not
    come to are undecided.
    """
    found = {test.name: test for test in candidate.tests}
    ended = (TestResult(name=RUNNER, status=Status.PASSED),) if RUNNER in found else ()
    tests = (*base.tests, *ended)
    passed = [test for test in tests if test.status is Status.PASSED]
    doubtful = {test.name for test in candidate.tests if test.status is Status.UNDECIDED}
    if candidate.cut_off is not None:
        doubtful |= {test.name for test in passed} - found.keys()
    undecided = tuple(test.name for test in passed if test.name in doubtful)
    return ListComparison(
        check=base.check,
        list=base.list,
        evidence=base.evidence,
        tests=sum(_is_asked(test.name) for test in tests),
        proving=sum(_is_asked(test.name) for test in passed if test.name not in doubtful),
        base_failures=tuple(test.name for test in base.tests if test.status is Status.FAILED),
        undecided=undecided,
        failures=tuple(
            _failures(candidate, (test for test in passed if test.name not in doubtful), found)
        ),
        seconds=candidate.seconds,
    )


def worse_of_base(first: ListResult, second: ListResult) -> ListResult:
    """Return a base's results of two attempts at a list: of each test the worse one.

    A test that it passed with two different answers is undecided. The first attempt was whole, so
    that the second need not be.
    """
    worse = worse_of(first, first, second)
    answers = {test.name: test.answer for test in first.tests}

    def certain(test: TestResult) -> TestResult:
        another = test.status is Status.PASSED and test.answer != answers.get(test.name)
        return test.as_undecided() if another else test

    tests = tuple(certain(test) for test in worse.tests if test.name != RUNNER)
    return worse.model_copy(update={"tests": tests})


def worse_of(base: ListResult, first: ListResult, second: ListResult) -> ListResult:
    """Return a candidate's results of two attempts at a list: of each test the worse one.

    Which one is worse is judged by the base. An attempt that was cut off says nothing about the
    tests that it did not come to. The runner is failed if both were, and undecided if one was.
    """
    expected = {test.name: test for test in base.tests if test.status is Status.PASSED}
    one, other = _results(first, second), _results(second, first)
    tests = [_worse(one[name], other[name], expected.get(name)) for name in one]
    cut_off = [test for each in (first, second) for test in each.tests if test.name == RUNNER]
    runner = cut_off[-1:] if len(cut_off) > 1 else [test.as_undecided() for test in cut_off]
    return first.model_copy(update={"tests": (*tests, *runner)})


def completed_by(second: ListResult, first: ListResult, asked: Iterable[str]) -> ListResult:
    """Return an attempt at the tests ``asked`` alone, with all others as the first found them."""
    anew = {*asked, *(test.name for test in second.tests)}
    others = tuple(test for test in first.tests if test.name not in anew)
    return second.model_copy(update={"tests": (*second.tests, *others)})


def _results(attempt: ListResult, other: ListResult) -> dict[str, TestResult]:
    """Return an attempt's results by name, also of the tests that only the other tells of."""
    results = {test.name: test for test in attempt.tests if test.name != RUNNER}
    for test in other.tests:
        if test.name not in results and test.name != RUNNER:
            none = TestResult(name=test.name, status=Status.FAILED, difference=_NO_RESULT)
            results[test.name] = none if attempt.cut_off is None else test
    return results


def _worse(one: TestResult, other: TestResult, expected: TestResult | None) -> TestResult:
    """Return the worse of two results of a test, which tells if it was wrong only once."""

    def severity(found: TestResult) -> tuple[bool, int]:
        wrong = expected is not None and _difference(expected, found) is not None
        return wrong, _SEVERITY[found.status]

    better, worse = sorted((one, other), key=severity)
    if severity(better) == severity(worse):
        return one
    if worse.difference and severity(worse)[0] > severity(better)[0]:
        return worse.model_copy(update={"difference": f"{_ONCE}\n{worse.difference}"})
    return worse


def _failures(
    candidate: ListResult, passed: Iterable[TestResult], found: Mapping[str, TestResult]
) -> Iterable[Failure]:
    for expected in passed:
        result = found.get(expected.name)
        difference = _difference(expected, result)
        if difference is not None:
            yield Failure(
                check=candidate.check,
                list=candidate.list,
                test=expected.name,
                difference=difference,
            )


def _difference(expected: TestResult, result: TestResult | None) -> str | None:
    """Return what a candidate's result has other than the base's, None if nothing."""
    if result is None:
        return _NO_RESULT
    if result.status is Status.UNDECIDED:
        return None
    if result.status is Status.SKIPPED:
        return "it was skipped"
    if result.status is Status.PASSED and result.answer == expected.answer:
        return None
    return result.difference or "its answer differs"
