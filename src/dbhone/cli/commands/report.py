"""``hone report RUN``: what a run found, in any format."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.stored import find_run, open_store
from dbhone.files import write_whole
from dbhone.report.page import build_page
from dbhone.report.rendering import find_format, formats, render
from dbhone.report.terminal import show


@click.command("report")
@click.argument("run", default="last")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(formats()),
    default="text",
    show_default=True,
    help="How to say it.",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="File to write."
)
@pass_context
def command(context: Context, run: str, format_name: str, output: Path | None) -> None:
    """Say what RUN (a number, or `last`) found."""
    with open_store(context) as store:
        found = find_run(store, run)
        wanted = find_format(format_name).observes
        observations = store.observations(found.id) if wanted else ()
        page = build_page(found, store.samples(found.id), observations)
    if output is not None:
        write_whole(output, render(page, format_name))
        context.err.print(f"wrote {output}", soft_wrap=True)
    elif format_name == "text" and context.out.is_terminal:
        show(page, context.out)
    else:
        sys.stdout.buffer.write(render(page, format_name))


PLUGIN = command
