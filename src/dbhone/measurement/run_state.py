"""Where a run is in its life, as a reader sees it, and why it measures no longer."""

from __future__ import annotations

from collections.abc import Mapping

from dbhone.home import Home
from dbhone.measurement.record import Run, RunState, StopReason
from dbhone.measurement.store import RunSummary
from dbhone.session import is_alive

REASONS: Mapping[str, str] = {
    StopReason.IDENTICAL: "both are the same, byte for byte",
    StopReason.TARGET: "every effect is known as precisely as was wanted",
    StopReason.CLEAR: "every candidate's summary is clear",
    StopReason.BUDGET: "the budget is spent",
    StopReason.BLOCKS: "the wanted number of blocks is measured",
}
"""Why measuring ended, by what a run says it was stopped by."""


def state_of(home: Home, run: Run | RunSummary) -> RunState:
    """Return where a run is in its life, as a reader sees it."""
    if run.state is RunState.RUNNING and not is_alive(home, run.session):
        return RunState.CUT_OFF
    return run.state
