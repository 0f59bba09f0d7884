"""``hone report RUN``: what a run found, or several that add up, in any format."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import check_output, write_output
from dbhone.cli.options import force_option, output_option
from dbhone.errors import UsageError
from dbhone.measurement.store import Store
from dbhone.report.formats.base import find_format, format_of_file, formats, render, suffixes
from dbhone.report.page import Page, build_joined_page, with_published
from dbhone.report.terminal import show
from dbhone.tuner.results import page_of


@hone_command(
    "report",
    Task.LOOK,
    "hone report last",
    "hone report last --format html --output report.html",
    "hone report 7 8",
)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completing.runs)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(formats()),
    help="Output format.  [default: as the output's name ends, else text]",
)
@output_option("File to write.")
@click.option(
    "--beside",
    multiple=True,
    metavar="NAME",
    shell_complete=completing.published,
    help="Published results to compare with, such as hiroi10-pgo; may be repeated. Subjects can be"
    " paired by name: NAME:THEIRS=MINE.",
)
@force_option
@pass_context
def command(
    context: Context,
    runs: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    beside: tuple[str, ...],
    force: bool,
) -> None:
    """Say what RUN (a number, or `last`) found; the last run if none is named.

    Several RUNs are reported as one where they add up: they share a subject that each of them
    measured, on the same machine and at the same work.
    """
    check_output(output, force=force)
    format_name = format_name or _format_of(output)
    with open_store(context) as store:
        page = with_published(_page(store, runs or ("last",), format_name), beside)
    if output is not None:
        write_output(output, render(page, format_name), force=force)
        context.tell(f"wrote {output}")
    elif format_name == "text" and context.out.is_terminal:
        show(page, context.out)
    else:
        sys.stdout.buffer.write(render(page, format_name))
        sys.stdout.buffer.flush()


def _format_of(output: Path | None) -> str:
    found = "text" if output is None else format_of_file(output.name)
    if found is None:
        raise UsageError(
            f"the name {output} does not tell the report's format",
            hint=f"name it: --format {' or '.join(formats())}; or let the name end in"
            f" {' or '.join(suffixes())}",
        )
    return found


def _page(store: Store, selectors: Sequence[str], format_name: str) -> Page:
    runs = [find_run(store, selector) for selector in selectors]
    form = find_format(format_name)
    if len(runs) > 1 and form.of_one_run:
        raise UsageError(
            f"the format {format_name} shows a single run: its moments are those of that run",
            hint=f"'hone report {runs[0].id} --format {format_name}' writes the first",
        )
    if len(runs) > 1:
        return build_joined_page([(run, store.samples(run.id)) for run in runs])
    (run,) = runs
    observations = store.observations(run.id) if form.observes else ()
    return page_of(run, store, observations)


PLUGIN = command
