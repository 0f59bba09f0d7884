"""MariaDB's own tests by mysql-test-run: its short collection, and the suite ``main``.

The distribution's packages bring the tests, their client programs and the runner. They start
servers of the build's own bytes, and must be of the very version of the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from dbhone.compilation.manifest import Manifest
from dbhone.requirements import Requirement
from dbhone.verification.checks.base import (
    Read,
    RegressionTests,
    TestCommand,
    TestJob,
    TestList,
)
from dbhone.verification.outcome import Evidence, Grade, Status, TestResult

_COLLECTION = "smoke_test"
_PACKAGES = (
    "mariadb-test",
    "mariadb-test-data",
    "mariadb-client",
    "mariadb-client-core",
    "mariadb-server",
    "mariadb-server-core",
)
_LIBRARY = "libpcre2-posix3"
_VERSION = re.compile(r"(?:apt|deb):mariadb[^,=]*=([^,]+)")
_TESTS = Path("usr/share/mysql/mysql-test")
_PREFIX = "prefix"
"""A folder that looks like an installation: the build's server, the packages' programs."""
_RESULT = re.compile(
    r"^(?P<name>[a-z_]\S*\.\S+)(?: '(?P<variant>[^']*)')? +(?:w\d+ )?"
    r"\[ (?P<word>pass|fail|skipped|disabled|warning)[^\]]*\]",
    re.MULTILINE,
)
_STATUS = MappingProxyType({"pass": Status.PASSED, "fail": Status.FAILED})
_LONGEST = 4000


class MysqlTestRun(RegressionTests):
    """mariadb-test-run.pl with the servers of a build."""

    name = "mysql-test-run"
    title = "MariaDB's regression tests"
    systems = frozenset({"mariadb"})
    evidence = Evidence.BYTES
    requirements = (Requirement(name="perl", package="perl"),)
    lists = (
        TestList(name=_COLLECTION, grades=frozenset({Grade.SMOKE, Grade.FULL}), seconds=300),
        TestList(name="main", grades=frozenset({Grade.FULL}), seconds=2400),
    )

    def package(self, manifest: Manifest) -> str:
        """Return the packages, of the version that the build's own source names, or the newest."""
        match = _VERSION.search(manifest.source)
        version = f"={match[1]}" if match else ""
        return f"deb:{','.join(f'{name}{version}' for name in _PACKAGES)},{_LIBRARY}"

    def command(self, job: TestJob) -> TestCommand:
        """Return the runner; its tests use what the server was built with, and no more."""
        prefix, folder = job.folder / _PREFIX, job.tests / _TESTS
        argv = (
            *("perl", "mariadb-test-run.pl"),
            f"--vardir={job.folder / 'var'}",
            f"--client-bindir={job.tests / 'usr/bin'}",
            *("--force", "--retry=0", "--max-test-fail=0", "--skip-rpl"),
            f"--parallel={job.jobs}",
            *_chosen(job, folder),
        )
        libraries = [*(job.tests / "usr/lib").glob("*-linux-gnu")]
        return TestCommand(
            argv=argv,
            env={
                "MTR_BINDIR": str(prefix),
                "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            },
            readable=(job.tests, job.build.folder),
            cwd=prefix / _TESTS.name,
            links={
                f"{_PREFIX}/sbin/mariadbd": job.build.path(job.build.manifest.primary),
                # It has what tests fill their servers with, and the same messages as the build's.
                f"{_PREFIX}/share": job.tests / "usr/share/mysql",
                f"{_PREFIX}/bin": job.tests / "usr/bin",
            },
            # Servers get copies of its data files, with the permissions that those have.
            copies={f"{_PREFIX}/{_TESTS.name}": folder},
        )

    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        """Return a result for each test and combination, with what a failed one printed."""
        del read
        return tuple(_results(printed))


def _chosen(job: TestJob, folder: Path) -> tuple[str, ...]:
    if job.names:
        return job.names
    if job.list == _COLLECTION:
        words = (folder / "collections" / _COLLECTION).read_text(encoding="utf-8").split()
        return tuple(words)
    return (f"--suite={job.list}",)


def _results(printed: str) -> Iterator[TestResult]:
    starts = list(_RESULT.finditer(printed))
    ends = [*(match.start() for match in starts[1:]), len(printed)]
    for match, end in zip(starts, ends, strict=False):
        status = _STATUS.get(match["word"], Status.SKIPPED)
        variant = f" ({match['variant']})" if match["variant"] else ""
        said = printed[match.end() : end].strip() if status is Status.FAILED else ""
        yield TestResult(name=match["name"] + variant, status=status, difference=said[:_LONGEST])


PLUGIN = MysqlTestRun()
