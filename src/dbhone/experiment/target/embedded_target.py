"""The target that is embedded: the driver is linked with the DBMS and makes its own database."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbhone import process
from dbhone.account import Tenant, own
from dbhone.cgroup import usable_memory
from dbhone.command import Command
from dbhone.compilation.manifest import Build
from dbhone.cpus import fastest_cpus
from dbhone.dbms.base import load_embedded_dbms
from dbhone.errors import DriverError
from dbhone.experiment.declaration.model import Experiment, Slices, Training
from dbhone.experiment.target.order import BlockSeed, round_order
from dbhone.experiment.target.target import Answers, Schedule, Target, TrainingJob, training_tasks
from dbhone.experiment.target.trial import (
    SubjectResult,
    Surroundings,
    Trial,
    run_one_by_one,
)
from dbhone.instance.place import fresh_database
from dbhone.measurement.record import Code, Sliced, Step, Warning
from dbhone.sandbox import Sandbox
from dbhone.session import Session
from dbhone.units import duration, listed
from dbhone.workload.drive import DriverCommand, DriverResult, PausableRun, drive
from dbhone.workload.drivers.base import DriverRequest, EmbeddedDriver, StepResult, load_driver_of
from dbhone.workload.task import Scale, Task

_TRAINING_TIMEOUT = 3600.0
_VERIFICATION_TIMEOUT = 300.0
_CALIBRATION_TIMEOUT = 1800.0
_SHORT_SECONDS = 0.005
_SLICE = 0.01
"""Seconds at most. ``docs/benchmarks.md`` has the figures that it comes from."""
_DRIVER_STARTS = 0.02
"""Seconds that a driver takes at least to start in its sandbox, make a database and end."""


class EmbeddedTarget(Target):
    """Subjects that are libraries: each invocation is a process on a database file of its own."""

    calibrates: ClassVar[bool] = True
    verification_seconds: ClassVar[float] = 2.5
    driver: EmbeddedDriver
    _block_seed = BlockSeed()
    _interleaved_sets: frozenset[str] = frozenset()
    _slow_sets: frozenset[str] = frozenset()

    @classmethod
    def training_seconds(cls, training: Training) -> float:
        """Return a guess: how long a set takes, only running it tells."""
        del training
        return 6.0

    @classmethod
    def block_seconds(
        cls, experiment: Experiment, subjects: int, copying: float = 0.0
    ) -> float | None:
        """Return None: how long a set takes, only running it tells."""
        del experiment, subjects, copying
        return None

    @classmethod
    def least_block_seconds(cls, experiment: Experiment, subjects: int) -> float:
        """Return how long it takes to start the driver for each set and subject."""
        return subjects * len(experiment.workload.chosen) * _DRIVER_STARTS

    @classmethod
    def train(cls, job: TrainingJob, session: Session, notify: Callable[[str], None]) -> int:
        """Run each set once: an embedded driver does always the same."""
        driver = load_driver_of(EmbeddedDriver, job.training.workload.suite.driver)
        for task in training_tasks(job.training):
            notify(f"training on {task.set}")
            with fresh_database(session) as (database, tenant):
                own(job.counters.folder, tenant.account)
                command = _command(driver, job.build, task, database, _TRAINING_TIMEOUT, tenant)
                drive(_in_training(command, job)).require_report()
            job.counters.gather()
        return 1

    def verify(self, subject: str) -> Answers:
        """Return the driver's verification of each set, at the smallest size.

        The DBMS's own consistency check must pass on the data that the driver left.
        """
        build = self.builds[subject]
        tasks = self.tasks(Scale(size=self.suite.sizes()[0])).values()
        return {task.set: self._verification(build, task) for task in tasks}

    def _verification(self, build: Build, task: Task) -> str:
        with fresh_database(self.session) as (database, tenant):
            command = _command(self.driver, build, task, database, _VERIFICATION_TIMEOUT, tenant)
            request = dataclasses.replace(command.request, verify=True)
            command = dataclasses.replace(command, request=request)
            report = drive(command).require_report()
            if report.verification is None:
                raise DriverError(f"{self.driver.name} gave no verification for {task.set}")
            check = load_embedded_dbms(build.manifest.dbms).consistency_check(
                build.path("shell"), database
            )
            finished = process.run(
                Command(
                    argv=check.argv,
                    cwd=database.parent,
                    isolated=True,
                    timeout=_VERIFICATION_TIMEOUT,
                    sandbox=command.sandbox,
                    tenant=tenant,
                )
            )
            if not finished.ok or finished.text().strip() != check.expected:
                output = finished.text().strip()[:200] or finished.ending()
                raise DriverError(
                    f"the consistency check of {task.set}'s database reports: {output}"
                )
            return report.verification

    def continue_from(self, earlier: Sequence[Sliced], slow_sets: frozenset[str]) -> None:
        """Measure one by one the sets that did not fit into the memory."""
        del earlier
        self._slow_sets = slow_sets

    def schedule(self) -> Schedule:
        """Run every set once on the base, to learn its steps and how long it takes.

        Raises DriverError if a set fails.
        """
        base = self.experiment.base.name
        tasks = self.tasks(self.experiment.workload.scale)
        steps: list[Step] = []
        seconds: dict[str, float] = {}
        took: dict[str, float] = {}
        memory: dict[str, float] = {}
        with self.open((base,), 0):
            for task in tasks.values():
                self.recorder.detail(task.set)
                result = self._drive(base, task, _CALIBRATION_TIMEOUT)
                results = result.require_report().steps
                steps.extend(self._known_steps(task.set, results))
                seconds[task.set] = result.seconds
                took |= {f"{task.set}/{step.key}": step.seconds for step in results}
                memory[task.set] = max(step.peak_memory_bytes or 0.0 for step in results)
        self.recorder.keep_steps(steps)
        self._warn_of_short_steps({step.name: took[step.name] for step in steps})
        self._choose_slices(tasks, memory)
        return Schedule(tasks=tasks, steps=tuple(steps), seconds=seconds)

    def _warn_of_short_steps(self, took: Mapping[str, float]) -> None:
        """Warn of steps so short that a clock's tick or a timer shows."""
        short = sorted(
            (name for name, seconds in took.items() if seconds < _SHORT_SECONDS),
            key=took.__getitem__,
        )
        if short:
            text = (
                f"{len(short)} of {len(took)} steps take less than {duration(_SHORT_SECONDS)}"
                f" ({listed(short)}; the shortest takes {took[short[0]] * 1000:.1f} ms):"
                " a larger size would measure them better"
            )
            self.recorder.warn(Warning(code=Code.SHORT_STEPS, text=text))

    def _choose_slices(self, tasks: Mapping[str, Task], memory: Mapping[str, float]) -> None:
        """Choose the sets on which drivers take turns; ``memory`` is what each set takes, in bytes.

        Unless the experiment asks for it, they do so where all of them fit into the memory twice:
        the other half is for their files. Subjects that take no part any more count, too, so that a
        run that goes on measures as before.
        """
        slices = self.experiment.slices
        if slices is Slices.FRESH:
            return
        room = usable_memory() / len(self.experiment.subjects) / 2
        can = frozenset(name for name, task in tasks.items() if self.driver.can_pause(task))
        large = frozenset(name for name in can if memory[name] > room)
        self._interleaved_sets = (can if slices is Slices.SHORT else can - large) - self._slow_sets
        if self._interleaved_sets:
            where = " on one CPU" if self.driver.single_threaded else ""
            text = (
                f"the drivers of all subjects took turns{where}, and all but one were paused: each"
                f" executed a step, or {duration(_SLICE)} of one that takes longer, before the next"
                " one did"
            )
            self.recorder.warn(Warning(code=Code.INTERLEAVED_STEPS, text=text))
        for name in sorted(can - self._interleaved_sets):
            text = (
                f"{name} ran on one subject after the other, which is less precise: the memory"
                " does not hold the drivers of all subjects at once"
            )
            self.recorder.warn(Warning(code=Code.ONE_BY_ONE, text=text, step=name))

    def _known_steps(self, set: str, results: tuple[StepResult, ...]) -> Iterator[Step]:
        for result in results:
            group = self.suite.sets[set].group_of(result.key)
            if group is None:
                name = f"{set}/{result.key}"
                text = f"{name} ({result.title}) has no group in the suite's file: left out"
                self.recorder.warn(Warning(code=Code.STEP_UNKNOWN, text=text, step=name))
                continue
            yield Step(
                set=set,
                key=result.key,
                title=result.title,
                group=group,
                in_sample=set in self.experiment.trained_sets,
            )

    @contextlib.contextmanager
    def open(self, subjects: tuple[str, ...], block: int) -> Iterator[None]:
        """Choose the block's random values; there is nothing to open."""
        del subjects
        self._block_seed = BlockSeed.of_block(
            self.experiment.design.seed, block, fresh_data=self.suite.fresh_loads
        )
        yield

    def run(self, trial: Trial) -> Iterator[SubjectResult]:
        """Measure a trial, in short slices if its set is one for them, else one by one."""
        if trial.set in self._interleaved_sets:
            return iter(self._interleaved(trial))

        def drive_subject(subject: str) -> SubjectResult:
            result = self._drive(subject, trial.task, trial.timeout)
            return SubjectResult(subject=subject, driver=result)

        return run_one_by_one(trial, drive_subject)

    def _interleaved(self, trial: Trial) -> list[SubjectResult]:
        """Start all subjects' drivers and let one at a time run; return the results, in order.

        A driver executes its steps once and ends, so there are no rounds of equal content as on
        servers (``interleaved.py``). But all drivers execute the same step one right after the
        other, and what the machine does meanwhile affects all alike. A step's time is the sum of
        the slices in which it was executed.
        """
        surroundings = Surroundings(trial)
        with contextlib.ExitStack() as stack:
            runs: dict[str, PausableRun] = {}
            for position, subject in enumerate(trial.subjects):
                trial.announce(subject, position)
                runs[subject] = stack.enter_context(self._run(subject, trial))
            drivers = _alternate(runs, trial, self.experiment.design.seed)
        results = [SubjectResult(subject=name, driver=drivers[name]) for name in trial.subjects]
        return surroundings.stamp(results, sum(result.cpu_seconds for result in results))

    def _drive(self, subject: str, task: Task, timeout: float) -> DriverResult:
        with self._new_command(subject, task, timeout) as command:
            return drive(command)

    @contextlib.contextmanager
    def _run(self, subject: str, trial: Trial) -> Iterator[PausableRun]:
        """Yield the subject's driver, started and paused; all of them share the memory."""
        memory = usable_memory() // len(trial.subjects)
        with (
            self._new_command(subject, trial.task, trial.timeout, memory=memory) as command,
            PausableRun(command) as run,
        ):
            yield run

    @contextlib.contextmanager
    def _new_command(
        self, subject: str, task: Task, timeout: float, *, memory: int | None = None
    ) -> Iterator[DriverCommand]:
        """Yield how to run the subject's driver on a database of its own, which goes afterwards."""
        own, task = self.builds[subject], self._block_seed.apply_to(task)
        layouts = self.experiment.own_layouts(subject, own.layouts)
        build = self._block_seed.in_layout(subject, own, layouts)
        with fresh_database(self.session, memory=memory) as (database, tenant):
            yield _command(self.driver, build, task, database, timeout, tenant, self._cpus())

    def usable_cpus(self) -> frozenset[int]:
        """Return those from which each block's is chosen: CPUs of two kinds would be noise."""
        return fastest_cpus() if self.driver.single_threaded else super().usable_cpus()

    def _cpus(self) -> frozenset[int] | None:
        """Return the one CPU on which the block's drivers work if they are single-threaded.

        Without it the kernel moves them between CPUs whenever they go on, and a driver's own CPU
        has its data in the caches. ``docs/benchmarks.md`` has what that costs.
        """
        if not self.driver.single_threaded:
            return None
        return frozenset({self._block_seed.cpu(self.usable_cpus())})


