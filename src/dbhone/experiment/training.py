"""Trains instrumented builds: runs what they are trained on, until the profile has settled.

A server is trained in rounds. After each it is stopped, so that its counters reach the disk,
and they are compared with those of the round before. Training ends when a round neither
entered functions that were never entered nor moved the shares of the counts.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbhone.compilation import profile
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import Profile
from dbhone.compilation.profile_counts import ProfileCounts, change, newly_executed, read_tally
from dbhone.compilation.toolchain import Compiler
from dbhone.dbms.base import Dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.experiment.arena import drive_embedded
from dbhone.experiment.model import Training
from dbhone.experiment.plan import training_tasks
from dbhone.experiment.servers import Servers, ServerSpec, ServerWorkload, installation_of
from dbhone.home import Session
from dbhone.instance.account import own
from dbhone.workload import suite as suites
from dbhone.workload import work
from dbhone.workload.drivers.base import Driver, EmbeddedDriver, ServerDriver
from dbhone.workload.work import Task

_TIMEOUT = 3600.0
_MOST_ROUNDS = 6
_CHANGE = 0.02
_NEW_FUNCTIONS = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What one instrumented build is trained with."""

    build: Build
    compiler: Compiler
    dbms: Dbms
    driver: Driver
    training: Training

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What the driver is asked for, in order."""
        return training_tasks(self.training)

    @property
    def key(self) -> str:
        """The digest that names this training."""
        return profile.training_key(self.build, [repr(task) for task in self.tasks])


def train(lesson: TrainingJob, session: Session, notify: Callable[[str], None]) -> Profile:
    """Return the profile of a training, checked and kept."""
    counters = session.workdir("counters")
    began, clock = time.time(), time.monotonic()
    school = _Embedded if isinstance(lesson.driver, EmbeddedDriver) else _Server
    rounds = school(lesson, session, counters, notify).run()
    training = profile.Training(
        build=lesson.build,
        compiler=lesson.compiler,
        counters=counters,
        key=lesson.key,
        began=began,
        trained_on=lesson.training.sets,
        seconds=time.monotonic() - clock,
        rounds=rounds,
    )
    return profile.collect(training, session)


class _School(ABC):
    def __init__(
        self, lesson: TrainingJob, session: Session, counters: Path, notify: Callable[[str], None]
    ) -> None:
        self.lesson = lesson
        self.session = session
        self.counters = counters
        self.notify = notify
        self.env = profile.training_environment(lesson.compiler.family, counters)

    @abstractmethod
    def run(self) -> int:
        """Train; the counters lie in their folder afterwards. Return the number of rounds."""


class _Embedded(_School):
    """Each task once: an embedded driver does always the same."""

    def run(self) -> int:
        driver = self.lesson.driver
        assert isinstance(driver, EmbeddedDriver)
        for task in self.lesson.tasks:
            self.notify(f"training on {task.set}")
            drive_embedded(
                self.session, driver, self.lesson.build, task, _TIMEOUT, env=tuple(self.env.items())
            ).result()
        return 1


class _Server(_School):
    """Rounds of all tasks on one server, which is stopped after each."""

    def run(self) -> int:
        lesson = self.lesson
        assert isinstance(lesson.driver, ServerDriver)
        assert isinstance(lesson.dbms, ServerDbms)
        suite = suites.load(lesson.training.suite)
        demand = ServerWorkload(
            suite=suite,
            driver=lesson.driver,
            scale=work.at_size(suite, lesson.training.scale, lesson.training.size),
        )
        servers = Servers(self.session, demand, self.notify)
        own(self.counters, servers.account)
        contender = ServerSpec(
            dbms=lesson.dbms,
            installation=installation_of(lesson.dbms, lesson.build),
            settings=(),
            env=self.env,
        )
        before: ProfileCounts | None = None
        for number in range(1, _MOST_ROUNDS + 1):
            self._round(servers, contender, number)
            after = read_tally(lesson.compiler, self.counters)
            if before is not None and has_settled(before, after):
                return number
            before = after
        self.notify(f"the profile has not settled after {_MOST_ROUNDS} rounds")
        return _MOST_ROUNDS

    def _round(self, servers: Servers, contender: ServerSpec, number: int) -> None:
        with servers.running(contender) as server:
            for task in self.lesson.tasks:
                self.notify(f"training, round {number}: {task.set}")
                servers.drive(server, task).result()
            self.notify(f"training, round {number}: stopping the server")
            server.stop()


def has_settled(before: ProfileCounts, after: ProfileCounts) -> bool:
    """Return whether another round would hardly change the profile.

    The last one entered hardly a function for the first time, and hardly moved the shares that
    functions have in all counts.
    """
    return newly_executed(before, after) < _NEW_FUNCTIONS and change(before, after) < _CHANGE
