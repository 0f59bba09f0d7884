"""Runs a list of regression tests on one build, in a sandbox, and keeps what it found."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant, own
from dbhone.cgroup import usable_cores
from dbhone.command import Command
from dbhone.compilation.manifest import Build
from dbhone.errors import DriverError, ServerError
from dbhone.files import copy_tree, digest_of, make_writable
from dbhone.sandbox import Sandbox, longest_file
from dbhone.source.fetch import throttled
from dbhone.tenant import tenancy
from dbhone.untrusted_files import read_untrusted, remove_tree
from dbhone.verification.checks.base import RegressionTests, TestCommand, TestJob, TestList
from dbhone.verification.harness import TestHarness, running
from dbhone.verification.outcome import (
    RUNNER,
    SERVER,
    ListResult,
    Status,
    TestResult,
    completed_by,
)
from dbhone.verification.outcome_store import OutcomeStore

_FORMAT = 5
"""Counts up when results of an older hone do not count any more."""
_PATIENCE = 10.0
"""How many times the usual seconds a list may take."""
_LEAST_PATIENCE = 900.0
_LONGEST_FILE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionRun:
    """One list of regression tests on one build.

    ``names`` are some of its tests, all if there are none.
    """

    regression: RegressionTests
    list: TestList
    build: Build
    harness: TestHarness
    names: tuple[str, ...] = ()

    def result(self, *, again: bool = False) -> ListResult:
        """Return the results, kept from before unless they are wanted ``again``.

        Those of a list that was cut off are not taken from before: another try may come further.
        """
        tests, outcomes = self._tests(), self._outcomes()
        name = self._name(tests)
        known = None if again else outcomes.find(name)
        if known is not None and known.tests and known.cut_off is None:
            return known
        with self.harness.exclusive():
            result, printed = self._run(tests)
        outcomes.keep(name, result, printed)
        return result

    def base_result(self, *, again: bool = False) -> ListResult:
        """Return the results of a base.

        Raises DriverError, with the log, if the tests gave none at all or were cut off: then nobody
        knows what the base passes.
        """
        result = self.result(again=again)
        if result.cut_off is None and result.tests:
            return result
        ending = result.cut_off or "there was no result"
        what = f"{self.regression.title}, {self.list.name}, with the base: {ending}"
        log = self._outcomes().log(self._name(self._tests()))
        raise DriverError(what, log=log, hint="the same command again runs the list once more")

    def once_more(
        self,
        first: ListResult,
        failed: tuple[str, ...],
        worse: Callable[[ListResult], ListResult],
    ) -> ListResult:
        """Run the failed tests once more: alone where all of them can be, else the whole list.

        Return, and keep, the results of both attempts, of each test the ``worse`` one.
        """
        tests, outcomes = self._tests(), self._outcomes()
        name = self._name(tests)
        alone = tuple(dict.fromkeys(map(self.regression.alone, failed)))
        names = tuple(test for test in alone if test is not None)
        if len(names) < len(alone):
            with self.harness.exclusive():
                second, printed = self._run(tests)
            merged = worse(second).model_copy(update={"attempts": first.attempts + 1})
        else:
            some = dataclasses.replace(self, names=names)
            with self.harness.exclusive():
                second, printed = some._run(tests)
            merged = worse(completed_by(second, first, failed))
            merged = merged.model_copy(update={"repeated": (*first.repeated, *failed)})
        outcomes.keep(name, merged, outcomes.log(name).read_bytes() + printed)
        return merged

    def _tests(self) -> Path:
        return self.harness.tests_of(self.regression, self.build)

    def _outcomes(self) -> OutcomeStore:
        return OutcomeStore(self.harness.session.home, self.build)

    def _name(self, tests: Path) -> str:
        """Return under which name the results are kept: it tells what was run."""
        # Trees and builds lie in folders that their digests name.
        content = next(name for name in (tests.name, tests.parent.name) if name != "tree")
        digest = digest_of(
            [_FORMAT, self.regression.name, self.list.name, list(self.names), content]
        )
        return f"{self.regression.name}-{self.list.name}-{digest[:12]}"

    def _run(self, tests: Path) -> tuple[ListResult, bytes]:
        needs_server = self.regression.server_settings is not None
        folder = self.harness.session.workdir("tests")
        began = time.monotonic()
        try:
            finished, crash = self._finish(tests, folder)
            found = self.regression.results(finished.text(), lambda name: _read(folder / name))
            tree = self.harness.tree_of(self.build)
            private = {folder: ".", tests: "tests", **({tree.path: "tree"} if tree else {})}
            results = tuple(_without_paths(test, private) for test in found)
        finally:
            remove_tree(folder)
        server = (_server_result(crash),) if needs_server and results else ()
        ending = f"the runner {finished.ending()}"
        result = ListResult(
            check=self.regression.name,
            list=self.list.name,
            build=self.build.digest,
            evidence=self.regression.evidence,
            tests=(*results, *server, *self._cut_off(finished)),
            seconds=time.monotonic() - began,
            finished_at=datetime.now(UTC),
        )
        told = "" if finished.ok else f"\n{ending}\n"
        return result, finished.output + told.encode() + (crash or "").encode()

    def _cut_off(self, finished: process.Finished) -> tuple[TestResult, ...]:
        """Return the test that a runner fails that did not come to the end of its list."""
        if finished.cut_off:
            how = f"the runner {finished.ending()}"
        elif not self.regression.came_to_end(finished.text()):
            how = f"the runner {finished.ending()} before the end of the list"
        else:
            return ()
        return (TestResult(name=RUNNER, status=Status.FAILED, difference=how),)

    def _finish(self, tests: Path, folder: Path) -> tuple[process.Finished, str | None]:
        """Run it to its end; return how it ended, and why its server did not live on."""
        tree = self.harness.tree_of(self.build)
        job = TestJob(
            build=self.build,
            tests=tests,
            tree=None if tree is None else tree.path,
            folder=folder,
            list=self.list.name,
            names=self.names,
            jobs=usable_cores(),
        )
        settings = self.regression.server_settings
        if settings is None:
            with tenancy(self.harness.session) as tenant:
                return self._perform(job, self.regression.command(job), tenant), None
        # Tests have the server load libraries, and read and write files.
        given = (tests, *(() if tree is None else (tree.path,)))
        shared = Sandbox(readable=given, writable=(folder,))
        finished: process.Finished | None = None
        try:
            with running(self.build, self.harness.session, settings, shared) as server:
                with_server = dataclasses.replace(job, endpoint=server.endpoint)
                command = self.regression.command(with_server)
                # They load each other's files, so they are one tenant.
                finished = self._perform(with_server, command, server.place.tenant)
        except ServerError as error:
            if finished is None:
                raise
            return finished, error.text_with_log
        return finished, None

    def _perform(self, job: TestJob, command: TestCommand, tenant: Tenant) -> process.Finished:
        for name, original in command.copies.items():
            copy_tree(original, job.folder / name)
            make_writable(job.folder / name)
        for name, target in command.links.items():
            link = job.folder / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        own(job.folder, tenant.account)
        sockets = () if job.endpoint is None else (job.endpoint.socket.parent,)
        tell = throttled(lambda line: self.harness.notify(f"{self.list.name}: {line}"))
        return process.run(
            Command(
                argv=command.argv,
                cwd=command.cwd or job.folder,
                env={"LC_ALL": "C", "HOME": str(job.folder), **command.env},
                isolated=True,
                timeout=max(_LEAST_PATIENCE, _PATIENCE * self.list.seconds),
                tenant=tenant,
                sandbox=Sandbox(
                    readable=(*command.readable, *sockets),
                    writable=(job.folder,),
                    file_bytes=longest_file(job.folder),
                ),
            ),
            on_chunk=lambda chunk, _moment, _pid: tell(_last_line(chunk)),
        )


def _without_paths(test: TestResult, private: Mapping[Path, str]) -> TestResult:
    """Return a result in which a word stands for each ``private`` path of this machine."""
    said = test.difference
    for path, word in private.items():
        said = said.replace(str(path), word)
    return test.model_copy(update={"difference": said})


def _server_result(crash: str | None) -> TestResult:
    status = Status.PASSED if crash is None else Status.FAILED
    return TestResult(name=SERVER, status=status, difference=crash or "")


def _read(path: Path) -> str:
    try:
        return read_untrusted(path, limit=_LONGEST_FILE).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _last_line(chunk: bytes) -> str:
    lines = chunk.decode("utf-8", "replace").strip().splitlines()
    return " ".join(lines[-1].split())[:80] if lines else ""
