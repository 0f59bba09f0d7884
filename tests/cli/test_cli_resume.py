"""``hone resume``: a budget that leaves no time is told before the run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.run_lifecycle import begin
from dbhone.home import Home
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.store import Store
from dbhone.session import open_session
from tests.cli.commands import hone
from tests.experiment.experiment_files import WITH_BUDGET


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def cut_off(home: Home) -> Run:
    """Return a run of ten minutes that was cut off before it measured anything."""
    with open_session(home) as session, Store.open(home.database) as store:
        run = begin(parse(WITH_BUDGET, name="x.toml"), session, store)
        store.update_run(run.id, state=RunState.INTERRUPTED, seconds_added=600.0)
        return store.run(run.id)


def test_a_budget_that_leaves_no_time_is_refused_as_a_new_run_refuses_it(
    home: Home, cut_off: Run
) -> None:
    refused = hone(home.root, "resume", str(cut_off.id), "--budget", "605s")
    assert refused.returncode == 2
    assert (
        "the budget of 10 m 05 s, of which 10 m 00 s are used, leaves no time for measuring:"
    ) in refused.stderr
    assert "would do; --force continues anyway" in refused.stderr
    with Store.open(home.database) as store:
        assert store.run(cut_off.id) == cut_off
