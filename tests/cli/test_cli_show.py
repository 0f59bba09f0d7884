"""`hone show` says what a run is, and how far it is."""

from __future__ import annotations

from pathlib import Path

from dbhone.home import Home
from tests.cli.finished_run import invoke, keep_finished


def test_it_says_how_many_invocations_failed_and_why_measuring_ended(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    keep_finished(home)
    shown = invoke(home, "show", "last").stdout
    facts = [" ".join(line.split()) for line in shown.splitlines()]
    assert "failed invocations 0" in facts
    assert "stopped by the budget is spent" in facts
