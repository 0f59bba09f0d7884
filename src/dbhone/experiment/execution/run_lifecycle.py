"""Begins runs, and takes over those that another session began."""

from __future__ import annotations

from dbhone.errors import UsageError
from dbhone.experiment.declaration.model import Experiment
from dbhone.home import Home
from dbhone.measurement.machine import read_machine
from dbhone.measurement.record import Code, Run, RunState, StopReason, Warning
from dbhone.measurement.store import NewRun, Store
from dbhone.own_version import own_version
from dbhone.session import Session, is_alive
from dbhone.units import duration, whole_minutes

_RAISED = 1.5
"""How much more of a budget is suggested to whom asks for more blocks without saying how many."""


def begin(experiment: Experiment, session: Session, store: Store) -> Run:
    """Keep a new run of the experiment, about to be executed by this session."""
    return store.create_run(
        NewRun(
            title=experiment.title,
            experiment=experiment.text,
            experiment_name=experiment.name,
            session=session.id,
            suite=experiment.suite_label,
            size=experiment.size,
            design=experiment.design,
            machine=read_machine(session.home.root),
            hone_version=own_version(),
        )
    )


def take_over(run: Run, session: Session, store: Store, *, budget: float | None = None) -> None:
    """Make this session the one that executes a run that was cut off or has a larger budget now.

    Raises UsageError if it cannot be continued, or is being executed.
    """
    check_resumable(run, session, budget=budget)
    taken = is_alive(session.home, run.session) or not store.claim_run(
        run.id, session=session.id, instead_of=run.session
    )
    if taken:
        raise UsageError(f"run {run.id} is being executed by another hone")
    if budget is not None:
        store.update_run(run.id, budget_seconds=budget)
    changed = list(run.machine.changes(read_machine(session.home.root)))
    if run.hone_version != own_version():
        changed.append(f"hone {run.hone_version}, then {own_version()}")
    if changed:
        text = f"it was continued under other circumstances than it began: {'; '.join(changed)}"
        store.add_warning(run.id, Warning(code=Code.CHANGED_MEANWHILE, text=text))


def check_resumable(run: Run, session: Session, *, budget: float | None) -> None:
    """Raise UsageError if a run cannot be continued, with this budget if it is to have another.

    It is complete, has worked longer than the budget, or began on another machine.
    """
    if run.state is RunState.DONE:
        _check_raised(run, budget)
    elif budget is not None and budget <= run.seconds:
        raise UsageError(
            f"run {run.id} has already used {duration(run.seconds)}, which counts towards the"
            " budget",
            hint=f"{_with_enough(run)} continues it",
        )
    check_machine(run, session.home)


def check_machine(run: Run, home: Home) -> None:
    """Raise UsageError if a run began on another machine: nothing here can be compared with it."""
    if read_machine(home.root).fingerprint != run.machine.fingerprint:
        raise UsageError(
            f"run {run.id} began on another machine or kernel ({run.machine.cpu_model},"
            f" {run.machine.kernel})",
            hint="only what was measured on one host can be compared: begin a new run",
        )


def _check_raised(run: Run, budget: float | None) -> None:
    """Refuse to continue a complete run, unless a larger budget lets it measure more."""
    report = f"'hone report {run.id}' shows what it found"
    if run.stopped_by != StopReason.BUDGET:
        raise UsageError(f"run {run.id} is complete", hint=report)
    if budget is None or budget <= run.seconds:
        raise UsageError(
            f"run {run.id} is complete: it has used its budget ({duration(run.seconds)})",
            hint=f"{report}; {_with_more(run)} measures more",
        )


def _with_enough(run: Run) -> str:
    """Return the command that continues a run: by its own budget while some of that is left."""
    if run.design.budget_seconds > run.seconds:
        return f"'hone resume {run.id}' with its own budget ({duration(run.design.budget_seconds)})"
    return _with_more(run)


def _with_more(run: Run) -> str:
    return f"'hone resume {run.id} --budget {whole_minutes(run.seconds * _RAISED)}'"
