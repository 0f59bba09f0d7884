"""Which runs a list shows, and where each is, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from dbhone.activity import Activity
from dbhone.errors import UsageError
from dbhone.measurement.invocation_rows import Progress
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.run_state import REASONS
from dbhone.measurement.store import RunSummary
from dbhone.report.resuming import how_to_continue
from dbhone.units import count_of, duration, exact_percent

PER_PAGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A run that may be listed, and where it is in its life."""

    run: RunSummary
    state: RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a reader wants to see; what is empty does not matter. ``page`` begins with 1."""

    dbms: str = ""
    suite: str = ""
    state: str = ""
    text: str = ""
    page: int = 1

    @property
    def any(self) -> bool:
        """Whether some runs may be left out."""
        return bool(self.dbms or self.suite or self.state or self.text)

    def address(self, page: int) -> str:
        """Return the address of a page of the list with these filters."""
        parameters = asdict(self) | {"page": page if page > 1 else ""}
        query = urlencode({name: value for name, value in parameters.items() if value})
        return f"/?{query}" if query else "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of the list, the newest run first. ``found`` runs are on ``pages`` pages.

    ``choices`` has by filter what can be chosen.
    """

    filters: Filters
    shown: tuple[Listed, ...]
    found: int
    pages: int
    choices: Mapping[str, tuple[str, ...]]


def read_filters(query: Mapping[str, str]) -> Filters:
    """Return the filters of an address. Raises UsageError for a page that is not a number."""
    page = query.get("page") or "1"
    if not (page.isascii() and page.isdigit() and int(page[:9]) > 0):
        raise UsageError(f"'{page}' is not a page", hint="pages are numbered from 1")
    return Filters(
        dbms=query.get("dbms", ""),
        suite=query.get("suite", ""),
        state=query.get("state", ""),
        text=query.get("text", "").strip(),
        page=int(page[:9]),
    )


def choose(runs: Sequence[Listed], filters: Filters) -> Listing:
    """Return the page of the list that the filters ask for; past the last page, the last."""
    runs_found = [run for run in reversed(runs) if _matches(run, filters)]
    pages = max(1, -(-len(runs_found) // PER_PAGE))
    page = min(filters.page, pages)
    return Listing(
        filters=replace(filters, page=page),
        shown=tuple(runs_found[(page - 1) * PER_PAGE : page * PER_PAGE]),
        found=len(runs_found),
        pages=pages,
        choices={
            "dbms": _sorted(name for run in runs for name in run.run.dbms),
            "suite": _sorted(run.run.suite for run in runs),
            "state": _sorted(run.state.value for run in runs),
        },
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _matches(listed: Listed, filters: Filters) -> bool:
    run = listed.run
    texts = (str(run.id), run.title, run.experiment_name, *run.subjects)
    return (
        filters.dbms in ("", *run.dbms)
        and filters.suite in ("", run.suite)
        and filters.state in ("", listed.state.value)
        and any(filters.text.casefold() in text.casefold() for text in texts)
    )


def doing(
    run: Run, state: RunState, progress: Progress, activity: Activity | None, now: datetime
) -> str:
    """Return what the run does, or why it does nothing any more, in a sentence or two.

    ``activity`` is what its session tells of itself, if it does.
    """
    latest = progress.latest
    match state:
        case RunState.RUNNING if latest is not None:
            return f"Measuring block {latest.block + 1}."
        case RunState.RUNNING:
            declared = count_of(len(run.declared.subjects), "subject")
            ready = f"Preparing: {len(run.subjects)} of {declared} ready so far."
            return ready if activity is None else f"{ready} Now: {_now(activity, now)}."
        case RunState.CUT_OFF:
            return f"The process that executed it has died. {how_to_continue(run)}"
        case RunState.INTERRUPTED:
            return f"It was interrupted. {how_to_continue(run)}"
        case RunState.FAILED:
            return f"It failed: {run.error or 'no reason was kept'}. {how_to_continue(run)}"
    return f"It is complete: {REASONS.get(run.stopped_by or '', 'no reason was kept')}."


def _now(activity: Activity, now: datetime) -> str:
    about = "" if activity.expected is None else f" of about {duration(activity.expected)}"
    return f"{activity.stage} {activity.what}, {duration(_since(activity, now))}{about}"


def _since(activity: Activity, now: datetime) -> float:
    """Return for how many seconds it has gone on."""
    return max(0.0, (now - activity.began_at).total_seconds())


def facts(
    run: Run, state: RunState, progress: Progress, activity: Activity | None, now: datetime
) -> dict[str, str]:
    """Return how far the run is, by name."""
    design = run.design
    rows = {
        "Blocks": f"{progress.blocks} (at least {design.min_blocks}, at most {design.max_blocks})",
        "Worked": f"{duration(run.seconds)} of {duration(design.budget_seconds)}",
        "Wanted": f"every effect to ±{exact_percent(design.target)}",
        "Suite": f"{run.suite}, size {run.size}",
        "Begun": f"{run.created_at:%Y-%m-%d %H:%M} UTC",
    }
    if activity is not None and activity.left is not None:
        left = activity.left - _since(activity, now)
        rows["Left"] = f"at most {duration(left)}" if left > 0 else "the budget is used up"
    if progress.failures:
        rows["Failed"] = count_of(progress.failures, "invocation")
    if progress.latest is None:
        return rows
    latest = progress.latest
    ended = max(0.0, (now - latest.started_at).total_seconds() - latest.seconds)
    how = "" if latest.failure is None else ", and failed"
    latest_row = {"Latest": f"{latest.set} on {latest.subject}{how}, {duration(ended)} ago"}
    if state is RunState.RUNNING:
        sound = sum(subject.broken is None for subject in run.subjects)
        invocations = sound * len({step.set for step in run.steps})
        latest_row = {
            "In this block": f"{progress.in_block} of {count_of(invocations, 'invocation')}"
        } | latest_row
    return latest_row | rows
