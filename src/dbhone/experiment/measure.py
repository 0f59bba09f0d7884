"""Measures: blocks of randomised passes over all subjects, committed as they are made.

A pass is one set on all subjects, one right after the other, in random order; a block is a
pass for each set. A pass that was cut off is kept but does not count, and is made anew, so
that what is compared was always measured within seconds.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import partial

from dbhone.analysis.comparison import analyse
from dbhone.analysis.precision import precision, typical
from dbhone.analysis.verdict import Analysis
from dbhone.errors import DriverError, MachineError
from dbhone.experiment.builds import BuildService
from dbhone.experiment.events import BlockEnded, Slice
from dbhone.experiment.order import block_order
from dbhone.experiment.recorder import RunRecorder
from dbhone.experiment.target import Target
from dbhone.experiment.time_allocation import allot
from dbhone.experiment.trial import SubjectResult, Trial
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Design, Step
from dbhone.measurement.store import Done
from dbhone.units import whole_minutes
from dbhone.workload.drive import DriverResult
from dbhone.workload.task import Task

_FAILURES_TO_BREAK = 2
_SLACK = 1.1
_CAUTION = 1.05
_LEAST_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementPlan:
    """What is measured: the subjects, base first, how, and the tasks by set.

    ``seconds`` is about how long each set takes the base. With ``ordered`` the sets keep
    their order in every block. ``awake`` are the CPUs that do not sleep while it is measured.
    Without ``allot`` no set is asked for longer than another because it is harder to tell.
    """

    run_id: int
    design: Design
    target: Target
    subjects: tuple[str, ...]
    base: str
    tasks: dict[str, Task]
    steps: tuple[Step, ...]
    seconds: dict[str, float]
    awake: frozenset[int] = frozenset()
    allot: bool = True

    @property
    def block_seconds(self) -> float:
        """About how long a block takes."""
        return sum(self.seconds.values()) * len(self.subjects) * _SLACK


class Measuring:
    """Measures a contest to the end that its design sets."""

    def __init__(
        self, contest: MeasurementPlan, workshop: BuildService, journal: RunRecorder
    ) -> None:
        self.contest = contest
        self.workshop = workshop
        self.journal = journal
        self.store = journal.store
        self.broken: dict[str, str] = {}
        self._failures: dict[str, int] = {}
        self._vigil = IdleInhibitor(contest.awake)
        self._known = frozenset(step.name for step in contest.steps)
        self._block_seconds = contest.block_seconds
        self._tasks = contest.tasks

    def run(self) -> str:
        """Measure; return why it ended: ``target``, ``blocks`` or ``budget``.

        Raises MachineError if the budget is too small for one block, DriverError if the base
        cannot be measured.
        """
        with self._vigil:
            return self._run()

    def _run(self) -> str:
        block = self._first_open_block()
        widest = precision(self._analysis()) if block else math.inf
        while True:
            reason = self._reason_to_stop(block, widest)
            if reason is not None:
                return reason
            began = self.journal.clock()
            self._block(block)
            seconds = self.journal.clock() - began
            self._look_ahead(seconds * _CAUTION)
            analysis = self._analysis()
            widest = precision(analysis)
            self.journal.listen(
                BlockEnded(
                    block=block,
                    seconds=seconds,
                    typical=_finite(typical(analysis)),
                    widest=_finite(widest),
                    target=self.contest.design.target,
                    left=self.journal.left(),
                )
            )
            self.journal.tick()
            block += 1

    def _look_ahead(self, block_seconds: float) -> None:
        """Choose for how long each set is asked from now on, after a block of so many seconds."""
        self._block_seconds = block_seconds
        if not self.contest.allot:
            return
        allotment = allot(
            self.store.sliced(self.contest.run_id),
            self._sound(),
            {name: task.run.seconds for name, task in self.contest.tasks.items() if task.run},
            self.contest.design,
            block_seconds=block_seconds,
            left=self.journal.left(),
        )
        if allotment is not None:
            self._block_seconds = allotment.block_seconds
            self._tasks = {
                name: task.lasting(allotment.seconds.get(name))
                for name, task in self.contest.tasks.items()
            }

    def _analysis(self) -> Analysis:
        """Return what is known of the subjects that still take part."""
        samples = self.store.samples(self.contest.run_id)
        return analyse(
            samples,
            base=self.contest.base,
            steps=self.contest.steps,
            metrics=(THROUGHPUT,),
        ).without(set(samples.subjects) - set(self._sound()))

    def _sound(self) -> tuple[str, ...]:
        return tuple(name for name in self.contest.subjects if name not in self.broken)

    def _reason_to_stop(self, block: int, widest: float) -> str | None:
        design = self.contest.design
        if block >= design.max_blocks:
            return "blocks"
        if block >= design.min_blocks and widest <= design.target:
            return "target"
        if self.journal.left() >= self._block_seconds:
            return None
        if block == 0:
            left, block_takes = self.journal.left(), self._block_seconds
            # A block more than are needed: proofs come again before the first.
            enough = self.journal.spent() + (design.min_blocks + 1) * block_takes
            raise MachineError(
                f"the budget is too small: {left:.0f} s of it are left, and one block takes"
                f" about {block_takes:.0f} s",
                hint=f"the builds are kept: 'hone resume {self.contest.run_id} --budget"
                f" {whole_minutes(enough)}' gives it time for {design.min_blocks} blocks, what it"
                " has used included",
            )
        return "budget"

    def _done(self) -> dict[tuple[int, str], dict[str, Done]]:
        done: dict[tuple[int, str], dict[str, Done]] = {}
        for each in self.store.done(self.contest.run_id):
            done.setdefault((each.block, each.set), {})[each.subject] = each
        return done

    def _first_open_block(self) -> int:
        """Return the first block that is not complete."""
        done = self._done()
        block = 0
        while all(self._is_complete(done.get((block, name), {})) for name in self.contest.tasks):
            block += 1
        return block

    def _is_complete(self, made: dict[str, Done]) -> bool:
        return set(self._sound()) <= set(made)

    def _block(self, block: int) -> None:
        with contextlib.ExitStack() as stack:
            opening = partial(self.contest.target.open, self._sound(), block)
            self.workshop.exclusively(lambda: stack.enter_context(opening()))
            self._trials(block)

    def _trials(self, block: int) -> None:
        done = self._done()
        contest = self.contest
        names = contest.subjects
        order = block_order(
            contest.design.seed,
            block,
            tuple(contest.tasks),
            names,
            ordered=contest.target.suite.ordered,
        )
        total = len(order) * len(names)
        number = 0
        for set_name, subjects in order:
            made = done.get((block, set_name), {})
            if self._is_complete(made):
                number += len(subjects)
                continue
            if made:
                self.store.supersede(self.contest.run_id, block, set_name)
            work = partial(self._run_trial, block, set_name, subjects, number, total)
            self.workshop.exclusively(work)
            number += len(subjects)

    def _run_trial(
        self, block: int, set_name: str, subjects: tuple[str, ...], done: int, total: int
    ) -> None:
        """Measure a trial, ``done`` subjects into a block of ``total`` subjects of all trials."""
        trial = Trial(
            block=block,
            set=set_name,
            task=self._tasks[set_name],
            subjects=tuple(name for name in subjects if name not in self.broken),
            timeout=max(_LEAST_TIMEOUT, 30 * self.contest.seconds[set_name]),
        )

        def announce(name: str, done_in_trial: int) -> None:
            self.journal.listen(
                Slice(
                    block=block,
                    set=set_name,
                    subject=name,
                    number=done + done_in_trial + 1,
                    total=total,
                    left=self.journal.left(),
                )
            )

        target = self.contest.target
        target.ready(trial.subjects)
        with self._vigil.watch():
            for result in target.run(trial, self._vigil, announce):
                self._record(trial, result)

    def _record(self, trial: Trial, result: SubjectResult) -> None:
        self.store.record(self.contest.run_id, result.invocation(trial, self._known))
        self._judge(result.subject, result.driver)

    def _judge(self, name: str, driven: DriverResult) -> None:
        """Count failures; a subject that fails twice running takes no further part."""
        if driven.failure is None:
            self._failures[name] = 0
            return
        self._failures[name] = self._failures.get(name, 0) + 1
        self.journal.note(f"{name}: {driven.failure}")
        if self._failures[name] < _FAILURES_TO_BREAK:
            return
        if name == self.contest.base:
            raise DriverError(f"the base cannot be measured: {driven.failure}", hint=driven.hint)
        self.broken[name] = driven.failure
        if self._sound() == (self.contest.base,):
            raise DriverError(
                f"nothing is left to compare with {self.contest.base}: {driven.failure}",
                hint=driven.hint,
            )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
