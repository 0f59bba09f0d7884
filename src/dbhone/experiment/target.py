"""What an experiment measures: the one interface that hides whether it is embedded or a server.

``embedded_target.py`` and ``server_target.py`` have the two implementations, and ``targets.py``
chooses between them.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from dbhone.compilation.manifest import Build
from dbhone.compilation.toolchain import Compiler
from dbhone.dbms.base import Dbms
from dbhone.errors import UsageError
from dbhone.experiment.model import Experiment, Training
from dbhone.experiment.order import data_seed
from dbhone.experiment.recorder import RunRecorder
from dbhone.experiment.trial import Announce, Answer, SubjectResult, Trial
from dbhone.home import Session
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.conditions import between, read_conditions
from dbhone.measurement.record import Step
from dbhone.source.tree import SourceTree
from dbhone.workload import suite as suites
from dbhone.workload import work
from dbhone.workload.drivers.base import Driver, load_driver
from dbhone.workload.task import Scale, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """A finished build with the tree that it came from. A ``reused`` build existed before."""

    build: Build
    tree: SourceTree
    reused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What one instrumented build is trained with. The counters are written below ``counters``."""

    build: Build
    compiler: Compiler
    dbms: Dbms
    driver: Driver
    training: Training
    counters: Path
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """How a subject's server runs, as far as that does not depend on where.

    ``defaults`` has what it takes by itself for what is not among the ``settings``. An embedded
    DBMS has neither.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDigest:
    """What a build answered: the digest of its answers to each question."""

    verifications: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What is measured: the tasks by set, their steps, and about how long each set takes."""

    tasks: dict[str, Task]
    steps: tuple[Step, ...]
    seconds: dict[str, float]


def difference(answers: ResultDigest, base: ResultDigest) -> str | None:
    """Say in what a build's answers differ from the base's, None if in nothing."""
    wrong = [
        name
        for name, answer in base.verifications.items()
        if answers.verifications.get(name) != answer
    ]
    return f"its results differ from the base's in {', '.join(wrong)}" if wrong else None


class BlockSeed:
    """The random values of each block, for suites whose data is random.

    ``design`` is the design's seed, None for a suite whose data is always the same.
    """

    def __init__(self, design: int | None) -> None:
        self._design = design
        self.seed: int | None = None

    def draw(self, block: int) -> None:
        """Take the values of another block."""
        self.seed = None if self._design is None else data_seed(self._design, block)

    def given(self, task: Task) -> Task:
        """Return the task with the block's values."""
        return task if self.seed is None else task.seeded(self.seed)


class Target(ABC):
    """The builds of one experiment's subjects, as something to verify and to measure.

    To make one chooses what all builds can be asked. Raises UsageError if a version has none of
    the sets, ToolError if the driver is missing, MachineError if the memory is not enough.
    """

    calibrates: ClassVar[bool]
    """Whether only a trial tells what steps there are and how long they take."""
    observes: ClassVar[bool]
    """Whether its subjects can be observed while they are measured."""
    verification_seconds: ClassVar[float]
    """About how long it takes to verify one subject."""

    def __init__(
        self,
        experiment: Experiment,
        builds: Mapping[str, BuildResult],
        session: Session,
        recorder: RunRecorder,
    ) -> None:
        self.experiment = experiment
        self.builds = {name: result.build for name, result in builds.items()}
        self.session = session
        self.recorder = recorder
        self.suite = suites.load(experiment.suite)
        self.driver = load_driver(self.suite.driver)
        self.sets = self._common_sets(result.tree.path for result in builds.values())
        fresh_loads = self.suite.fresh_loads
        self.block_seed = BlockSeed(experiment.design.seed if fresh_loads else None)

    # Costs in seconds, known before anything is tried on this machine

    @classmethod
    @abstractmethod
    def training_seconds(cls, training: Training) -> float:
        """Return about how long a training takes."""

    @classmethod
    @abstractmethod
    def block_seconds(cls, experiment: Experiment, subjects: int) -> float | None:
        """Return about how long a block of so many subjects takes, None if only a trial tells."""

    # Work

    @classmethod
    @abstractmethod
    def train(cls, job: TrainingJob, session: Session, notify: Callable[[str], None]) -> int:
        """Run an instrumented build until its counters have settled; return in how many rounds."""

    def state(self, subject: str) -> ServerState:
        """Return how a subject's server runs."""
        del subject
        return ServerState()

    @abstractmethod
    def verify(self, subject: str) -> ResultDigest:
        """Return what a subject answers.

        Raises DriverError or ServerError if it cannot be asked or is not sound.
        """

    @abstractmethod
    def schedule(self) -> Schedule:
        """Return what is measured, and keep its steps with the run."""

    def choose(self, subjects: tuple[str, ...]) -> None:
        """Take these subjects alone for the trials that follow."""
        del subjects

    @abstractmethod
    def open(
        self, subjects: tuple[str, ...], block: int
    ) -> contextlib.AbstractContextManager[None]:
        """Make ready what the trials of a block need, and clear it away in the end."""

    def make_alike(self, subjects: tuple[str, ...]) -> None:
        """Make sure, before a trial, that all subjects find the same."""
        del subjects

    def make_ready(self, subject: str) -> None:
        """Make ready what the subject needs of its own; nothing of that is measured."""
        del subject

    @abstractmethod
    def ask(self, subject: str, task: Task, timeout: float) -> Answer:
        """Let one subject do one task. A driver or server that fails is an answer."""

    def run(
        self, trial: Trial, inhibitor: IdleInhibitor, announce: Announce
    ) -> Iterator[SubjectResult]:
        """Ask one subject after the other; yield each result as soon as it is known.

        ``inhibitor`` tells what CPU time keeping CPUs awake takes meanwhile.
        """
        for position, name in enumerate(trial.subjects):
            announce(name, position)
            self.make_ready(name)
            spun = inhibitor.cpu_seconds()
            started_at, before = datetime.now(UTC), read_conditions()
            answer = self.ask(name, trial.task, trial.timeout)
            own = answer.cpu_seconds + inhibitor.cpu_seconds() - spun
            yield SubjectResult(
                subject=name,
                position=position,
                started_at=started_at,
                answer=answer,
                conditions=between(before, read_conditions(), own_cpu_seconds=own),
            )

    def tasks(self, scale: Scale) -> dict[str, Task]:
        """Return what the driver is asked for at a scale, by set."""
        return {task.set: task for task in work.tasks(self.suite, self.sets, scale)}

    def _common_sets(self, trees: Iterator[Path]) -> tuple[str, ...]:
        """Return the sets that are driven: those asked for, as far as all versions have them."""
        asked = self.suite.measured()
        if self.experiment.sets is not None:
            asked = tuple(name for name in asked if name in self.experiment.sets)
        common = frozenset.intersection(
            *(frozenset(self.driver.sets(asked, tree)) for tree in set(trees))
        )
        missing = ", ".join(name for name in asked if name not in common)
        if missing:
            text = f"this version has no sets {missing}: they were left out"
            self.recorder.warn("sets-missing", text)
        present = tuple(name for name in asked if name in common)
        if not present:
            raise UsageError(f"this version has none of the sets: {missing}")
        return present


def training_tasks(training: Training) -> tuple[Task, ...]:
    """Return what the driver is asked for in one round of training."""
    suite = suites.load(training.suite)
    tasks = work.tasks(suite, training.sets, work.at_size(suite, training.scale, training.size))
    shares = training.shares or (1.0,) * len(tasks)
    return tuple(task.prolonged(share) for task, share in zip(tasks, shares, strict=True))