def _alternate(runs: Mapping[str, PausableRun], trial: Trial, seed: int) -> dict[str, DriverResult]:
    """Let one driver after the other run for a slice, in random order, until all have ended.

    One that has begun more steps than another waits for it.
    """
    results: dict[str, DriverResult] = {}
    for round in itertools.count():
        begun = {name: run.steps_begun for name, run in runs.items() if name not in results}
        if not begun:
            return results
        fewest = min(begun.values())
        for name in round_order(seed, trial.block, trial.set, round, trial.subjects):
            if begun.get(name) != fewest:
                continue
            if (result := runs[name].proceed(_SLICE)) is not None:
                results[name] = result
    raise AssertionError("rounds do not end by themselves")


def _command(
    driver: EmbeddedDriver,
    build: Build,
    task: Task,
    database: Path,
    timeout: float,
    tenant: Tenant,
    cpus: frozenset[int] | None = None,
) -> DriverCommand:
    """Return how to run a driver once on a new database; it sees its build and that only."""
    return DriverCommand(
        driver=driver,
        request=DriverRequest(program=build.path(driver.artifact), task=task, database=database),
        folder=database.parent,
        version=build.manifest.version,
        timeout=timeout,
        cpus=cpus,
        sandbox=Sandbox(readable=(build.folder,), writable=(database.parent,)),
        tenant=tenant,
    )


def _in_training(command: DriverCommand, job: TrainingJob) -> DriverCommand:
    """Let an instrumented driver write its counters."""
    assert command.sandbox is not None
    sandbox = command.sandbox.with_writable(job.counters.folder)
    return dataclasses.replace(
        command, env=tuple(job.counters.environment.items()), sandbox=sandbox
    )
