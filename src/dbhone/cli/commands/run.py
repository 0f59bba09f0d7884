"""``hone run FILE``: executes an experiment file."""

from __future__ import annotations

from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.options import force_small_budget_option, refresh_option
from dbhone.cli.running import design_options, execute_new, source_option, with_design
from dbhone.experiment.declaration.load import load_named
from dbhone.source.known_versions import known_versions


@hone_command(
    "run",
    Task.MEASURE,
    "hone run postgresql-builds",
    "hone run mine.toml --budget 2h",
    "hone run mysql-builds --source dir:~/src/mysql-8.0.39",
)
@click.argument("experiment", metavar="FILE", shell_complete=completing.experiments)
@source_option
@design_options
@refresh_option
@force_small_budget_option
@pass_context
def command(
    context: Context,
    /,
    experiment: str,
    sources: tuple[str, ...],
    *,
    refresh: bool,
    force: bool,
    **design: Any,
) -> None:
    """Execute the experiment in FILE, or one that ships with hone by its name."""
    declared = load_named(experiment, known_versions(context.home), sources)
    execute_new(context, with_design(declared, **design), refresh=refresh, force=force)


PLUGIN = command
