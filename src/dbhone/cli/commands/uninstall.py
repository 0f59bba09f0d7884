"""``hone uninstall [SERVER]``: restores the distribution's own packages."""

from __future__ import annotations

import os

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import labelled
from dbhone.cli.options import yes_option
from dbhone.cli.setting_up import agree
from dbhone.errors import UnknownName, UsageError
from dbhone.package.installing import installed_servers, uninstall
from dbhone.requirements import as_root


@hone_command("uninstall", Task.MANAGE, "hone uninstall", "hone uninstall --yes postgresql-15")
@click.argument("server", required=False)
@yes_option("Restore without asking.")
@pass_context
def command(context: Context, server: str | None, yes: bool) -> None:
    """Restore the distribution's packages of SERVER, which `hone install` has kept.

    To remove hone itself, see docs/install.md.
    """
    with context.traceless_session() as session:
        known = installed_servers(session)
        if not known:
            raise UsageError("hone has installed no server here", hint=_hint(context))
        if server is None and len(known) > 1:
            raise UsageError(
                "several servers here are hone's", hint=f"name one: {', '.join(known)}"
            )
        chosen = server or next(iter(known))
        if chosen not in known:
            raise UnknownName("server of hone's", chosen, known)
        for package in known[chosen]:
            text = f"{package.name} {package.version} for {package.installed}"
            context.tell(labelled("restore", text))
        agree(f"put the distribution's {chosen} back", yes=yes)
        uninstall(chosen, session, context.tell)
    context.tell(f"{chosen} is the distribution's again")


def _hint(context: Context) -> str:
    """Return what to do instead. Root's home has the originals, so others look into another."""
    if os.geteuid() != 0:
        return f"what root installed, root restores: {as_root('uninstall')}"
    return (
        f"to remove hone itself, delete {context.home.root} and the clone, or run"
        " 'uv tool uninstall dbhone'"
    )


PLUGIN = command
