"""Which subjects take part in the execution of an experiment, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from dbhone.errors import DriverError
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.execution.recorder import RunRecorder, StepReport
from dbhone.experiment.plan.plan import Compile, Plan, PlanStep, PostLink, TakeReadyMade, Train
from dbhone.experiment.plan.planning import leaves_time
from dbhone.measurement.record import Code, Warning
from dbhone.measurement.store import Done
from dbhone.units import listed

_AGAIN = "mend what is wrong with them; a new run tries them again"
_NO_TIME = "too little of the budget would be left for measuring"
_MOST_FAILURES = 1
"""In a row. One may be chance: the machine was short of something, or the client gave up."""


def left_out_warning(name: str, reason: str) -> Warning:
    """Return the warning that a subject, or what could have been one, takes no part."""
    return Warning(code=Code.LEFT_OUT, text=f"{name} was left out: {reason}", subject=name)


class Participants:
    """The subjects that take part, as far as the execution came.

    An optional subject is left out if it cannot be built or started here, or if its builds would
    leave too little of the budget for measuring. How long builds take is learned from those that
    were made. A subject that was ``measured`` before takes part in any case.
    """

    def __init__(
        self, experiment: Experiment, recorder: RunRecorder, measured: Collection[str]
    ) -> None:
        self._experiment = experiment
        self._recorder = recorder
        self._certain = {
            subject.name
            for subject in experiment.subjects
            if not subject.optional or subject.name in measured
        }
        self._out: dict[str, str] = {}
        self._made: set[str] = set()
        # How far a guess is off says nothing of what a build here took before.
        self._speed = {guessed: SpeedFactor() for guessed in (False, True)}

    def has(self, name: str) -> bool:
        """Return whether a subject takes part still."""
        return name not in self._out

    def of(self, step: PlanStep) -> tuple[str, ...]:
        """Return the subjects of a step that take part."""
        return tuple(name for name in step.subjects if name not in self._out)

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why subjects take no part any more, by their names."""
        return self._out

    def remove(self, name: str, reason: str) -> None:
        """Let a subject take no further part."""
        self._out[name] = reason

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Let subjects take no part that cannot be built or started on this machine."""
        for name, reason in reasons.items():
            self._leave_out(name, reason)
        if reasons:
            why = "; ".join(dict.fromkeys(reasons.values()))
            self._recorder.note(f"left out: {', '.join(reasons)} ({why})")

    def admit(self, step: PlanStep, plan: Plan) -> bool:
        """Return whether a step is for a subject that takes part and that there is time for."""
        if isinstance(step, Compile | TakeReadyMade):
            for name in self.of(step):
                if not self._has_time(name, plan):
                    self._recorder.note(self._leave_out(name, _NO_TIME))
        return bool(self.of(step))

    def expected(self, step: PlanStep) -> float | None:
        """Return about how many seconds a build takes at this machine's speed; None of others."""
        if not isinstance(step, Compile | TakeReadyMade | PostLink | Train):
            return None
        return step.cost.seconds * self._speed[step.cost.guessed].factor

    def performed(self, step: PlanStep, report: StepReport) -> None:
        """Note that a step was performed, and learn from how long a build took."""
        if isinstance(step, Compile | TakeReadyMade) and not report.reused:
            self._speed[step.cost.guessed].learn(step.cost.seconds, report.seconds)
        self._made.add(step.makes)

    def _leave_out(self, name: str, reason: str) -> str:
        """Let a subject take no part, with a warning. Return the warning's text."""
        warning = left_out_warning(name, reason)
        self._out[name] = reason
        self._recorder.warn(warning)
        return warning.text

    def _has_time(self, name: str, plan: Plan) -> bool:
        """Return whether there is time for what a subject's build still needs.

        It is asked before each of its builds: one that others share may come long before its own.
        """
        if name in self._certain:
            return True
        seconds = sum(
            self.expected(step) or 0.0
            for step in plan.steps
            if name in step.subjects and step.makes not in self._made
        )
        left = self._recorder.left()
        return leaves_time(self._experiment, name, self._out, left=left, build=seconds)


class SpeedFactor:
    """How many times as long as expected this machine's builds take, learned from builds."""

    def __init__(self) -> None:
        self._expected = self._took = 0.0

    @property
    def factor(self) -> float:
        """The factor by all builds so far, 1 before the first."""
        return self._took / self._expected if self._expected else 1.0

    def learn(self, expected: float, took: float) -> None:
        """Count a build that took ``took`` seconds and was planned to take ``expected``.

        A build that was planned to take no time, since it was there already, tells nothing.
        """
        if expected > 0:
            self._expected += expected
            self._took += took


class ConsecutiveFailures:
    """The failures in a row of each subject, and those of each of its sets.

    A set comes once in a block. So a subject that fails on the same set in every block succeeds on
    others in between, and hardly ever fails twice in a row on whatever comes next. ``done`` are the
    invocations of earlier sessions, in their order.
    """

    def __init__(self, done: Iterable[Done]) -> None:
        self._in_a_row: Counter[tuple[str, str | None]] = Counter()
        for invocation in done:
            failed = invocation.failure is not None
            self.count(invocation.subject, invocation.set, failed=failed)

    def count(self, subject: str, set_name: str, *, failed: bool) -> bool:
        """Count an invocation; return whether its subject has failed too often by now."""
        keys = ((subject, None), (subject, set_name))
        for key in keys:
            self._in_a_row[key] = self._in_a_row[key] + 1 if failed else 0
        return any(self._in_a_row[key] > _MOST_FAILURES for key in keys)


def nothing_to_compare(
    experiment: Experiment, reasons: Mapping[str, str], *, hint: str | None = None
) -> DriverError:
    """Return the error that nothing is left that the base could be compared with.

    ``reasons`` say why subjects take no part any more.
    """
    out = [f"{name} ({reasons[name]})" for name in experiment.compared if name in reasons]
    message = f"nothing is left to compare with {experiment.base.name}"
    error = DriverError(f"{message}; broken or left out: {listed(out)}", hint=hint or _AGAIN)
    error.subjects = tuple(name for name in experiment.compared if name in reasons)
    return error
