"""Which runs another session may go on with."""

from __future__ import annotations

import pytest

from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.run_lifecycle import begin, take_over
from dbhone.home import Home
from dbhone.measurement.record import Code, Run, RunState
from dbhone.measurement.store import Store
from dbhone.session import Session, open_session
from tests.experiment.experiment_files import WITH_BUDGET


def _ended(store: Store, session: Session, why: str) -> Run:
    """Return a run that ended after ten minutes, of a session that ended with it."""
    with open_session(Home(session.home.root)) as earlier:
        run = begin(parse(WITH_BUDGET, name="x.toml"), earlier, store)
    store.update_run(run.id, state=RunState.DONE, stopped_by=why, seconds_added=600.0)
    return store.run(run.id)


def test_a_run_whose_budget_was_spent_goes_on_with_a_larger_one(
    store: Store, session: Session
) -> None:
    run = _ended(store, session, "budget")
    take_over(run, session, store, budget=900.0)
    taken = store.run(run.id)
    assert (taken.session, taken.design.budget_seconds) == (session.id, 900.0)


def test_another_version_goes_on_with_a_run_that_keeps_the_version_that_began_it(
    store: Store, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dbhone.experiment.execution.run_lifecycle.own_version", lambda: "0.1.0+gabcdef0"
    )
    run = _ended(store, session, "budget")
    monkeypatch.undo()
    take_over(run, session, store, budget=900.0)
    taken = store.run(run.id)
    assert taken.hone_version == "0.1.0+gabcdef0"
    (warning,) = taken.warnings
    assert warning.code == Code.CHANGED_MEANWHILE
    assert "hone 0.1.0+gabcdef0, then " in warning.text


@pytest.mark.parametrize("budget", [None, 480.0, 600.0])
def test_it_does_not_go_on_without_more_time(
    store: Store, session: Session, budget: float | None
) -> None:
    run = _ended(store, session, "budget")
    with pytest.raises(UsageError, match=r"has used its budget \(10 m 00 s\)") as caught:
        take_over(run, session, store, budget=budget)
    assert f"'hone resume {run.id} --budget 15m' measures more" in str(caught.value.hint)
    assert store.run(run.id) == run


def test_a_run_that_was_cut_off_is_not_given_less_than_it_has_used(
    store: Store, session: Session
) -> None:
    run = _ended(store, session, "budget")
    store.update_run(run.id, state=RunState.INTERRUPTED)
    cut = store.run(run.id)
    with pytest.raises(UsageError, match="has already used 10 m 00 s") as caught:
        take_over(cut, session, store, budget=600.0)
    assert "--budget 15m' continues it" in str(caught.value.hint)
    store.update_run(run.id, budget_seconds=7200.0)
    with pytest.raises(UsageError) as caught:
        take_over(store.run(run.id), session, store, budget=1.0)
    own = f"'hone resume {run.id}' with its own budget (2 h 00 m) continues it"
    assert caught.value.hint == own
    take_over(cut, session, store, budget=601.0)


@pytest.mark.parametrize("why", ["target", "blocks"])
def test_a_run_that_has_what_it_wanted_does_not_go_on(
    store: Store, session: Session, why: str
) -> None:
    run = _ended(store, session, why)
    with pytest.raises(UsageError, match=r"is complete$"):
        take_over(run, session, store, budget=900.0)


def test_a_run_that_is_being_executed_is_left_alone(store: Store, session: Session) -> None:
    with open_session(Home(session.home.root)) as other:
        run = begin(parse(WITH_BUDGET, name="x.toml"), other, store)
        with pytest.raises(UsageError, match="executed by another"):
            take_over(run, session, store, budget=900.0)
    assert store.run(run.id) == run
