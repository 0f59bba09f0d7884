"""What the commands share that need packages: to say at once what is missing, and to install it."""

from __future__ import annotations

import sys

import click

from dbhone.cli.context import Context
from dbhone.cli.lines import labelled
from dbhone.errors import ToolError, UsageError
from dbhone.home import make_folder, make_root
from dbhone.requirements import Missing, install, installable, missing


def ensure_installed(context: Context, lacking: Missing, what: str) -> None:
    """Have what ``what`` needs: install what is missing if the user agrees.

    Raises ToolError, with the one line to run, if the user does not, or if hone may not or cannot
    ask.
    """
    if not lacking:
        return
    if not (_can_ask(context) and installable() and _agrees(lacking, what)):
        raise ToolError(f"{what} needs {lacking.describe()}", hint=lacking.advice())
    install_with_message(context, lacking)


def offer_installing(context: Context, lacking: Missing, what: str, *, ask: bool) -> None:
    """Install what only ``what`` needs, if the user agrees; say how where he is not asked.

    Raises ToolError if it cannot be installed.
    """
    if not lacking:
        return
    if not (ask and _can_ask(context) and installable()):
        text = f"{what} needs {lacking.describe()}; {lacking.advice()}"
        context.tell(labelled("note", text))
    elif _agrees(lacking, what):
        install_with_message(context, lacking)


def install_with_message(context: Context, lacking: Missing) -> None:
    """Install what is missing, and say so. Raises ToolError if it is missing still.

    The log is kept in the home folder, which is made if it does not exist.
    """
    context.tell(f"installing {lacking.describe()} ...")
    make_root(context.home)
    make_folder(context.home.logs, shared=False)
    log = context.home.logs / "setup.log"
    install(lacking, log)
    left = missing(lacking.requirements)
    if left:
        names = " and ".join(need.name for need in left.requirements)
        raise ToolError(
            f"{' '.join(left.packages)} did not bring {names}",
            hint=f"see which package has it here: {left.line()}",
            log=log,
        )


def agree(what: str, *, yes: bool) -> None:
    """Have the user agree to something. Raises UsageError where there is no terminal to ask at."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"cannot ask whether to {what}: this is not a terminal", hint="agree with --yes"
        )
    click.confirm(f"{what[0].upper()}{what[1:]}?", abort=True, err=True)


def _can_ask(context: Context) -> bool:
    return sys.stdin.isatty() and context.err.is_terminal


def _agrees(lacking: Missing, what: str) -> bool:
    question = f"{what} needs {lacking.describe()}. Install it now?"
    return click.confirm(question, default=True, err=True)
