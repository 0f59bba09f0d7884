"""The target that is a server: every subject's server runs on a copy of the same loaded data."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from dbhone.compilation.manifest import Build
from dbhone.compilation.profile_counts import ProfileCounts, newly_executed, total_variation
from dbhone.dbms.base_server import load_server_dbms
from dbhone.errors import HoneError, ServerError
from dbhone.experiment.declaration.interleaved_sets import interleaved_sets
from dbhone.experiment.declaration.levers import cache_said_by, uses_huge_pages
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration, Training
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.cpu_placement import cpu_placement
from dbhone.experiment.target.interleaved import InterleavedTrials, subject_seconds
from dbhone.experiment.target.observer import RunObservation
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target.server_specs import pool_of, spec_of
from dbhone.experiment.target.target import (
    Answers,
    BuildResult,
    Notes,
    Schedule,
    ServerState,
    Target,
    TrainingJob,
    training_tasks,
)
from dbhone.experiment.target.trial import SubjectResult, Trial
from dbhone.experiment.target.warnings import (
    ServerSetup,
    locale_note,
    placement_notes,
    refusals_note,
    running_note,
    settings_notes,
)
from dbhone.instance import open_files
from dbhone.instance.memory import check_memory, server_memory_limits
from dbhone.instance.programs import installation_of, title_of
from dbhone.instance.running_settings import ask
from dbhone.instance.server import Server
from dbhone.measurement.record import Code, RunningServer, Sliced, Step, Warning
from dbhone.session import Session
from dbhone.workload.drivers.base import ServerDriver
from dbhone.workload.task import Task

_DRIVER_STARTS = 0.3
"""Seconds that a server's driver takes to start, connect and end."""
_SERVER_STARTS = 5.0
"""Seconds to start a server and to stop it, without the copy of its data."""
_USUAL_ITERATIONS = 3
_MOST_ITERATIONS = 6
_USUAL_COMMAND = 60.0
"""Seconds that a training's command is expected to take: a guess."""
_SETTLED_CHANGE = 0.02
_SETTLED_NEW_FUNCTIONS = 0.002


