"""``hone install FILE``: replaces the distribution's server with a package's."""

from __future__ import annotations

from pathlib import Path

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import labelled
from dbhone.cli.options import FILE, yes_option
from dbhone.cli.package_view import check_and_show
from dbhone.cli.setting_up import agree
from dbhone.package.installing import Replacement, install, plan_replacement
from dbhone.units import listed


@hone_command("install", Task.MANAGE, "hone install server.deb.tar.zst --key maker.pub.pem")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", type=FILE, help="Public key by which FILE must be signed.")
@yes_option("Install without asking.")
@pass_context
def command(context: Context, file: Path, key: Path | None, yes: bool) -> None:
    """Replace the distribution's server with the one in FILE, a package of the form deb.

    The package is checked first. The original packages are kept, and restored at once if a
    server does not accept connections with the new ones. `hone uninstall` restores them later.
    """
    data, checked = check_and_show(context, file, key)
    with context.session() as session:
        plan = plan_replacement(data, checked, session)
        _tell(context, plan)
        agree("install these packages", yes=yes)
        install(plan, session, context.tell)
    context.tell(f"{plan.server} is now hone's build; 'hone uninstall' restores the original")


def _tell(context: Context, plan: Replacement) -> None:
    for package in plan.packages:
        text = f"{package.name} {package.version} for {package.installed}"
        context.tell(labelled("install", text))
    for name in plan.besides:
        context.tell(labelled("install", f"{name}, which these need"))
    for name in plan.held:
        context.tell(labelled("hold", f"{name} is held, and stays so"))
    names = listed([instance.label for instance in plan.instances]) or "none runs"
    context.tell(labelled("restart", names))
    for server in plan.unmanaged:
        text = (
            f"{server.label} executes the same program, but the distribution does not manage it:"
            " hone neither restarts nor checks it"
        )
        context.tell(labelled("note", text))
    if plan.started:
        text = f"{listed(plan.started)}: stopped now, but the packages' scripts start it"
        context.tell(labelled("start", text))


PLUGIN = command
