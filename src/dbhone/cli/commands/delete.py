"""``hone delete RUN …``: deletes runs with all that they measured."""

from __future__ import annotations

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.setting_up import agree
from dbhone.errors import UsageError
from dbhone.session import is_alive
from dbhone.untrusted_files import remove_tree


@hone_command("delete", Task.MANAGE, "hone delete 7", "hone delete --yes 3 4 5")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=completing.runs)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@pass_context
def command(context: Context, runs: tuple[str, ...], yes: bool) -> None:
    """Delete each RUN (a number) with its measurements and reports. It cannot be undone.

    Its builds stay: `hone clean` removes what nothing needs any more.
    """
    with open_store(context) as store:
        chosen = {run.id: run for run in (find_run(store, selector) for selector in runs)}
        for run in chosen.values():
            if is_alive(context.home, run.session):
                raise UsageError(
                    f"run {run.id} is being executed", hint="end it with Ctrl-C there first"
                )
        for run in chosen.values():
            context.tell(f"run {run.id}  {run.title}")
        what = "this run" if len(chosen) == 1 else f"these {len(chosen)} runs"
        agree(f"delete {what} for good", yes=yes)
        for run in chosen.values():
            store.delete_run(run.id)
            folder = context.home.runs / str(run.id)
            if folder.exists():
                remove_tree(folder)
            context.err.print(f"deleted run {run.id}")


PLUGIN = command
