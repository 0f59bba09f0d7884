"""What a page says of a run in which nothing was measured: why, what is ready, what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from dbhone.measurement.record import Code, Run, RunState, StopReason
from dbhone.report.resuming import how_to_continue
from dbhone.report.wording import joined


def why(run: Run) -> str:
    """Return the headline."""
    identical = [each.text for each in run.warnings if each.code == Code.IDENTICAL]
    if run.stopped_by == StopReason.IDENTICAL and identical:
        return f"Nothing was measured, since {joined(identical)}."
    yet = " yet" if run.state is RunState.RUNNING else ""
    reason = run.unfinished or "the run ended before its first block was over"
    return f"Nothing was measured{yet}: {reason}."


def what_is_left(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what is ready, what broke, and what to do next: a name and a sentence each."""
    known = {subject.name for subject in run.subjects}
    broken = [subject for subject in run.subjects if subject.broken is not None]
    ready = [subject.name for subject in run.subjects if subject.broken is None]
    if ready:
        missing = [name for name in run.declared.subjects if name not in known]
        without = f", but not {joined(missing)}" if missing else ""
        yield "Ready", f"{joined(ready)}{without}."
    if broken:
        yield "Not ready", "; ".join(f"{each.name} broke: {each.broken}" for each in broken)
    following = _next(run)
    if following:
        yield "Next", following


def _next(run: Run) -> str:
    match run.state:
        case RunState.RUNNING:
            return (
                f"'hone show {run.id}' says how far it is;"
                f" 'hone resume {run.id}' continues it if it was cut off."
            )
        case RunState.DONE if run.stopped_by == StopReason.BUDGET:
            return f"'hone resume {run.id}' with a larger --budget measures more."
        case _:
            return how_to_continue(run)
