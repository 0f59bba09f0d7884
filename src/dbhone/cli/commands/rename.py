"""``hone rename RUN TITLE``: gives a run another title."""

from __future__ import annotations

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.running import save_reports
from dbhone.errors import UsageError


@hone_command("rename", Task.MANAGE, "hone rename 7 'PostgreSQL 17 on the new machine'")
@click.argument("run", shell_complete=completing.runs)
@click.argument("title")
@pass_context
def command(context: Context, run: str, title: str) -> None:
    """Give RUN (a number, or `last`) another TITLE, in lists and in its report."""
    if not title.strip():
        raise UsageError("the title is empty", hint=f"hone rename {run} 'what it is about'")
    if not title.isprintable():
        raise UsageError("a title is one line of plain text, without line breaks")
    with open_store(context) as store:
        chosen = find_run(store, run)
        store.update_run(chosen.id, title=title.strip())
        save_reports(context, store.run(chosen.id), store)
    context.tell(f"run {chosen.id} is now called '{title.strip()}'")


PLUGIN = command
