"""What an experiment measures: the one interface that hides whether it is embedded or a server.

``embedded_target.py`` and ``server_target.py`` have the two implementations, and ``targets.py``
chooses between them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias

from dbhone.compilation.manifest import Build
from dbhone.compilation.profile_counts import Counters
from dbhone.errors import HoneError, UsageError
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration, Training
from dbhone.experiment.target.trial import SubjectResult, Trial
from dbhone.files import digest_of_file
from dbhone.instance import page_cache
from dbhone.measurement.record import Code, RunningServer, Sliced, Step, Warning
from dbhone.session import Notify, Session
from dbhone.source.tree import SourceTree
from dbhone.workload.drivers.base import ServerDriver
from dbhone.workload.task import Scale, Task, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """A finished build with the tree that it came from.

    A ``reused`` build existed before. ``linked`` is what a post-link optimiser changed.
    """

    build: Build
    tree: SourceTree
    reused: bool
    linked: Build | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """What one instrumented build is trained with, and where its counters are.

    ``plain`` is a build that does the same and counts nothing, the instrumented one itself if
    whatever else it is run for does not reach its counters.
    """

    build: Build
    plain: Build
    training: Training
    counters: Counters


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """How a subject's server runs, as far as that does not depend on where.

    ``defaults`` has what it takes by itself for what is not among the ``settings``. An embedded
    DBMS has neither.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


Answers: TypeAlias = Mapping[str, str]
"""What a build answered: the digest of its answers to each question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What is measured: the tasks by set, their steps, and about how long each set takes."""

    tasks: dict[str, Task]
    steps: tuple[Step, ...]
    seconds: dict[str, float]


class Notes:
    """What a target tells of its subjects. The user hears it; a run's recorder keeps it, too."""

    def __init__(self, tell: Notify) -> None:
        self._tell = tell

    def detail(self, text: str) -> None:
        """Tell what is being done within a step."""
        self._tell(text)

    def warn(self, *warnings: Warning) -> None:
        """Tell warnings."""
        for warning in warnings:
            self._tell(warning.text)

    def note(self, text: str) -> None:
        """Tell at once what a kept warning says. Here none is kept: ``warn`` has told it."""

    def keep_steps(self, steps: Sequence[Step]) -> None:
        """Keep which steps are measured, where there is a run."""

    def keep_running(self, subject: str, running: RunningServer) -> None:
        """Keep what a subject's server says once it runs, where there is a run."""


