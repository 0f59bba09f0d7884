"""How a run goes on that nobody executes any more, in words."""

from __future__ import annotations

from dbhone.measurement.record import Role, Run, RunState


def how_to_continue(run: Run) -> str:
    """Return how a run that nobody executes any more goes on, in a sentence; empty if it is done.

    One that is recorded as running was cut off.
    """
    match run.state:
        case RunState.DONE:
            return ""
        case RunState.FAILED if _is_nothing_left(run):
            return "A new run tries again what broke."
        case RunState.FAILED if run.broken_subjects:
            return f"A new run tries again what broke; 'hone resume {run.id}' leaves it out."
        case RunState.FAILED:
            return f"'hone resume {run.id}' continues it once the reason is mended."
        case RunState.INTERRUPTED | RunState.RUNNING | RunState.CUT_OFF:
            return f"'hone resume {run.id}' continues from what is finished."


def _is_nothing_left(run: Run) -> bool:
    """Return whether all candidates broke, so that nothing is left to compare with the base."""
    candidates = {each.name for each in run.of_role(Role.CANDIDATE)}
    known = {each.name for each in run.subjects}
    return (
        bool(candidates)
        and candidates <= set(run.broken_subjects)
        and known.issuperset(run.declared.subjects)
    )
