"""``hone try``: from source to verdict on the distribution's SQLite."""

from __future__ import annotations

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.running import Duration, Percent, execute_new, with_design
from dbhone.experiment.load import load_shipped


@click.command("try")
@click.option("--budget", type=Duration(), help="Time for everything, such as 8m.")
@click.option("--target", type=Percent(), help="Stop when every effect is known this well: 1%.")
@click.option("--seed", type=int, help="Seed of the random order.")
@click.option("--refresh", is_flag=True, help="Look whether there is a newer source.")
@pass_context
def command(
    context: Context, budget: float | None, target: float | None, seed: int | None, refresh: bool
) -> None:
    """Build your distribution's SQLite in many ways and say which is fastest here.

    Plain, -O3, for this processor, with LTO, profile-guided, and both; with clang too where
    it is installed. Takes 8 minutes on two cores. It is the experiment that `hone plan try`
    shows.
    """
    experiment = with_design(load_shipped("try"), budget=budget, target=target, seed=seed)
    execute_new(context, experiment, refresh=refresh)


PLUGIN = command