class ServerTarget(Target):
    """Subjects that are servers: in a block all are up, and clients drive one after the other."""

    calibrates: ClassVar[bool] = False
    verification_seconds: ClassVar[float] = _SERVER_STARTS
    driver: ServerDriver
    _trials: InterleavedTrials

    @classmethod
    def training_seconds(cls, training: Training) -> float:
        """Return about how long a training takes, in as many iterations as usual."""
        one_iteration = sum(task.run.seconds for task in training_tasks(training) if task.run)
        iterations = _USUAL_ITERATIONS if training.workload.chosen else 1
        command = min(_USUAL_COMMAND, training.command.timeout) if training.command else 0.0
        return iterations * (one_iteration + _SERVER_STARTS) + command

    @classmethod
    def block_seconds(
        cls, experiment: Experiment, subjects: int, copying: float = 0.0
    ) -> float | None:
        """Return about how long a block takes: a server's suite says how long its steps last.

        To copy the data of one server takes ``copying`` seconds.
        """
        workload = experiment.workload
        tasks = workload.tasks()
        if workload.cold:
            starting = _DRIVER_STARTS + _SERVER_STARTS + copying
            return subjects * sum(task.run.seconds + starting for task in tasks if task.run)
        by_set = {task.set: task for task in tasks}
        interleaved = interleaved_sets(experiment, by_set)
        driving = sum(
            subject_seconds(task, interleaved=task.set in interleaved) + _DRIVER_STARTS
            for task in (*tasks, *workload.warm_up())
        )
        # To load takes about as long as to write it once more, and a server of its own.
        first = tasks[0].run
        load = 2 * first.seconds + _SERVER_STARTS if workload.suite.fresh_loads and first else 0
        return subjects * (driving + _SERVER_STARTS + copying + load)

    @classmethod
    def train(cls, job: TrainingJob, session: Session, notify: Callable[[str], None]) -> int:
        """Run all sets on one server again and again until the profile has settled.

        The server is stopped after each iteration, so that its counters reach the disk. A command
        is run in the first one; there is no other without sets.
        """
        training = job.training
        pool = ServerPool(session, training.workload, notify, drop_unknown=training.drop_unknown)
        dbms = load_server_dbms(job.build.manifest.dbms)
        spec = ServerSpec(
            dbms=dbms,
            installation=installation_of(dbms, job.build),
            settings=training.settings,
            env=job.counters.environment,
            counters=job.counters.folder,
            plain=installation_of(dbms, job.plain),
        )
        tasks = training_tasks(training)
        before: ProfileCounts | None = None
        for number in range(1, _MOST_ITERATIONS + 1):
            _train_once(pool, spec, training, tasks, notify, number)
            job.counters.gather()
            if not training.workload.chosen:
                return number
            after = job.counters.read()
            if before is not None and has_settled(before, after):
                return number
            before = after
        notify(f"the profile has not settled after {_MOST_ITERATIONS} iterations")
        return _MOST_ITERATIONS

    @classmethod
    def check_settings(
        cls, experiment: Experiment, subject: SubjectDeclaration, build: Build, session: Session
    ) -> None:
        """Ask the server of a build which settings there are."""
        pool = pool_of(experiment, session, lambda _: None)
        pool.settings(spec_of(experiment, subject, build))

    @classmethod
    def check_start(
        cls, experiment: Experiment, subject: SubjectDeclaration, build: Build, session: Session
    ) -> None:
        """Start a server once on no data, unless it needs the user's, which would be copied."""
        if experiment.workload.data.data_folder is None:
            pool = pool_of(experiment, session, lambda _: None)
            pool.try_start(spec_of(experiment, subject, build))

    def __init__(
        self,
        experiment: Experiment,
        builds: Mapping[str, BuildResult],
        session: Session,
        recorder: Notes,
    ) -> None:
        super().__init__(experiment, builds, session, recorder)
        workload = experiment.workload
        self._cold = workload.cold
        self._pool = pool_of(experiment, session, recorder.detail)
        self._specs = {
            name: spec_of(experiment, experiment.subject(name), build)
            for name, build in self.builds.items()
        }
        self._setups = {name: self._setup(spec) for name, spec in self._specs.items()}
        recorder.warn(*settings_notes(self._setups))
        self._warn_of_observed_settings()
        if self.suite.note is not None:
            recorder.warn(Warning(code=Code.SUITE_NOTE, text=self.suite.note))
        locale = workload.data.other_locale
        if locale is not None:
            recorder.warn(locale_note(locale))
        caches = self._caches(workload.cache_bytes)
        check_memory(
            tuple(caches.values()),
            one_by_one=experiment.one_by_one,
            said_by=cache_said_by(experiment),
        )
        self._specs |= self._limited(caches)
        self._scheduled_tasks = self.tasks(workload.scale)
        self._observation = RunObservation(experiment.observe, recorder.warn)
        self._placement = cpu_placement(experiment)
        recorder.warn(*placement_notes(self._placement))
        self._servers = BlockServers(
            self._pool,
            self._specs,
            self._observation,
            recorder.detail,
            seed=experiment.design.seed,
            placement=self._placement,
            fresh_data=self.suite.fresh_loads,
            cold=self._cold,
            on_start=self._note_what_it_took,
        )
        self._asked: set[str] = set()

    def _setup(self, spec: ServerSpec) -> ServerSetup:
        """Choose the settings. Raises SettingsError for one that the server lacks."""
        return ServerSetup(
            title=title_of(spec.dbms, spec.installation),
            protocol=spec.dbms.protocol,
            chosen=self._pool.settings(spec),
        )

    def _caches(self, usual: int) -> dict[str, int]:
        """Return the caches, in bytes, that lie in free memory, and not in huge pages."""
        return {
            subject.name: self._cache(subject.name, usual)
            for subject in self.experiment.subjects
            if subject.name in self._specs and not uses_huge_pages(subject)
        }

    def _limited(self, caches: Mapping[str, int]) -> dict[str, ServerSpec]:
        """Return the servers with limits on their memory, as far as they are up side by side."""
        if self.experiment.one_by_one:
            return {}
        limits = server_memory_limits({name: caches.get(name, 0) for name in self._specs})
        return {
            name: dataclasses.replace(spec, memory=limits[name])
            for name, spec in self._specs.items()
        }

    def _cache(self, subject: str, usual: int) -> int:
        """Return how large a server's own cache is, in bytes."""
        dbms = self._specs[subject].dbms
        value = self._setups[subject].chosen.values[dbms.cache_setting]
        size = dbms.bytes_of(value)
        return usual if size is None else size

    def _warn_of_observed_settings(self) -> None:
        """Keep a footnote on the settings that servers have only because they are observed."""
        needed: dict[str, str] = {}
        for spec in self._specs.values():
            needed |= self.experiment.observe.settings(spec.dbms)
        if needed:
            words = ", ".join(f"{name} = {value}" for name, value in needed.items())
            text = f"to count what [observe] asks for, all servers that know it run with {words}"
            self.recorder.warn(Warning(code=Code.OBSERVED_SETTINGS, text=text))

    def state(self, subject: str) -> ServerState:
        """Return the chosen settings, and the server's own defaults of the others."""
        chosen = self._setups[subject].chosen
        return ServerState(settings=chosen.values, defaults=chosen.defaults)

    def verify(self, subject: str) -> Answers:
        """Return the digest of each of a server's answers to a fixed list of queries.

        They read and write, on a fresh copy of the loaded data; consistency checks come last.
        Raises ExperimentError for a counter that no subject's server has, once all were asked.
        """
        found = self._pool.verify(self._specs[subject], partial(self._observation.ask, subject))
        self._observation.check(tuple(self._specs))
        if found.refusals is not None and subject == self.experiment.base.name:
            warning = refusals_note(found.refusals)
            self.recorder.warn(warning)
            self.recorder.note(warning.text)
        return found.answers

    def schedule(self) -> Schedule:
        """Return the suite's own steps. Their seconds are declared, so nothing is tried out."""
        starting = _DRIVER_STARTS + (_SERVER_STARTS if self._cold else 0.0)
        tasks = self._scheduled_tasks
        interleaved = interleaved_sets(self.experiment, tasks)
        seconds = {
            name: subject_seconds(task, interleaved=name in interleaved) + starting
            for name, task in tasks.items()
        }
        steps = tuple(step for task in tasks.values() for step in self._steps(task))
        self.recorder.keep_steps(steps)
        return Schedule(tasks=tasks, steps=steps, seconds=seconds)

    def _steps(self, task: Task) -> Iterator[Step]:
        declared, trained = self.suite.sets[task.suite_set], self.experiment.trained_sets
        for key in declared.keys():  # noqa: SIM118 - a method of ours, not a dict's
            group = declared.group_of(key)
            assert group is not None
            yield Step(
                set=task.set,
                key=key,
                title=declared.title_of(key),
                group=group,
                in_sample=not trained.isdisjoint(self.suite.sharing(task.suite_set)),
                threads=task.run.threads if task.run else None,
            )

    def continue_from(self, earlier: Sequence[Sliced], slow_sets: frozenset[str]) -> None:
        """Let fresh clients measure the slow sets."""
        self._trials = InterleavedTrials(
            self._servers,
            self.session,
            interleaved_sets(self.experiment, self._scheduled_tasks),
            self.experiment.design.seed,
            self.recorder.warn,
            earlier=earlier,
            slow=slow_sets,
        )

    def open(
        self, subjects: tuple[str, ...], block: int
    ) -> contextlib.AbstractContextManager[None]:
        """Start and warm up the servers of these subjects; stop them in the end."""
        return self._servers.open(subjects, block)

    def _note_what_it_took(self, name: str, server: Server) -> None:
        """Ask each subject's first server what it took, and keep that with what it did not take."""
        if name in self._asked:
            return
        try:
            running = ask(server, self._setups[name].chosen.values)
        except ServerError:
            return  # It is asked again; if it is gone, its clients tell.
        self._asked.add(name)
        limit = open_files.limit_of(server.pid)
        self.recorder.keep_running(name, RunningServer(settings=running.values, open_files=limit))
        too_few = open_files.too_few(server.open_files, limit)
        note = running_note(name, running.not_taken, too_few)
        if note is not None:
            self.recorder.warn(note)

    def ready(self, trial: Trial) -> None:
        """Bring all servers into the same state.

        All are restarted on fresh data if one of them is not up. Before a set that only reads they
        finish what writes left behind.
        """
        self._servers.ready(trial.subjects)
        self._servers.finish_background_work(writes=self.suite.writes(trial.task.suite_set))

    def run(self, trial: Trial) -> Iterator[SubjectResult]:
        """Measure a trial, in short slices where that pays, else by one driver after the other."""
        yield from self._trials.run(trial)
        if self.suite.writes(trial.task.suite_set):
            # Not before: servers that had to be started anew meanwhile had fresh data then.
            self._servers.note_writes()

    def check(self) -> Mapping[str, HoneError]:
        """Return, by subject, in what its data contradicts itself after the block's writes."""
        return self._servers.check()


def has_settled(before: ProfileCounts, after: ProfileCounts) -> bool:
    """Return whether another iteration of training would hardly change the profile.

    The last one entered hardly a function for the first time, and hardly moved the shares that
    functions have in all counts.
    """
    return (
        newly_executed(before, after) < _SETTLED_NEW_FUNCTIONS
        and total_variation(before, after) < _SETTLED_CHANGE
    )


def _train_once(
    pool: ServerPool,
    spec: ServerSpec,
    training: Training,
    tasks: Sequence[Task],
    notify: Callable[[str], None],
    number: int,
) -> None:
    with pool.running(spec) as server:
        for task in tasks:
            notify(f"training, iteration {number}: {task.set}")
            pool.clients.drive(server, task).require_report()
        if training.command is not None and number == 1:
            notify(f"training: {training.command.line}")
            pool.clients.execute(server, training.command)
        notify(f"training, iteration {number}: stopping the server")
        server.stop()
