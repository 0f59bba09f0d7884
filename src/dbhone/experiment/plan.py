"""What an experiment will do, in order, and about how long it will take. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.transforms.base import Pass
from dbhone.experiment.events import Stage
from dbhone.experiment.model import Experiment, SubjectDeclaration, Training
from dbhone.experiment.slicing import frozen_sets, slice_seconds
from dbhone.workload import suite as suites
from dbhone.workload import work
from dbhone.workload.drive import load_driver
from dbhone.workload.suite import Regime
from dbhone.workload.work import Task

_TRAINING_SECONDS = 6.0
_PROOF_SECONDS = 2.5
_SOURCE_SECONDS = 15.0
_TRAINING_ROUNDS = 3
DRIVER_STARTS = 0.3
"""Seconds that a server's driver takes to start, connect and end."""
SERVER_STARTS = 5.0
"""To start a server on a copy of its data and to stop it."""
_ROUNDING = 1e-9
_FOR_MEASURING = 0.25
"""The share of the budget that optional subjects leave for measuring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One thing that will be done. ``expected`` is in seconds, 0 for what is done already."""

    stage: Stage
    what: str
    expected: float
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All steps but the measuring, and how long that may last (seconds).

    ``block`` is about how many seconds a block takes, None where only trying tells.
    ``left_out`` are the optional subjects for which there is no time.
    """

    steps: tuple[PlannedStep, ...]
    measuring: float
    block: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def preparing(self) -> float:
        """The seconds that everything before the measuring is expected to take."""
        return sum(step.expected for step in self.steps)

    @property
    def blocks(self) -> int | None:
        """How many blocks there will be, None where only trying tells."""
        return None if self.block is None else int(self.measuring / self.block + _ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOutlook:
    """What is known of a build before it is made: what tells it apart, and its seconds.

    Two subjects with the same ``identity`` share the build. ``guessed`` says that no build like it
    was made here before, which would have told its seconds.
    """

    identity: str
    expected: float
    done: bool
    guessed: bool = False


Outlook = Callable[[BuildInputs, Pass], BuildOutlook]
SourceIsKept = Callable[[str], bool]


def make_plan(experiment: Experiment, outlook: Outlook, is_kept: SourceIsKept) -> Plan:
    """Return the plan. ``outlook`` and ``is_kept`` tell what is known of builds and sources."""
    steps = [_source_step(each, is_kept(each)) for each in _sources(experiment)]
    budget = experiment.design.budget_seconds
    seen: set[str] = set()
    present: list[SubjectDeclaration] = []
    for subject in experiment.subjects:
        known = set(seen)
        own = _build_steps(subject, outlook, known, experiment)
        left = budget - sum(step.expected for step in steps)
        builds = sum(step.expected for step in own)
        if not subject.optional or leaves_time(left, builds, budget):
            seen = known
            steps.extend(own)
            present.append(subject)
    steps.extend(
        PlannedStep(
            stage=Stage.PROVE,
            what=f"{each.started_as}: same results as the base, consistent data",
            expected=SERVER_STARTS if _drives_servers(experiment) else _PROOF_SECONDS,
            done=False,
        )
        for each in present
    )
    left = max(0.0, budget - sum(step.expected for step in steps))
    block = _block_seconds(experiment, len(present))
    return Plan(
        steps=tuple(steps),
        measuring=left if block is None else min(left, experiment.design.max_blocks * block),
        block=block,
        left_out=tuple(each.name for each in experiment.subjects if each not in present),
    )


def leaves_time(left: float, build: float, budget: float) -> bool:
    """Return whether an optional subject's build leaves enough of the budget for measuring.

    All are in seconds: ``left`` of the budget, and what the build is expected to take.
    """
    return build == 0 or left - build > _FOR_MEASURING * budget


def _sources(experiment: Experiment) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.inputs.source for each in experiment.subjects))


def _source_step(reference: str, kept: bool) -> PlannedStep:
    return PlannedStep(
        stage=Stage.SOURCE,
        what=reference,
        expected=0.0 if kept else _SOURCE_SECONDS,
        done=kept,
    )


def _build_steps(
    subject: SubjectDeclaration, outlook: Outlook, seen: set[str], experiment: Experiment
) -> list[PlannedStep]:
    steps = []
    for pass_ in subject.inputs.variant.passes():
        known = outlook(subject.inputs, pass_)
        if known.identity not in seen:
            seen.add(known.identity)
            suffix = ", instrumented" if pass_ is Pass.INSTRUMENT else ""
            what = f"{subject.label}{suffix}"
            steps.append(
                PlannedStep(stage=Stage.BUILD, what=what, expected=known.expected, done=known.done)
            )
            if pass_ is Pass.INSTRUMENT and subject.training is not None:
                steps.append(_training_step(subject, known, experiment))
    return steps


def _training_step(
    subject: SubjectDeclaration, known: BuildOutlook, experiment: Experiment
) -> PlannedStep:
    assert subject.training is not None
    return PlannedStep(
        stage=Stage.TRAIN,
        what=f"{subject.name}: on {', '.join(subject.training.sets)}",
        expected=0.0 if known.done else _training_seconds(subject.training, experiment),
        done=known.done,
    )


def _drives_servers(experiment: Experiment) -> bool:
    return bool(suites.load(experiment.suite).server_sizes)


def _block_seconds(experiment: Experiment, subjects: int) -> float | None:
    """Return about how long a block takes: a server's suite says how long its slices are."""
    if not _drives_servers(experiment):
        return None
    suite = suites.load(experiment.suite)
    sets = experiment.sets or suite.measured()
    tasks = tuple(work.tasks(suite, sets, experiment.scale))
    if experiment.scale.regime is Regime.COLD:
        cold = (task.run.seconds + DRIVER_STARTS + SERVER_STARTS for task in tasks if task.run)
        return subjects * sum(cold)
    warm_up = work.warm_up_tasks(suite, experiment.scale)
    frozen = frozen_sets(
        experiment.slices,
        load_driver(suite.driver),
        experiment.scale.regime,
        {task.set: task for task in tasks},
        subjects,
    )
    slices = sum(
        slice_seconds(task, frozen=task.set in frozen) + DRIVER_STARTS
        for task in (*tasks, *warm_up)
    )
    # To load takes about as long as to write it once more, and a server of its own.
    load = 2 * tasks[0].run.seconds + SERVER_STARTS if suite.fresh_loads and tasks[0].run else 0
    return subjects * (slices + SERVER_STARTS + load)


