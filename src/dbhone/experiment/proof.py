"""Proves that a build does what the base does, before it is measured.

An embedded DBMS's driver verifies its results set by set, and the DBMS's own consistency
check must pass on the data that it left. A server is asked a fixed row of questions, reading
and writing, on a fresh copy of the loaded data, with its consistency checks at the end. What
was answered must be what the base answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dbhone import process
from dbhone.compilation.manifest import Build
from dbhone.dbms.base import EmbeddedDbms
from dbhone.errors import DriverError
from dbhone.experiment.builds import load_dbms
from dbhone.experiment.servers import Servers, ServerSpec
from dbhone.home import Session
from dbhone.instance.embedded import fresh_database
from dbhone.workload.drive import DriverCommand, drive
from dbhone.workload.drivers.base import EmbeddedDriver
from dbhone.workload.work import Task

_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDigest:
    """What a build answered: the digest of its answers to each question."""

    verifications: dict[str, str]


def difference(evidence: ResultDigest, base: ResultDigest) -> str | None:
    """Say in what a build's answers differ from the base's, None if in nothing."""
    wrong = [
        name
        for name, answer in base.verifications.items()
        if evidence.verifications.get(name) != answer
    ]
    return f"its results differ from the base's in {', '.join(wrong)}" if wrong else None


class Verifier(ABC):
    """Asks subjects what can be compared."""

    @abstractmethod
    def examine(self, subject: str) -> ResultDigest:
        """Return what a subject answers.

        Raises DriverError or ServerError if it cannot be examined or is not sound.
        """


class EmbeddedVerifier(Verifier):
    """The driver verifies each set on a database file of its own."""

    def __init__(
        self,
        session: Session,
        driver: EmbeddedDriver,
        tasks: tuple[Task, ...],
        builds: dict[str, Build],
    ) -> None:
        self._session = session
        self._driver = driver
        self._tasks = tasks
        self._builds = builds

    def examine(self, subject: str) -> ResultDigest:
        """Return the verification of each set."""
        build = self._builds[subject]
        return ResultDigest(
            verifications={task.set: self._verify(build, task) for task in self._tasks}
        )

    def _verify(self, build: Build, task: Task) -> str:
        with fresh_database(self._session) as database:
            request = DriverCommand(
                driver=self._driver,
                program=build.path(self._driver.artifact),
                task=task,
                where=database,
                folder=database.parent,
                version=build.manifest.version,
                timeout=_TIMEOUT,
                verify=True,
            )
            outcome = drive(request).result()
            if outcome.verification is None:
                raise DriverError(f"{self._driver.name} gave no verification for {task.set}")
            dbms = load_dbms(build.manifest.dbms)
            assert isinstance(dbms, EmbeddedDbms)
            check = dbms.consistency_check(build.path("shell"), database)
            finished = process.run(
                process.Command(
                    argv=check.argv, cwd=database.parent, isolated=True, timeout=_TIMEOUT
                )
            )
            if not finished.ok or finished.text().strip() != check.expected:
                said = finished.text().strip()[:200] or finished.ending()
                raise DriverError(f"the consistency check of {task.set}'s database says: {said}")
            return outcome.verification


class ServerVerifier(Verifier):
    """The driver asks each server the same questions."""

    def __init__(self, servers: Servers, contenders: dict[str, ServerSpec]) -> None:
        self._servers = servers
        self._contenders = contenders

    def examine(self, subject: str) -> ResultDigest:
        """Return the digest of all answers."""
        answers = self._servers.verify(self._contenders[subject])
        return ResultDigest(verifications={"reads, writes and consistency": answers})
