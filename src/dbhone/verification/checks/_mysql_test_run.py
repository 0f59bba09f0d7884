"""What MySQL's and MariaDB's mysql-test-run have in common: its folders, and what it prints."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dbhone.requirements import Requirement
from dbhone.verification.checks.base import Read, RegressionTests, TestCommand, TestJob
from dbhone.verification.outcome import RUNNER, Evidence, Status, TestResult

_PREFIX = "prefix"
"""A folder that looks like an installation: the build's server, and programs that test it."""
_RESULT = re.compile(
    # Since 5.7 MySQL's lines begin with how many percent of the tests have run.
    r"^(?:\[ *\d+%\] )?"
    r"(?P<name>[a-z_]\S*\.\S+)(?: '(?P<variant>[^']*)')? +(?:w\d+ +)?"
    r"\[ (?P<word>pass|fail|skipped|disabled|warning)[^\]]*\]",
    re.MULTILINE,
)
_END = re.compile(r"^Completed: (?:All \d+|Failed \d+/\d+) tests\b", re.MULTILINE)
"""Where it stops before, it begins this line otherwise, or ends without it."""
_STATUS = {"pass": Status.PASSED, "fail": Status.FAILED}
_LONGEST = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFiles:
    """What the runner works with besides the server.

    ``tests`` is the folder of the runner and the tests, ``programs`` that of its client programs,
    which need ``libraries``; ``share`` has the server's messages, and what data directories are
    filled with.
    """

    __test__ = False  # pytest takes it for tests otherwise

    tests: Path
    programs: Path
    share: Path
    libraries: tuple[Path, ...]


class MysqlTestRunner(RegressionTests):
    """A Perl script that starts servers of a build's own bytes and puts tests to them."""

    evidence = Evidence.BYTES
    requirements = (Requirement(name="perl", package="perl"),)
    script: ClassVar[str]
    server: ClassVar[str]
    """The name by which the script looks for the server."""

    @abstractmethod
    def files(self, job: TestJob) -> TestFiles:
        """Return where the files are that the runner works with."""

    @abstractmethod
    def chosen(self, job: TestJob, tests: Path) -> tuple[str, ...]:
        """Return the arguments that name the tests of a job's list, out of the folder of tests."""

    def alone(self, test: str) -> str | None:
        """Return a test's name without its combination: the runner cleans up after each test."""
        return None if test == RUNNER else test.split(" (", maxsplit=1)[0]

    def command(self, job: TestJob) -> TestCommand:
        """Return the runner; its tests use what the server was built with, and no more."""
        files, prefix = self.files(job), job.folder / _PREFIX
        build = job.build
        folder = f"{_PREFIX}/{files.tests.name}"
        argv = (
            *("perl", self.script),
            f"--vardir={job.folder / 'var'}",
            f"--client-bindir={files.programs}",
            *("--force", "--retry=0", "--max-test-fail=0", "--skip-rpl"),
            f"--parallel={job.jobs}",
            *(job.names or self.chosen(job, files.tests)),
        )
        return TestCommand(
            argv=argv,
            env={
                "MTR_BINDIR": str(prefix),
                "LD_LIBRARY_PATH": ":".join(map(str, files.libraries)),
                # Scripts before 5.7 are of a time when Perl looked in the current folder, too.
                "PERL_USE_UNSAFE_INC": "1",
            },
            readable=(job.tests, build.folder),
            cwd=job.folder / folder,
            # Servers get copies of its data files, with the permissions that those have.
            copies={folder: files.tests},
            links={
                f"{_PREFIX}/sbin/{self.server}": build.path(build.manifest.primary),
                # There the server looks for what ICU knows of characters, and for its plugins.
                f"{_PREFIX}/lib": build.folder / "lib",
                f"{_PREFIX}/share": files.share,
                f"{_PREFIX}/bin": files.programs,
                # Where versions before 8.0 look for the program that guards all others.
                f"{folder}/My/SafeProcess": files.programs,
            },
        )

    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        """Return a result for each test and combination, with what a failed one printed."""
        del read
        return tuple(_results(printed))

    def came_to_end(self, printed: str) -> bool:
        """Return whether all tests have completed."""
        return _END.search(printed) is not None


def _results(printed: str) -> Iterator[TestResult]:
    starts = list(_RESULT.finditer(printed))
    ends = [*(match.start() for match in starts[1:]), len(printed)]
    for match, end in zip(starts, ends, strict=False):
        status = _STATUS.get(match["word"], Status.SKIPPED)
        variant = f" ({match['variant']})" if match["variant"] else ""
        said = printed[match.end() : end].strip() if status is Status.FAILED else ""
        yield TestResult(name=match["name"] + variant, status=status, difference=said[:_LONGEST])
