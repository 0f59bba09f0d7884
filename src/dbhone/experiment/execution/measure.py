"""Measures: blocks of randomised trials over all subjects, committed as they are made.

A trial is one set on all subjects, one right after the other, in random order. A block is a trial
of each set. Where one server is up at a time, a subject completes all sets before the next one
starts. A trial that was cut off is kept but does not count, and is repeated, so that what is
compared was always measured within seconds.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

from dbhone.analysis.comparison import analyse
from dbhone.analysis.precision import precision, typical
from dbhone.analysis.verdict import Analysis, is_clear
from dbhone.errors import BudgetSpentError, DriverError, MachineError
from dbhone.experiment.declaration.model import Experiment, Servers
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.participants import ConsecutiveFailures, nothing_to_compare
from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.execution.time_allocation import allocate_time, last_trial_seconds
from dbhone.experiment.plan.events import BlockEnded, InvocationStarted
from dbhone.experiment.target.order import block_order, subject_order
from dbhone.experiment.target.target import Schedule, Target
from dbhone.experiment.target.trial import Trial
from dbhone.instance import idle_inhibitor, page_cache
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, StopReason
from dbhone.session import Session
from dbhone.units import whole_minutes
from dbhone.workload.drive import DriverResult

_SLACK = 1.1
_CAUTION = 1.05
_LEAST_TIMEOUT = 60.0
_TIMEOUT_FACTOR = 30


def check_can_measure(experiment: Experiment, session: Session) -> None:
    """Raise MachineError if this machine cannot measure under the experiment's conditions."""
    if experiment.workload.cold:
        page_cache.check_evictable(session.workdir("cold"))
    reason = idle_inhibitor.refusal() if experiment.awake else None
    if reason is not None:
        raise MachineError(f"the CPUs cannot be kept awake: {reason}", hint="leave 'awake' out")