def _training_seconds(training: Training, experiment: Experiment) -> float:
    """Return about how long a training takes; how many rounds it needs is not known before."""
    if not _drives_servers(experiment):
        return _TRAINING_SECONDS
    tasks = training_tasks(training)
    one = sum(task.run.seconds for task in tasks if task.run)
    return _TRAINING_ROUNDS * (one + SERVER_STARTS)


def block_order(
    seed: int,
    block: int,
    sets: tuple[str, ...],
    subjects: tuple[str, ...],
    *,
    ordered: bool = False,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the order of a block: the sets, and for each set all subjects.

    All subjects do a set one right after the other, so that what is compared lies seconds
    apart. With ``ordered`` the sets stay as they are given, because each works on what those
    before it left. The order depends on nothing but the arguments: a resumed run goes on as it
    would have gone.
    """
    chance = random.Random(f"{seed}/{block}")
    names = sets if ordered else tuple(chance.sample(sets, len(sets)))
    return tuple((name, tuple(chance.sample(subjects, len(subjects)))) for name in names)


def round_order(
    seed: int, block: int, set: str, round: int, subjects: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the order of a round of short slices: like a block's, of the arguments alone."""
    return tuple(random.Random(f"{seed}/{block}/{set}/{round}").sample(subjects, len(subjects)))


def data_seed(seed: int, block: int) -> int:
    """Return the seed of the random data of a block: from 1 to 2^31 - 2.

    Like the order of a block it depends on nothing but the arguments.
    """
    return random.Random(f"{seed}/{block}/data").randrange(1, 2**31 - 1)


def training_tasks(training: Training) -> tuple[Task, ...]:
    """Return what the driver is asked for in one round of training."""
    loaded = suites.load(training.suite)
    tasks = work.tasks(loaded, training.sets, work.at_size(loaded, training.scale, training.size))
    shares = training.shares or (1.0,) * len(tasks)
    return tuple(work.prolonged(task, share) for task, share in zip(tasks, shares, strict=True))
