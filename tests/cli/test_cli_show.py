"""`hone show` says what a run is, and how far it is; `hone report` what it found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.home import Home
from dbhone.measurement.record import Role, Run, RunState
from dbhone.measurement.store import Store
from tests.cli.commands import hone
from tests.cli.finished_run import invoke, keep_finished
from tests.report.sample_run import a_run, samples
from tests.serve.stored import keep


def test_it_says_how_many_invocations_failed_and_why_measuring_ended(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    keep_finished(home)
    shown = invoke(home, "show", "last").stdout
    facts = [" ".join(line.split()) for line in shown.splitlines()]
    assert "failed invocations 0" in facts
    assert "stopped by the budget is spent" in facts


def ended(state: RunState, broken: str | None = None) -> Run:
    subjects = (
        replace(each, broken=broken) if each.role is Role.CANDIDATE else each
        for each in a_run().subjects
    )
    return a_run(state=state, stopped_by=None, error="no gcc", subjects=tuple(subjects))


def with_one_broken(run: Run) -> Run:
    """Return the run with one of its candidates broken."""
    *others, last = run.subjects
    return replace(run, subjects=(*others, replace(last, broken="it crashed")))


@pytest.mark.parametrize(
    ("run", "following"),
    [
        (ended(RunState.INTERRUPTED), "'hone resume 1' continues from what is finished."),
        (ended(RunState.RUNNING), "'hone resume 1' continues from what is finished."),
        (ended(RunState.FAILED), "'hone resume 1' continues it once the reason is mended."),
        (
            ended(RunState.FAILED, broken="it crashed"),
            "A new run tries again what broke.",
        ),
        (
            with_one_broken(ended(RunState.FAILED)),
            "A new run tries again what broke; 'hone resume 1' leaves it out.",
        ),
        (a_run(), "'hone report 1' says what it found."),
    ],
)
def test_it_says_how_a_run_goes_on(tmp_path: Path, run: Run, following: str) -> None:
    home = Home(tmp_path / "home")
    keep_finished(home, run)
    assert invoke(home, "show", "last").stdout.splitlines()[-1] == following


def test_series_are_those_of_a_single_run(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    first = keep_finished(home)
    with Store.open(home.database) as store:
        keep(store, first, samples(first))
    done = hone(home.root, "report", "1", "2", "--format", "series")
    assert done.returncode == 2
    assert "the format series shows a single run" in done.stderr
    assert "'hone report 1 --format series' writes the first" in done.stderr
