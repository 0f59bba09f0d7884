"""What an execution tells its listener and keeps of itself in the store."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dbhone.activity import Activity, tell
from dbhone.experiment.plan.events import Began, Detail, Ended, Event, Listener, Note, Stage
from dbhone.experiment.plan.plan import PlanStep
from dbhone.experiment.target.target import Notes
from dbhone.measurement.record import (
    Run,
    RunningServer,
    RunState,
    Step,
    StopReason,
    Subject,
    Warning,
)
from dbhone.measurement.store import Store
from dbhone.session import Session


class RunRecorder(Notes):
    """The clock, the warnings and the state of one run while it is executed.

    What earlier sessions worked on the run counts towards its budget. What was waited for another
    hone does not: ``waited`` tells how many seconds that were in this session so far.
    """

    def __init__(
        self,
        run: Run,
        store: Store,
        listen: Listener,
        budget: float,
        *,
        waited: Callable[[], float] = lambda: 0.0,
    ) -> None:
        super().__init__(lambda text: listen(Detail(text=text)))
        self.run_id = run.id
        self.store = store
        self.listen = listen
        self._waited = waited
        self._waited_before = run.waited_seconds
        self._counted_wait = 0.0
        self._counted = self.clock()
        self._began = self._counted - run.seconds
        self._deadline = self._began + budget

    def clock(self) -> float:
        """Return seconds of a clock that stops while another hone has the machine."""
        return time.monotonic() - self._waited()

    def left(self) -> float:
        """Return the seconds of the budget that are left."""
        return max(0.0, self._deadline - self.clock())

    def spent(self) -> float:
        """Return the seconds that were worked on the run, in all sessions."""
        return self.clock() - self._began

    def waited(self) -> float:
        """Return the seconds that were waited for other hones, in all sessions."""
        return self._waited_before + self._waited()

    def tick(self) -> None:
        """Add the time since the last tick to what the run was worked on and waited for."""
        now, wait = self.clock(), self._waited()
        worked, waited = now - self._counted, wait - self._counted_wait
        self.store.update_run(self.run_id, seconds_added=worked, waited_added=waited)
        self._counted, self._counted_wait = now, wait

    def close(self, state: RunState, why: str) -> None:
        """Say that the run ended before it was done, and why."""
        self.tick()
        self.store.update_run(self.run_id, state=state, error=why)

    def complete(self, stopped_by: StopReason) -> None:
        """Say that the run is done."""
        self.tick()
        self.store.update_run(
            self.run_id,
            state=RunState.DONE,
            stopped_by=stopped_by,
            finished_at=datetime.now(UTC),
        )

    def warn(self, *warnings: Warning) -> None:
        """Keep warnings with the run."""
        for warning in warnings:
            self.store.add_warning(self.run_id, warning)

    def withdraw(self, code: str, subject: str | None = None) -> None:
        """Forget a warning that an earlier session gave, of one subject if it is named."""
        self.store.withdraw_warning(self.run_id, code, subject)

    def keep_steps(self, steps: Sequence[Step]) -> None:
        """Keep which steps are measured."""
        self.store.set_steps(self.run_id, steps)

    def describe(self, position: int, subject: Subject) -> None:
        """Keep what a subject is."""
        self.store.set_subject(self.run_id, position, subject)

    def keep_running(self, subject: str, running: RunningServer) -> None:
        """Keep what a subject's server says once it runs."""
        self.store.set_running(self.run_id, subject, running)

    def note(self, text: str) -> None:
        """Tell the user something now."""
        self.listen(Note(text=text))


def telling(session: Session, listen: Listener) -> Listener:
    """Return a listener that also writes the session's activity, which other hones read."""

    def hear(event: Event) -> None:
        if isinstance(event, Began):
            activity = Activity(
                stage=event.stage.value,
                what=event.what,
                began_at=datetime.now(UTC),
                expected=event.expected,
                left=event.left,
            )
            tell(session, activity)
        listen(event)

    return hear


@dataclass(slots=True, kw_only=True)
class StepReport:
    """What is reported when a step ends: whether its result existed, and what else is known."""

    reused: bool = False
    note: str = ""
    seconds: float = 0.0


class StepReporter:
    """Tells a listener of the beginning and the end of each step of a plan.

    ``clock`` returns seconds; ``left`` the seconds that are left at most, None if unknown.
    """

    def __init__(
        self,
        listen: Listener,
        steps: Sequence[PlanStep],
        *,
        clock: Callable[[], float],
        left: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._listen = listen
        self._totals = Counter(step.stage for step in steps)
        self._begun: Counter[Stage] = Counter()
        self._clock = clock
        self._left = left

    @contextlib.contextmanager
    def step(self, step: PlanStep, expected: float | None) -> Iterator[StepReport]:
        """Tell that a step begins, and that it ends unless it fails.

        ``expected`` is about how many seconds it takes. The caller fills in the report.
        """
        self._begun[step.stage] += 1
        self._listen(
            Began(
                stage=step.stage,
                what=step.label,
                number=self._begun[step.stage],
                total=self._totals[step.stage],
                expected=expected,
                left=self._left(),
            )
        )
        report, began = StepReport(), self._clock()
        yield report
        report.seconds = self._clock() - began
        self._listen(
            Ended(
                stage=step.stage,
                what=step.label,
                seconds=report.seconds,
                reused=report.reused,
                note=report.note,
            )
        )
