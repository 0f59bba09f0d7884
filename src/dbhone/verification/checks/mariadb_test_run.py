"""MariaDB's own tests by mariadb-test-run: its short collection, and the suite ``main``.

The distribution's packages bring the tests, their client programs and the runner. They start
servers of the build's own bytes, and must be of the very version of the build.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.compilation.manifest import Manifest
from dbhone.verification.checks._mysql_test_run import MysqlTestRunner, TestFiles
from dbhone.verification.checks.base import TestJob, TestList
from dbhone.verification.outcome import Grade

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
_VERSION = re.compile(r"(?:apt|deb):mariadb[^,=\s]*=([^,\s]+)")
_TESTS = Path("usr/share/mysql/mysql-test")


class MariadbTestRun(MysqlTestRunner):
    """mariadb-test-run.pl with the servers of a build."""

    name = "mariadb-test-run"
    title = "MariaDB's regression tests"
    systems = frozenset({"mariadb"})
    script, server = "mariadb-test-run.pl", "mariadbd"
    lists = (
        TestList(name=_COLLECTION, grades=frozenset({Grade.SMOKE, Grade.FULL}), seconds=300),
        TestList(name="main", grades=frozenset({Grade.FULL}), seconds=2400),
    )

    def package(self, manifest: Manifest) -> str:
        """Return the packages, of the version that the build's own source names, or the newest."""
        match = _VERSION.search(manifest.source)
        version = f"={match[1]}" if match else ""
        return f"deb:{','.join(f'{name}{version}' for name in _PACKAGES)},{_LIBRARY}"

    def files(self, job: TestJob) -> TestFiles:
        """Return what the packages brought."""
        return TestFiles(
            tests=job.tests / _TESTS,
            programs=job.tests / "usr/bin",
            # It has what tests fill their servers with, and the same messages as the build's.
            share=job.tests / "usr/share/mysql",
            libraries=tuple((job.tests / "usr/lib").glob("*-linux-gnu")),
        )

    def chosen(self, job: TestJob, tests: Path) -> tuple[str, ...]:
        """Return the tests of the collection, or a suite."""
        if job.list == _COLLECTION:
            collection = tests / "collections" / _COLLECTION
            return tuple(collection.read_text(encoding="utf-8").split())
        return (f"--suite={job.list}",)


PLUGIN = MariadbTestRun()
