"""``hone delete RUN …``: deletes runs with all that they measured."""

from __future__ import annotations

from collections.abc import Iterable

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.options import yes_option
from dbhone.cli.setting_up import agree
from dbhone.errors import UsageError
from dbhone.measurement.record import Run, RunState
from dbhone.session import is_alive
from dbhone.units import listed
from dbhone.untrusted_files import remove_tree


@hone_command("delete", Task.MANAGE, "hone delete 7", "hone delete --yes 3 4 5")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=completing.runs)
@yes_option("Delete without asking.")
@pass_context
def command(context: Context, runs: tuple[str, ...], yes: bool) -> None:
    """Delete each RUN (a number) with its measurements and reports. It cannot be undone.

    Its builds stay: `hone clean` removes what nothing needs any more.
    """
    with open_store(context) as store:
        chosen = {run.id: run for run in (find_run(store, selector) for selector in runs)}
        _check_unused(context, chosen.values())
        for run in chosen.values():
            context.tell(f"run {run.id}  {run.title}")
        numbers = listed([str(number) for number in chosen])
        agree(f"delete run{'s' if len(chosen) > 1 else ''} {numbers} for good", yes=yes)
        for number in chosen:
            _check_unused(context, (store.run(number),))  # which may have been resumed meanwhile
            store.delete_run(number)
            remove_tree(context.home.runs / str(number))
            context.err.print(f"deleted run {number}")


def _check_unused(context: Context, runs: Iterable[Run]) -> None:
    """Refuse a run that is being executed, or that belongs to a search which is going on."""
    for run in runs:
        if is_alive(context.home, run.session):
            done = run.state is RunState.DONE
            doing = "belongs to a search that is going on" if done else "is being executed"
            raise UsageError(f"run {run.id} {doing}", hint="end it with Ctrl-C there first")


PLUGIN = command
