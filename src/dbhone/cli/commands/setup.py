"""``hone setup GOAL``: installs what a goal needs."""

from __future__ import annotations

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.options import yes_option
from dbhone.cli.setting_up import ensure_installed, install_with_message
from dbhone.errors import ToolError
from dbhone.experiment.plan.goals import goals, together
from dbhone.requirements import installable


@hone_command("setup", Task.START, "hone setup postgresql", "hone setup --yes sqlite clang bolt")
@click.argument(
    "names",
    metavar="GOAL...",
    nargs=-1,
    required=True,
    shell_complete=completing.goals,
)
@yes_option("Install without asking.")
@pass_context
def command(context: Context, names: tuple[str, ...], yes: bool) -> None:
    """Install the packages that a GOAL needs: a DBMS such as postgresql, clang, or bolt.

    `hone doctor` lists the goals. Packages are installed as root, or by a sudo that asks for no
    password. Otherwise hone prints the one line that you, or whoever administers the machine, must
    run.
    """
    chosen = goals(names)
    lacking = together(goal.missing for goal in chosen)
    if lacking:
        if not yes:
            ensure_installed(context, lacking, " and ".join(names))
        elif installable():
            install_with_message(context, lacking)
        else:
            raise ToolError(
                f"{' and '.join(names)} needs {lacking.describe()}, which hone may not install",
                hint=f"before running the same again, {lacking.advice()}",
            )
    for goal in chosen:
        context.out.print(f"{goal.name}: ready")


PLUGIN = command
