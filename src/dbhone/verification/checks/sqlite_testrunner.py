"""SQLite's own tests by its test runner: ``veryquick``, and ``full``.

The tests call functions that only a library compiled for tests has (SQLITE_TEST). So the library is
compiled once more, with the build's flags, profile and compiler: what is proved is that these make
sound code of the source, not that the build's own bytes are sound.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe, load_dbms
from dbhone.errors import UsageError
from dbhone.requirements import Requirement, RequirementKind
from dbhone.verification.checks.base import (
    Read,
    RegressionTests,
    TestCommand,
    TestJob,
    TestList,
    TestPrograms,
)
from dbhone.verification.outcome import Evidence, Grade, Status, TestResult

_FOR_TESTS = (
    "-DSQLITE_TEST=1",
    "-DSQLITE_CRASH_TEST=1",
    "-DSQLITE_SERVER=1",
    "-DSQLITE_CORE",
    "-DSQLITE_SERIES_CONSTRAINT_VERIFY=1",
    "-DSQLITE_DEFAULT_PAGE_SIZE=1024",
    "-DSQLITE_ENABLE_DBPAGE_VTAB",
    "-DSQLITE_ENABLE_BYTECODE_VTAB",
    "-DSQLITE_CKSUMVFS_STATIC",
    "-DSQLITE_NO_SYNC=1",
)
"""What the makefile's own rule for its test program says, here for the library."""
_TOLERANT = ("-Wno-coverage-mismatch", "-Wno-backend-plugin", "-Wno-unknown-warning-option")
"""A function that is another for tests has no counts in the build's profile: gcc's word for it,
clang's, and what lets clang pass over gcc's."""
_LIBRARY = Path(".libs/libsqlite3.so.0")
_RESULT = re.compile(
    r"^(?P<name>\S+)\.\.\. (?:(?P<ok>Ok)|FAILED - (?P<errors>\d+) errors? of \d+ tests?)", re.M
)
_UNFINISHED = re.compile(r"^Tests DID NOT FINISH \(crashed\?\): (.+)$", re.M)
_HELPER = re.compile(r"^Launching helper ", re.M)
_END = re.compile(r"^Test log (?:file )?is ", re.M)
_WRONG = re.compile(r"^! (\S+) (expected|got): .*$", re.M)
_LONGEST = 2000


class SqliteTestPrograms(TestPrograms):
    """testfixture, and the library that it tests."""

    tested = "sqlite"
    fixed = False
    build_share = 1.1

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the library's own steps with other defines, and then those of testfixture.

        Raises UsageError for a tree with autosetup: its testfixture holds the objects themselves,
        linked as the build is not.
        """
        if (request.tree / "auto.def").is_file():
            raise UsageError(
                f"hone cannot test builds of SQLite {request.version} by its test runner: from 3.49"
                " on, that does not test a shared library",
                hint="verify it with --grade answers",
            )
        flags = (*request.compile_flags, *_FOR_TESTS, *_TOLERANT)
        of_library = load_dbms("sqlite").recipe(dataclasses.replace(request, compile_flags=flags))
        configure, *compile_steps = (
            step for step in of_library.steps if step.phase is not Phase.TOOLS
        )
        argv = tuple(word for word in configure.argv if word != "--disable-tcl")
        # The library has been compiled already; only what tests it is, with the plain compiler.
        testfixture = (
            *("make", f"-j{request.jobs}", "USE_AMALGAMATION=0", "TESTSRC2="),
            f"CC={request.host_compiler}",
            f"CFLAGS=-O0 -fPIC {' '.join(_defines(argv))}",
            "testfixture",
        )
        return Recipe(
            steps=(
                dataclasses.replace(configure, argv=argv),
                *compile_steps,
                BuildStep(phase=Phase.TOOLS, argv=testfixture),
            ),
            artifacts=(
                Artifact(
                    name="testfixture", made=Path(".libs/testfixture"), kept=Path("bin/testfixture")
                ),
                Artifact(name="library", made=_LIBRARY, kept=Path("lib") / _LIBRARY.name),
            ),
            primary="library",
        )


def _defines(configure: tuple[str, ...]) -> tuple[str, ...]:
    """Return the defines in the compiler's flags of a configure command."""
    flags = next(word for word in configure if word.startswith("CFLAGS="))
    words = flags.removeprefix("CFLAGS=").split()
    return tuple(word for word in words if word.startswith("-DSQLITE_"))


class SqliteTestRunner(RegressionTests):
    """test/testrunner.tcl of the source tree."""

    name = "testrunner"
    title = "SQLite's test runner"
    systems = frozenset({"sqlite"})
    evidence = Evidence.FLAGS
    requirements = (
        Requirement(name="usr/include/tcl[.0-9]*", package="tcl-dev", kind=RequirementKind.FILE),
    )
    lists = (
        TestList(name="veryquick", grades=frozenset({Grade.SMOKE}), seconds=90),
        TestList(name="full", grades=frozenset({Grade.FULL}), seconds=1200),
    )

    def test_programs(self, dbms: str) -> TestPrograms:
        """Return testfixture."""
        del dbms
        return SqliteTestPrograms()

    def command(self, job: TestJob) -> TestCommand:
        """Return the runner; it makes a folder for each of its helpers."""
        assert job.tree is not None
        argv = (
            str(job.tests / "bin" / "testfixture"),
            str(job.tree / "test" / "testrunner.tcl"),
            *("--jobs", str(job.jobs), job.list),
            *job.names,
        )
        return TestCommand(
            argv=argv,
            env={"LD_LIBRARY_PATH": str(job.tests / "lib")},
            readable=(job.tests, job.tree),
        )

    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        """Return a result for each test script; what it found is in the runner's log."""
        wrong = [(match[1], match[0]) for match in _WRONG.finditer(read("testrunner.log"))]
        ended = (
            TestResult(
                name=match["name"],
                status=Status.PASSED if match["ok"] else Status.FAILED,
                difference="" if match["ok"] else _said(match, wrong),
            )
            for match in _RESULT.finditer(printed)
        )
        unfinished = (
            TestResult(name=name, status=Status.FAILED, difference="it did not finish")
            for name in _unfinished(printed)
        )
        return (*ended, *unfinished)

    def came_to_end(self, printed: str) -> bool:
        """Return whether the runner ended, and no script was left when all its helpers crashed.

        A helper that crashes leaves one script unfinished, and begins no other.
        """
        helpers = len(_HELPER.findall(printed)) or 1
        return _END.search(printed) is not None and len(_unfinished(printed)) <= helpers


def _unfinished(printed: str) -> list[str]:
    match = _UNFINISHED.search(printed)
    return match[1].split() if match else []


def _said(match: re.Match[str], wrong: list[tuple[str, str]]) -> str:
    """Return what a script's tests expected and got: their names begin with the script's."""
    prefix = f"{match['name'].removesuffix('.test')}-"
    lines = [line for test, line in wrong if test.startswith(prefix)]
    return "\n".join(lines)[:_LONGEST] or f"{match['errors']} of its tests fail"


PLUGIN = SqliteTestRunner()
