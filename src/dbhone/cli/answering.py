"""What the commands share whose exit code is an answer."""

from __future__ import annotations

import click

from dbhone.cli.context import Context
from dbhone.cli.running import Percent
from dbhone.report.outcome import outcome
from dbhone.report.page import Page

tolerance_option = click.option(
    "--tolerance",
    type=Percent(),
    metavar="LOSS",
    help="No answer (4) where a loss larger than this, such as 5%, could hide.  [default: any may]",
)


def answer(context: Context, page: Page, tolerance: float | None) -> int:
    """Say in a sentence whether the candidate is slower, and return the exit code for it."""
    found = outcome(page, tolerance=tolerance)
    context.err.print(f"exit code {found.answer.value}: {found.sentence}", soft_wrap=True)
    return found.answer.value