class Target(ABC):
    """The builds of one experiment's subjects, as something to verify and to measure.

    Making one finds the sets that all builds have. Raises UsageError if a version has none of them,
    ToolError if the driver is missing, MachineError if the memory is not enough.
    """

    calibrates: ClassVar[bool]
    """Whether only a trial tells what steps there are and how long they take."""
    verification_seconds: ClassVar[float]
    """About how long it takes to verify one subject."""

    def __init__(
        self,
        experiment: Experiment,
        builds: Mapping[str, BuildResult],
        session: Session,
        recorder: Notes,
    ) -> None:
        self.experiment = experiment
        self.builds = {name: result.build for name, result in builds.items()}
        self.session = session
        self.recorder = recorder
        self.suite = experiment.workload.suite
        self.driver = experiment.workload.driver
        self.sets = self._common_sets(result.tree.path for result in builds.values())

    # Costs in seconds, known before anything is tried on this machine

    @classmethod
    @abstractmethod
    def training_seconds(cls, training: Training) -> float:
        """Return about how long a training takes."""

    @classmethod
    @abstractmethod
    def block_seconds(
        cls, experiment: Experiment, subjects: int, copying: float = 0.0
    ) -> float | None:
        """Return about how long a block of this many subjects takes, None before a trial.

        To copy the data of one server takes ``copying`` seconds.
        """

    @classmethod
    def least_block_seconds(cls, experiment: Experiment, subjects: int) -> float:
        """Return how long a block of this many subjects takes at least."""
        return cls.block_seconds(experiment, subjects) or 0.0

    # Work

    def reload_programs(self, subjects: tuple[str, ...]) -> None:
        """Let the subjects' programs lie elsewhere in memory than in the block before."""
        page_cache.evict_programs(path for name in subjects for path in self._programs(name))

    def _programs(self, subject: str) -> Iterator[Path]:
        """Yield the files of a subject's build, and what its own layouts have in another order."""
        build = self.builds[subject]
        yield from (build.path(artifact) for artifact in build.manifest.files)
        for layout in self.experiment.own_layouts(subject, build.layouts):
            yield layout.path(build.manifest.primary)

    @classmethod
    @abstractmethod
    def train(cls, job: TrainingJob, session: Session, notify: Callable[[str], None]) -> int:
        """Run an instrumented build until its counters settle; return in how many iterations."""

    @classmethod
    def check_settings(
        cls, experiment: Experiment, subject: SubjectDeclaration, build: Build, session: Session
    ) -> None:
        """Raise SettingsError if a server that is built like this lacks a subject's settings.

        Raises ServerError if the server does not answer.
        """
        del experiment, subject, build, session

    @classmethod
    def check_start(
        cls, experiment: Experiment, subject: SubjectDeclaration, build: Build, session: Session
    ) -> None:
        """Raise ServerError if a server that is built like this does not start as requested."""
        del experiment, subject, build, session

    def state(self, subject: str) -> ServerState:
        """Return how a subject's server runs."""
        del subject
        return ServerState()

    @abstractmethod
    def verify(self, subject: str) -> Answers:
        """Return what a subject answers.

        Raises DriverError or ServerError if it does not answer, or its data is damaged.
        """

    @abstractmethod
    def continue_from(self, earlier: Sequence[Sliced], slow_sets: frozenset[str]) -> None:
        """Prepare to measure as after these trials of the run, none if nothing is measured yet.

        ``slow_sets`` are those that they found to be no sets for short slices.
        """

    @abstractmethod
    def schedule(self) -> Schedule:
        """Return what is measured, and keep its steps with the run."""

    @abstractmethod
    def open(
        self, subjects: tuple[str, ...], block: int
    ) -> contextlib.AbstractContextManager[None]:
        """Prepare a block for these subjects, and clear it away in the end."""

    def ready(self, trial: Trial) -> None:
        """Bring all subjects of a trial into the same state."""
        del trial

    @abstractmethod
    def run(self, trial: Trial) -> Iterator[SubjectResult]:
        """Measure a trial; yield each subject's result as soon as it is known.

        A driver or server that fails is a result.
        """

    def usable_cpus(self) -> frozenset[int]:
        """Return the CPUs on which subjects run, unless a lever says otherwise."""
        return frozenset(os.sched_getaffinity(0))

    def check(self) -> Mapping[str, HoneError]:
        """Return what is wrong with the subjects' data after the block's writes, by subject."""
        return {}

    def tasks(self, scale: Scale) -> dict[str, Task]:
        """Return the driver's tasks at a scale, by set."""
        workload = dataclasses.replace(self.experiment.workload, scale=scale)
        return {task.set: task for task in workload.tasks(self.sets)}

    def _common_sets(self, trees: Iterator[Path]) -> tuple[str, ...]:
        """Return the requested sets that the versions of all subjects have."""
        chosen = self.experiment.workload.chosen
        requested = tuple(name for name in self.suite.measurable() if name in chosen)
        common = frozenset.intersection(
            *(frozenset(self.driver.sets(requested, tree)) for tree in set(trees))
        )
        missing = ", ".join(name for name in requested if name not in common)
        if missing:
            text = f"this version has no sets {missing}: they were left out"
            self.recorder.warn(Warning(code=Code.SETS_MISSING, text=text))
        present = tuple(name for name in requested if name in common)
        if not present:
            raise UsageError(f"this version has none of the sets: {missing}")
        return present


def training_tasks(training: Training) -> tuple[Task, ...]:
    """Return the driver's tasks in one iteration of training."""
    tasks = training.workload.tasks()
    shares = training.shares or (1.0,) * len(tasks)
    return tuple(task.with_share_of_time(share) for task, share in zip(tasks, shares, strict=True))


def training_inputs(training: Training) -> object:
    """Return all that decides what a training runs, in plain values that a digest can be made of.

    Raises HoneError for what cannot be read, such as a script that is not there.
    """
    scale = training.workload.scale
    return {
        "tasks": [plain(task) for task in training_tasks(training)],
        "settings": plain(training.settings),
        "command": training.command.argv if training.command else (),
        "scripts": [digest_of_file(path) for path in _training_scripts(training)],
        "regime": scale.regime.value,
        "cache_bytes": scale.cache_bytes,
    }


def _training_scripts(training: Training) -> tuple[Path, ...]:
    """Return the files that decide what a server's training does, besides its tasks."""
    driver = training.workload.driver
    if not isinstance(driver, ServerDriver):
        return ()
    runs = [task for task in training_tasks(training) if task.run]
    loading = [driver.load_scripts(task.run.data) for task in runs if task.run]
    own = training.command.files if training.command else ()
    scripts = itertools.chain(*loading, *(driver.run_scripts(task) for task in runs), own)
    return tuple(dict.fromkeys(scripts))
