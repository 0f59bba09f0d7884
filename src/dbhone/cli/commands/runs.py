"""``hone runs``: the runs that there are, and what each found."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dbhone.cli.context import Context, open_store, pass_context, roots_runs
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option
from dbhone.measurement.run_state import state_of
from dbhone.measurement.store import RunSummary, Store
from dbhone.report.findings import findings_of
from dbhone.report.one_line import one_line
from dbhone.units import count_of, duration

_NEWEST = 20
_WIDE = 110
"""The columns of a terminal in which a table leaves a line for what was found."""


@hone_command("runs", Task.LOOK, "hone runs", "hone runs --all", "hone runs --json")
@click.option(
    "--all", "everything", is_flag=True, help=f"List all runs, not only the newest {_NEWEST}."
)
@json_option
@pass_context
def command(context: Context, everything: bool, as_json: bool) -> None:
    """List the runs and what each found, newest last."""
    runs: tuple[RunSummary, ...] = ()
    found: dict[int, str] = {}
    if context.home.database.is_file():
        with open_store(context) as store:
            runs = store.runs()
            shown = runs if everything else runs[-_NEWEST:]
            found = {run.id: _found(store, run) for run in shown}
    shown = tuple(run for run in runs if run.id in found)
    if as_json:
        print_json(context, [_object(context, run, found[run.id]) for run in shown])
    elif not runs:
        context.tell(f"There are no runs yet: 'hone try' makes one{roots_runs()}.")
    else:
        wide = context.out.width >= _WIDE
        context.out.print((_table if wide else _entries)(context, shown, found))
        if len(shown) < len(runs):
            left = count_of(len(runs) - len(shown), "older run")
            context.err.print(f"{left} not shown: --all lists all.")


def _found(store: Store, summary: RunSummary) -> str:
    """Return in a sentence what a run found, or why it found nothing."""
    return one_line(findings_of(store.run(summary.id), store.samples(summary.id)))


def _table(context: Context, runs: tuple[RunSummary, ...], found: dict[int, str]) -> Table:
    whole = ("run", "began", "state", "blocks", "worked")
    right = ("run", "blocks", "worked")
    table = listing(*whole, "title, and what was found", right=right, whole=whole)
    for run in runs:
        table.add_row(
            str(run.id),
            f"{run.created_at.astimezone():%Y-%m-%d %H:%M}",
            state_of(context.home, run).value,
            str(run.blocks),
            duration(run.seconds),
            Group(*_told(run, found[run.id], indent=2)),
        )
    return table


def _entries(context: Context, runs: tuple[RunSummary, ...], found: dict[int, str]) -> Group:
    """Return the runs for a narrow terminal: below each line of figures, what was found."""
    lines: list[RenderableType] = []
    for run in runs:
        state = state_of(context.home, run).value
        lines.append(
            Text(
                f"{run.id}  {run.created_at.astimezone():%Y-%m-%d %H:%M}  {state}"
                f"  {count_of(run.blocks, 'block')}  {duration(run.seconds)}",
                style="bold",
            )
        )
        lines += [Padding(line, (0, 0, 0, 4)) for line in _told(run, found[run.id])]
    return Group(*lines)


def _told(run: RunSummary, found: str, *, indent: int = 0) -> Iterator[RenderableType]:
    """Yield a run's title, then what it found, if anything."""
    yield Text(run.title)
    if found:
        yield Padding(Text(found), (0, 0, 0, indent))


def _object(context: Context, run: RunSummary, found: str) -> dict[str, object]:
    return {
        "run": run.id,
        "title": run.title,
        "experiment": run.experiment_name,
        "state": state_of(context.home, run).value,
        "began": run.created_at.isoformat(),
        "ended": run.finished_at.isoformat() if run.finished_at else None,
        "seconds": run.seconds,
        "blocks": run.blocks,
        "suite": run.suite,
        "size": run.size,
        "dbms": run.dbms,
        "subjects": run.subjects,
        "found": found or None,
    }


PLUGIN = command
