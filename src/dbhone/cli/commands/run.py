"""``hone run FILE``: executes an experiment file."""

from __future__ import annotations

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.running import Duration, Percent, execute_new, with_design
from dbhone.experiment.load import load_named
from dbhone.source.versions import known_versions


@click.command("run")
@click.argument("experiment", metavar="FILE")
@click.option("--budget", type=Duration(), help="Time for everything, such as 8m.")
@click.option("--target", type=Percent(), help="Stop when every effect is known this well: 1%.")
@click.option("--seed", type=int, help="Seed of the random order.")
@click.option("--refresh", is_flag=True, help="Look whether there are newer sources.")
@pass_context
def command(
    context: Context,
    experiment: str,
    budget: float | None,
    target: float | None,
    *,
    seed: int | None,
    refresh: bool,
) -> None:
    """Execute the experiment in FILE, or one that ships with hone by its name."""
    declared = with_design(
        load_named(experiment, known_versions(context.home)), budget, target, seed
    )
    execute_new(context, declared, refresh=refresh)


PLUGIN = command
