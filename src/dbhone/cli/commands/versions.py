"""``hone versions [DBMS]``: which versions are known, and where each comes from."""

from __future__ import annotations

import click
from rich.table import Table

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option
from dbhone.source.known_versions import FILE, KnownVersion, known_versions


@hone_command("versions", Task.MANAGE, "hone versions", "hone versions mysql")
@click.argument("dbms", metavar="[DBMS]", required=False, shell_complete=completing.systems)
@json_option
@pass_context
def command(context: Context, dbms: str | None, as_json: bool) -> None:
    """List the versions of DBMS, or of all, that are known, the oldest first.

    Write known:DBMS@VERSION wherever a source is wanted, such as known:mysql@8.0.12, or
    known:mysql@8.0 for the newest known 8.0. `hone history` takes those that are marked.
    """
    known = known_versions(context.home)
    listed = known.versions if dbms is None else known.of(dbms)
    if as_json:
        print_json(context, [_object(version) for version in listed])
        return
    own = context.home.root / FILE
    if listed:
        context.out.print(_table(listed))
    else:
        context.err.print(f"No version of {dbms} is known.")
    state = "its versions are marked 'yours'" if own.is_file() else "there is none"
    context.tell(f"Your own file of versions: {own} ({state}).")


def _object(version: KnownVersion) -> dict[str, object]:
    return {
        "dbms": version.dbms,
        "version": version.name,
        "source": version.source,
        "in_history": version.usual,
        "yours": version.of_user,
        "note": version.note or None,
    }


def _table(versions: tuple[KnownVersion, ...]) -> Table:
    table = listing("DBMS", "version", "history", "from", "source", "note")
    for version in versions:
        table.add_row(
            version.dbms,
            version.name,
            "yes" if version.usual else "",
            "yours" if version.of_user else "hone",
            version.source,
            version.note,
        )
    return table


PLUGIN = command
