"""PostgreSQL's own tests by pg_regress: the parallel schedule, and the isolation tests.

They are put to a running server of the build's own bytes. What they need besides (psql, pg_regress
and the library of C functions that they load) is built once for each source tree.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path
from types import MappingProxyType

from dbhone.dbms._postgresql_make import RUN_PATH, configure
from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe
from dbhone.requirements import Requirement
from dbhone.verification.checks.base import (
    Read,
    RegressionTests,
    TestCommand,
    TestJob,
    TestList,
    TestPrograms,
)
from dbhone.verification.outcome import Evidence, Grade, Status, TestResult

_REGRESS, _ISOLATION = Path("src/test/regress"), Path("src/test/isolation")
_PARALLEL, _CONCURRENT = "parallel_schedule", "isolation_schedule"
_SETUP = "test_setup"
"""The test that makes the tables of all others, from PostgreSQL 15 on."""
_FOLDERS = (
    "src/interfaces/libpq",
    "src/bin/psql",
    "src/test/regress",
    "src/test/isolation",
)
_CLIENTS = 20
"""The most clients that a schedule has at once; the server keeps some connections for itself."""
_RESULT = re.compile(
    # Up to 15, and the Test Anything Protocol since 16.
    r"^(?:test +|     )(?P<name>\S+) +\.\.\. (?P<word>ok|FAILED|failed)\b"
    r"|^(?P<tap>ok|not ok) +\d+ +[-+] (?P<tap_name>\S+)",
    re.MULTILINE,
)
_END = re.compile(
    # The same two kinds; of a list that ends early neither is printed.
    r"^ (?:All \d+|\d+ of \d+) tests (?:passed|failed)\b|^1\.\.\d+$",
    re.MULTILINE,
)
_DIFFERENCE = re.compile(r"^diff .*/results/(?P<name>[^/\s]+)\.out$", re.MULTILINE)
_LONGEST = 4000


class PostgresqlTestPrograms(TestPrograms):
    """pg_regress, psql, the isolation tester, and the library that tests load."""

    tested = "postgresql"
    fixed = True
    build_share = 0.25

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, then each program by its makefile."""
        flags = f"COPT={' '.join(request.compile_flags)}"
        make = ("make", f"-j{request.jobs}", flags, RUN_PATH, "-C")
        return Recipe(
            steps=(
                configure(request, request.compiler),
                BuildStep(phase=Phase.COMPILE, argv=(*make, "src/backend", "generated-headers")),
                *(BuildStep(phase=Phase.COMPILE, argv=(*make, folder)) for folder in _FOLDERS),
            ),
            artifacts=(
                _program("pg_regress", _REGRESS / "pg_regress"),
                _program("pg_isolation_regress", _ISOLATION / "pg_isolation_regress"),
                _program("isolationtester", _ISOLATION / "isolationtester"),
                _program("psql", Path("src/bin/psql/psql")),
                _library("libpq.so.5", Path("src/interfaces/libpq")),
                _library("regress.so", _REGRESS),
                *(_library(f"{name}.so", _REGRESS) for name in _modules(request.tree)),
            ),
            primary="regress.so",
        )


def _modules(tree: Path) -> tuple[str, ...]:
    """Return the modules that the tests load besides; since PostgreSQL 18 there are none."""
    makefile = (tree / _REGRESS / "GNUmakefile").read_text(encoding="utf-8", errors="replace")
    return tuple(name for name in ("refint", "autoinc") if name in makefile)


def _program(name: str, made: Path) -> Artifact:
    return Artifact(name=name, made=made, kept=Path("bin") / name)


def _library(name: str, folder: Path) -> Artifact:
    return Artifact(name=name, made=folder / name, kept=Path("lib") / name)


class PgRegress(RegressionTests):
    """The schedules of src/test/regress and src/test/isolation."""

    name = "pg_regress"
    title = "PostgreSQL's regression tests"
    systems = frozenset({"postgresql"})
    evidence = Evidence.BYTES
    requirements = (Requirement(name="diff", package="diffutils"),)
    lists = (
        TestList(name=_PARALLEL, grades=frozenset({Grade.SMOKE, Grade.FULL}), seconds=25),
        TestList(name=_CONCURRENT, grades=frozenset({Grade.FULL}), seconds=30),
    )
    # Else its own: expected plans and warnings are those of the server's own settings.
    server_settings = MappingProxyType({"max_connections": "100", "fsync": "off"})

    def test_programs(self, dbms: str) -> TestPrograms:
        """Return pg_regress and what it needs."""
        del dbms
        return PostgresqlTestPrograms()

    def has_test(self, tests: str, name: str, tree: Path | None) -> bool:
        """Return whether the list's folder has the test's script."""
        scripts = _ISOLATION / "specs" if tests == _CONCURRENT else _REGRESS / "sql"
        return tree is not None and any((tree / scripts).glob(f"{glob.escape(name)}.*"))

    def command(self, job: TestJob) -> TestCommand:
        """Return pg_regress with a schedule, or with the names of tests."""
        assert job.tree is not None and job.endpoint is not None
        isolation = job.list == _CONCURRENT
        inputs = job.tree / (_ISOLATION if isolation else _REGRESS)
        tests = job.names or (f"--schedule={inputs / job.list}",)
        if job.names and not isolation and (inputs / "sql" / f"{_SETUP}.sql").exists():
            tests = tuple(dict.fromkeys((_SETUP, *job.names)))
        argv = (
            str(job.tests / "bin" / ("pg_isolation_regress" if isolation else "pg_regress")),
            f"--inputdir={inputs}",
            f"--outputdir={job.folder}",
            f"--bindir={job.tests / 'bin'}",
            f"--dlpath={job.tests / 'lib'}",
            f"--host={job.endpoint.socket.parent}",
            f"--port={job.endpoint.port}",
            f"--user={job.endpoint.user}",
            f"--max-concurrent-tests={_CLIENTS}",
            f"--dbname={'isolation_regression' if isolation else 'regression'}",
            *tests,
        )
        return TestCommand(argv=argv, readable=(job.tests, inputs))

    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        """Return a result for each test, with what differs from its expected output."""
        differences = _by_test(read("regression.diffs"))
        return tuple(_result(match, differences) for match in _RESULT.finditer(printed))

    def came_to_end(self, printed: str) -> bool:
        """Return whether it has counted its tests."""
        return _END.search(printed) is not None


def _result(match: re.Match[str], differences: dict[str, str]) -> TestResult:
    name = match["name"] or match["tap_name"]
    passed = "ok" in (match["word"], match["tap"])
    difference = "" if passed else differences.get(name, "its program failed")
    return TestResult(
        name=name,
        status=Status.PASSED if passed else Status.FAILED,
        difference=difference[:_LONGEST],
    )


def _by_test(text: str) -> dict[str, str]:
    starts = list(_DIFFERENCE.finditer(text))
    ends = [*(match.start() for match in starts[1:]), len(text)]
    return {
        start["name"]: text[start.end() : end].strip()
        for start, end in zip(starts, ends, strict=False)
    }


PLUGIN = PgRegress()
