"""Proves that a build does what the base does, before it is measured.

For each set the driver verifies its results; the digest of all that it got must be the
base's. Then the DBMS's own consistency check must pass on the data that it left.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbhone import process
from dbhone.build.manifest import Build
from dbhone.errors import DriverError
from dbhone.experiment.production import load_dbms
from dbhone.home import Session
from dbhone.instance.embedded import fresh_database
from dbhone.workload.drive import Drive, drive
from dbhone.workload.drivers.base import Driver
from dbhone.workload.suite import Task

_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a build answered: the verification digest of each set."""

    verifications: dict[str, str]


def examine(build: Build, driver: Driver, tasks: tuple[Task, ...], session: Session) -> Evidence:
    """Return what a build answers; raise DriverError if it cannot be examined or is not sound."""
    return Evidence(
        verifications={task.set: _verify(build, driver, task, session) for task in tasks}
    )


def difference(evidence: Evidence, base: Evidence) -> str | None:
    """Say in what a build's answers differ from the base's, None if in nothing."""
    wrong = [
        name
        for name, answer in base.verifications.items()
        if evidence.verifications.get(name) != answer
    ]
    return f"its results differ from the base's in {', '.join(wrong)}" if wrong else None


def _verify(build: Build, driver: Driver, task: Task, session: Session) -> str:
    with fresh_database(session) as database:
        request = Drive(
            driver=driver,
            build=build,
            task=task,
            database=database,
            timeout=_TIMEOUT,
            verify=True,
        )
        outcome = drive(request).result()
        if outcome.verification is None:
            raise DriverError(f"{driver.name} gave no verification for {task.set}")
        check = load_dbms(build.manifest.dbms).consistency_check(build.path("shell"), database)
        finished = process.run(
            process.Command(argv=check.argv, cwd=database.parent, isolated=True, timeout=_TIMEOUT)
        )
        if not finished.ok or finished.text().strip() != check.expected:
            said = finished.text().strip()[:200] or finished.ending()
            raise DriverError(f"the consistency check of {task.set}'s database says: {said}")
        return outcome.verification
