"""``hone try [DBMS]``: from source to verdict on the distribution's SQLite, or another DBMS."""

from __future__ import annotations

from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.options import force_small_budget_option, refresh_option
from dbhone.cli.running import design_options, execute_new, with_design
from dbhone.dbms.base import system_names
from dbhone.errors import UnknownName
from dbhone.experiment.declaration.load import load_shipped, shipped_names
from dbhone.experiment.declaration.model import Experiment

_SQLITE, _SHORT = "sqlite", "try"
_BUILDS = "-builds"


@hone_command(
    "try",
    Task.START,
    "hone try",
    "hone try --budget 15m --target 1%",
    "hone try postgresql",
)
@click.argument("dbms", default=_SQLITE, shell_complete=completing.systems)
@design_options
@refresh_option
@force_small_budget_option
@pass_context
def command(context: Context, /, dbms: str, *, refresh: bool, force: bool, **design: Any) -> None:
    """Build your distribution's SQLite in many ways and say which is fastest here.

    Plain; with LTO and a profile, each alone and together; with -O3 for this processor; and by
    clang and BOLT where they are installed. A build for which the budget has no time is left
    out. Takes 8 minutes on two cores. It is the experiment that `hone plan try`
    shows.

    With another DBMS, such as postgresql, it is the experiment that ships for its builds, in an
    hour or more: `hone plan postgresql-builds` shows it.
    """
    experiment = with_design(_experiment(dbms), **design)
    execute_new(context, experiment, refresh=refresh, force=force)


def _experiment(dbms: str) -> Experiment:
    """Return the experiment that ships for a DBMS. Raises UnknownName if there is none."""
    builds = {
        name.removesuffix(_BUILDS): name for name in shipped_names() if name.endswith(_BUILDS)
    }
    names = {_SQLITE: _SHORT} | {dbms: builds[dbms] for dbms in builds if dbms in system_names()}
    if dbms not in names:
        raise UnknownName("experiment for", dbms, names)
    return load_shipped(names[dbms])


PLUGIN = command