class Measuring:
    """Measures these subjects of a target, to the end that the experiment's design sets.

    ``broken`` holds the subjects that failed meanwhile, each with its reason. ``on_break`` is told
    of each at once, so that it is kept whatever ends hone. ``planned`` is about how many seconds a
    block takes by the plan, with what the schedule leaves out: starts, copies, loads and warm-up.
    ``absent`` has the subjects that took no part from the beginning, each with its reason.
    """

    def __init__(
        self,
        target: Target,
        subjects: tuple[str, ...],
        schedule: Schedule,
        service: BuildService,
        recorder: RunRecorder,
        on_break: Callable[[str, str], None],
        *,
        planned: float | None,
        absent: Mapping[str, str],
    ) -> None:
        self.experiment = target.experiment
        self.target = target
        self.subjects = subjects
        self.schedule = schedule
        self.service = service
        self.recorder = recorder
        self.on_break = on_break
        self._absent = dict(absent)
        self.store = recorder.store
        self.run_id = recorder.run_id
        self.broken: dict[str, str] = {}
        self._base = self.experiment.base.name
        self._controls = frozenset(
            subject.name
            for subject in self.experiment.subjects
            if subject.role is Role.CONTROL and subject.name in subjects
        )
        self._design = self.experiment.design
        self._failures = ConsecutiveFailures(self.store.done(self.run_id))
        awake = frozenset(os.sched_getaffinity(0)) if self.experiment.awake else frozenset()
        self._inhibitor = IdleInhibitor(awake)
        self._known_steps = frozenset(step.name for step in schedule.steps)
        scheduled = sum(schedule.seconds.values()) * len(subjects) * _SLACK
        self._block_seconds = max(scheduled, planned or 0.0)
        self._tasks = schedule.tasks
        events = {name: target.driver.distinct_events(task) for name, task in self._tasks.items()}
        self._events = {name: count for name, count in events.items() if count is not None}

    def run(self) -> StopReason:
        """Measure; return why it ended.

        Raises BudgetSpentError if too little is left for one block, DriverError if the base cannot
        be measured or nothing is left to compare with it.
        """
        with self._inhibitor:
            block = self._next_open_block(0)
            self._continue_from_store()
            analysis = self._analysis() if block else None
            while (reason := self._reason_to_stop(block, analysis)) is None:
                self._leave_worn_data(block)
                whole = all(done.block != block for done in self.store.done(self.run_id))
                began = self.recorder.clock()
                self._measure_block(block)
                seconds = self.recorder.clock() - began
                analysis = self._end_block(block, seconds, whole=whole)
                block = self._next_open_block(block + 1)
            return reason

    def _continue_from_store(self) -> None:
        """Expect of a block what the trials of earlier sessions tell, if there are any."""
        took = self.store.samples(self.run_id).block_seconds or 0.0
        lasted = last_trial_seconds(self.store.sliced(self.run_id))
        if not lasted:
            self._block_seconds = max(self._block_seconds, took)
            return
        expected = sum(self.schedule.seconds[name] for name in lasted) * len(self.subjects)
        self._allocate_time(max(self._block_seconds + sum(lasted.values()) - expected, took))

    # When to stop

    def _reason_to_stop(self, block: int, analysis: Analysis | None) -> StopReason | None:
        if block >= self._design.max_blocks:
            return StopReason.BLOCKS
        if analysis is not None and block >= self._design.min_blocks:
            if precision(analysis) <= self._design.target:
                return StopReason.TARGET
            if self.experiment.stop_early and is_clear(
                analysis, self._candidates(), self.experiment.tolerance, self._controls
            ):
                return StopReason.CLEAR
        if self.recorder.left() >= self._block_seconds:
            return None
        if block == 0:
            raise self._spent_budget()
        return StopReason.BUDGET

    def _spent_budget(self) -> BudgetSpentError:
        blocks, block_seconds = self._design.min_blocks, self._block_seconds
        # A block more than are needed: subjects are verified again before the first.
        enough = self.recorder.spent() + (blocks + 1) * block_seconds
        return BudgetSpentError(
            f"the budget is too small: {self.recorder.left():.0f} s of it are left, and one block"
            f" takes about {block_seconds:.0f} s",
            enough=enough,
            hint=f"the builds are kept: 'hone resume {self.run_id} --budget"
            f" {whole_minutes(enough)}' gives it time for {blocks} blocks, what it has used"
            " included",
        )

    def _analysis(self) -> Analysis:
        """Return what is known of the subjects that still take part."""
        samples = self.store.samples(self.run_id)
        return analyse(
            samples,
            base=self._base,
            steps=self.schedule.steps,
            controls=self._controls,
            metrics=(THROUGHPUT,),
        ).without(set(samples.subjects) - set(self._sound()))

    def _sound(self, subjects: tuple[str, ...] | None = None) -> tuple[str, ...]:
        return tuple(name for name in subjects or self.subjects if name not in self.broken)

    def _candidates(self) -> tuple[str, ...]:
        return tuple(
            name for name in self._sound() if name != self._base and name not in self._controls
        )

    def _end_block(self, block: int, seconds: float, *, whole: bool) -> Analysis:
        """Report a block that took this many seconds; return what is known by now.

        Of one that is not ``whole`` an earlier session measured a part. The rest of it does not
        tell how long a block takes, unless it took longer than expected of a whole one.
        """
        expected = seconds * _CAUTION
        self._allocate_time(expected if whole else max(expected, self._block_seconds))
        analysis = self._analysis()
        self.recorder.listen(
            BlockEnded(
                block=block,
                seconds=seconds,
                typical=_finite(typical(analysis)),
                widest=_finite(precision(analysis)),
                left=self.recorder.left(),
            )
        )
        self.recorder.tick()
        return analysis

    def _allocate_time(self, block_seconds: float) -> None:
        """Choose how long each set is measured in the next blocks.

        ``block_seconds`` is about what a block takes as the last one was measured.
        """
        self._block_seconds = block_seconds
        if not self.experiment.allot:
            return
        tasks = self.schedule.tasks
        allocation = allocate_time(
            self.store.sliced(self.run_id),
            sorted(self._sound(), key=lambda name: name != self._base),
            {name: task.run.seconds for name, task in tasks.items() if task.run},
            self._design,
            layouts=self.experiment.layouts,
            events=self._events,
            block_seconds=block_seconds,
            left=self.recorder.left(),
        )
        if allocation is not None:
            self._block_seconds = allocation.block_seconds
            self._tasks = {
                name: task.with_seconds(allocation.seconds.get(name))
                for name, task in tasks.items()
            }

    # What is measured already

    def _measured(self) -> dict[tuple[int, str], set[str]]:
        """Return the subjects that are measured, by block and set."""
        measured: dict[tuple[int, str], set[str]] = {}
        for done in self.store.done(self.run_id):
            measured.setdefault((done.block, done.set), set()).add(done.subject)
        return measured

    def _next_open_block(self, block: int) -> int:
        """Return the first block that is not complete, from this one on."""
        measured = self._measured()
        while self._is_complete(block, measured, self.subjects):
            block += 1
        return block

    def _is_complete(
        self, block: int, measured: Mapping[tuple[int, str], set[str]], subjects: tuple[str, ...]
    ) -> bool:
        sound = set(self._sound(subjects))
        return all(sound <= measured.get((block, name), set()) for name in self._tasks)

    # One block

    def _leave_worn_data(self, block: int) -> None:
        """Let a block count no longer that was cut off, where its rest would be another's.

        The rest is measured on fresh data. Sets with an order work on what those before them left,
        and of servers that are up one at a time some would have worn data and others fresh.
        """
        if not (self.target.suite.ordered or self.experiment.servers is Servers.ONE):
            return
        for measured_block, set_name in self._measured():
            if measured_block == block:
                self.store.supersede(self.run_id, block, set_name)

    def _measure_block(self, block: int) -> None:
        """Measure the trials of a block that are not complete."""
        measured = self._measured()
        before = 0
        for group in self._groups(block):
            if not self._is_complete(block, measured, group):
                self._measure_group(block, group, measured, before)
            before += len(group) * len(self._tasks)

    def _groups(self, block: int) -> tuple[tuple[str, ...], ...]:
        """Return the subjects whose servers are up together, one group after the other."""
        if self.experiment.servers is Servers.ONE:
            order = subject_order(self._design.seed, block, self.subjects)
            return tuple((name,) for name in order)
        return (self.subjects,)

    def _measure_group(
        self,
        block: int,
        group: tuple[str, ...],
        measured: Mapping[tuple[int, str], set[str]],
        before: int,
    ) -> None:
        """Measure all sets on these subjects, of which each is up until the last set is done.

        ``before`` is how many invocations of the block other groups have.
        """
        self.target.reload_programs(group)
        with contextlib.ExitStack() as stack:
            with self.service.exclusive():
                stack.enter_context(self.target.open(self._sound(group), block))
            order = block_order(
                self._design.seed,
                block,
                tuple(self._tasks),
                group,
                ordered=self.target.suite.ordered,
            )
            for number, (set_name, subjects) in enumerate(order):
                already = measured.get((block, set_name), set()).intersection(group)
                if set(self._sound(group)) <= already:
                    continue
                if already:
                    self.store.supersede(self.run_id, block, set_name)
                trial = self._trial(block, set_name, subjects, before + number * len(group))
                with self.service.exclusive():
                    self._measure_trial(trial)
            with self.service.exclusive():
                faults = self.target.check()
                stack.close()
        for name, error in faults.items():
            self._break(name, error.message, error.hint)

    def _trial(
        self, block: int, set_name: str, subjects: tuple[str, ...], invocations_before: int
    ) -> Trial:
        """Return a trial; so many invocations of the block come before it."""
        return Trial(
            block=block,
            set=set_name,
            task=self._tasks[set_name],
            subjects=self._sound(subjects),
            timeout=max(_LEAST_TIMEOUT, _TIMEOUT_FACTOR * self.schedule.seconds[set_name]),
            announce=partial(self._announce, block, set_name, invocations_before),
            own_cpu_seconds=lambda: time.process_time() + self._inhibitor.cpu_seconds(),
        )

    def _measure_trial(self, trial: Trial) -> None:
        """Measure a trial and keep each subject's result."""
        self.target.ready(trial)
        with self._inhibitor.watch():
            for result in self.target.run(trial):
                self.store.record(self.run_id, result.invocation(trial, self._known_steps))
                self._count_failure(trial.set, result.subject, result.driver)

    def _announce(
        self, block: int, set_name: str, invocations_before: int, subject: str, done: int
    ) -> None:
        """Tell that a subject's invocation begins, when ``done`` subjects of the trial are done."""
        self.recorder.listen(
            InvocationStarted(
                block=block,
                set=set_name,
                subject=subject,
                number=invocations_before + done + 1,
                total=len(self._tasks) * len(self.subjects),
                left=self.recorder.left(),
            )
        )

    def _count_failure(self, set_name: str, subject: str, result: DriverResult) -> None:
        """Count an invocation; a subject that failed twice in a row takes no further part."""
        error = result.error
        too_often = self._failures.count(subject, set_name, failed=error is not None)
        if error is None:
            return
        self.recorder.note(f"{subject} failed on {set_name}: {error.text_with_log}")
        if too_often:
            reason = f"it failed on {set_name} again: {error.text_with_log}"
            self._break(subject, reason, error.hint)

    def _break(self, subject: str, reason: str, hint: str | None) -> None:
        """Let a subject take no further part; raise DriverError if nothing to compare is left."""
        if subject == self._base:
            raise DriverError(f"the base cannot be measured: {reason}", hint=hint)
        self.broken[subject] = reason
        self.on_break(subject, reason)
        if not set(self._sound()).intersection(self.experiment.compared):
            raise nothing_to_compare(self.experiment, self._absent | self.broken, hint=hint)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
