"""The clock of a run: what it works counts, what it waits for another hone does not."""

from __future__ import annotations

import pytest

from dbhone.experiment.execution.recorder import RunRecorder
from dbhone.experiment.plan.events import Event
from dbhone.measurement.record import RunState
from dbhone.measurement.store import Store
from tests.measurement.store_records import NEW_RUN


def ignore(event: Event) -> None:
    del event


class Clock:
    """Time that passes when it is told to, some of it waited for another hone."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waited = 0.0

    def work(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.waited += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("dbhone.experiment.execution.recorder.time.monotonic", lambda: clock.now)
    return clock


def test_what_is_waited_for_another_hone_is_no_part_of_the_budget(
    store: Store, clock: Clock
) -> None:
    run = store.create_run(NEW_RUN)
    recorder = RunRecorder(run, store, ignore, 600.0, waited=lambda: clock.waited)
    began = recorder.clock()
    clock.wait(1200.0)
    clock.work(60.0)
    assert recorder.clock() - began == 60.0
    assert (recorder.spent(), recorder.left()) == (60.0, 540.0)
    recorder.tick()
    kept = store.run(run.id)
    assert (kept.seconds, kept.waited_seconds) == (60.0, 1200.0)
    # A later session goes on from there.
    again = RunRecorder(kept, store, ignore, 600.0)
    assert (again.spent(), again.left(), again.waited()) == (60.0, 540.0, 1200.0)


def test_what_several_sessions_waited_is_added_up(store: Store, clock: Clock) -> None:
    run = store.create_run(NEW_RUN)
    for _ in range(2):
        clock.waited = 0.0
        session = RunRecorder(store.run(run.id), store, ignore, 600.0, waited=lambda: clock.waited)
        clock.wait(30.0)
        session.tick()
        clock.wait(70.0)
        session.close(RunState.INTERRUPTED, "interrupted by the user")
    assert session.waited() == store.run(run.id).waited_seconds == 200.0


def test_nothing_is_left_of_a_budget_that_is_spent(store: Store, clock: Clock) -> None:
    recorder = RunRecorder(store.create_run(NEW_RUN), store, ignore, 5.0)
    clock.work(9.0)
    assert recorder.left() == 0.0
