"""Where a run is, in words: what its record says, and whether the hone is there that says so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from dbhone.measurement.progress import Progress
from dbhone.measurement.record import Run, RunState
from dbhone.units import count_of, duration

REASONS: Mapping[str, str] = {
    "target": "every effect is known as precisely as was wanted",
    "budget": "the budget is spent",
    "blocks": "as many blocks as were wanted are measured",
}


class State(StrEnum):
    """Where a run is in its life, as a reader sees it."""

    RUNNING = "running"
    CUT_OFF = "cut off"
    """It says that it runs, and nobody executes it."""
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    DONE = "done"


def state_of(recorded: RunState, *, alive: bool) -> State:
    """Return where a run is; ``alive`` tells whether the hone that executes it is there."""
    if recorded is RunState.RUNNING and not alive:
        return State.CUT_OFF
    return State(recorded.value)


def doing(run: Run, state: State, progress: Progress) -> str:
    """Return what the run does, or why it does nothing any more, as a sentence."""
    latest = progress.latest
    match state:
        case State.RUNNING if latest is not None:
            return f"Measuring block {latest.block + 1}."
        case State.RUNNING:
            declared = count_of(len(run.declared.subjects), "subject")
            return f"Preparing: {len(run.subjects)} of {declared} ready so far."
        case State.CUT_OFF:
            return (
                "Nobody executes it: the hone that did is gone and could not say why."
                f" 'hone resume {run.id}' goes on from what is finished."
            )
        case State.INTERRUPTED:
            return f"It was interrupted. 'hone resume {run.id}' goes on from what is finished."
        case State.FAILED:
            reason = run.error or "no reason was kept"
            return f"It failed: {reason}. 'hone resume {run.id}' goes on from what is finished."
    return f"It is complete: {REASONS.get(run.stopped_by or '', 'no reason was kept')}."


def facts(run: Run, state: State, progress: Progress, now: datetime) -> dict[str, str]:
    """Return how far the run is, by name."""
    design = run.design
    found = {
        "Blocks": f"{progress.blocks} (at least {design.min_blocks}, at most {design.max_blocks})",
        "Worked": f"{duration(run.seconds)} of {duration(design.budget_seconds)}",
        "Wanted": f"every effect to ±{design.target:.1%}",
        "Suite": f"{run.suite}, size {run.size}",
        "Begun": f"{run.created_at:%Y-%m-%d %H:%M} UTC",
    }
    if progress.failures:
        found["Failed"] = count_of(progress.failures, "slice")
    if progress.latest is None:
        return found
    latest = progress.latest
    ended = max(0.0, (now - latest.started_at).total_seconds() - latest.seconds)
    how = "" if latest.failure is None else ", and failed"
    told = {"Latest": f"{latest.set} on {latest.subject}{how}, {duration(ended)} ago"}
    if state is State.RUNNING:
        sound = sum(each.broken is None for each in run.subjects)
        slices = sound * len({step.set for step in run.steps})
        told = {"In this block": f"{progress.in_block} of {count_of(slices, 'slice')}"} | told
    return told | found
