"""``hone runs``: the runs that there are."""

from __future__ import annotations

import click
from rich.table import Table

from dbhone.cli.context import Context, open_store, pass_context
from dbhone.home import is_alive
from dbhone.measurement.record import RunState
from dbhone.measurement.store import RunSummary
from dbhone.units import duration


@click.command("runs")
@pass_context
def command(context: Context) -> None:
    """List the runs, newest last."""
    runs: tuple[RunSummary, ...] = ()
    if context.home.database.is_file():
        with open_store(context) as store:
            runs = store.runs()
    if not runs:
        context.err.print("There are no runs yet: 'hone try' makes one.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (("run", "right"), ("began", "left"), ("state", "left")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("blocks", justify="right")
    table.add_column("worked", justify="right")
    table.add_column("title")
    for run in runs:
        state = run.state.value
        if run.state is RunState.RUNNING and not is_alive(context.home, run.session):
            state = "cut off"
        table.add_row(
            str(run.id),
            f"{run.created_at.astimezone():%Y-%m-%d %H:%M}",
            state,
            str(run.blocks),
            duration(run.seconds),
            run.title,
        )
    context.out.print(table)


PLUGIN = command
