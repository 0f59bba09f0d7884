"""The options that several commands have, and the types of their values.

It imports nothing heavy: commands that only look do not wait for what reads experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from dbhone.cli import completing
from dbhone.errors import UsageError
from dbhone.units import parse_duration, parse_percent

F = TypeVar("F", bound=Callable[..., Any])


class _Parsed(click.ParamType[float]):
    """A number with a unit, which ``parse`` reads."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number. Raises UsageError, which names the option."""
        del ctx
        if isinstance(value, float):
            return value
        try:
            return self._parse(str(value))
        except UsageError as error:
            where = f"{param.opts[0]}: " if param is not None else ""
            raise UsageError(f"{where}{error.message}", hint=error.hint) from None


DURATION = _Parsed("duration", parse_duration)
"""A duration such as 8m, in seconds."""
PERCENT = _Parsed("percent", parse_percent)
"""A percentage such as 2%, as a fraction."""
FILE = click.Path(path_type=Path, dir_okay=False)
"""A path that is no folder's."""


def with_options(options: Sequence[Callable[[F], F]], function: F) -> F:
    """Decorate a command with options, which its help shows in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def output_option(text: str, *, metavar: str | None = None) -> Callable[[F], F]:
    """Return the option that names the file to write, with this for its help."""
    return click.option("--output", "-o", metavar=metavar, type=FILE, help=text)


def yes_option(text: str) -> Callable[[F], F]:
    """Return the option with which the user agrees beforehand, with this for its help."""
    return click.option("--yes", "-y", is_flag=True, help=text)


def dbms_option(of: str) -> Callable[[F], F]:
    """Return the option that names the DBMS ``of`` what is given."""
    return click.option("--dbms", metavar="DBMS", help=f"DBMS of {of}, if it cannot be detected.")


def tolerance_option(more: str) -> Callable[[F], F]:
    """Return the option that says which loss does not matter, with ``more`` to end its help."""
    return click.option(
        "--tolerance",
        type=PERCENT,
        metavar="LOSS",
        help="Loss that is tolerated, such as 5%: exit with 3 only if B is certainly slower by"
        f" more, with 0 only if it is certainly not.{more}",
    )


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print it as JSON, for programs."
)
force_option = click.option(
    "--force", is_flag=True, help="Overwrite the file if it exists already."
)
force_small_budget_option = click.option(
    "--force", is_flag=True, help="Begin even if the budget seems too small for a verdict."
)
refresh_option = click.option("--refresh", is_flag=True, help="Check for newer sources.")
train_option = click.option(
    "--train",
    multiple=True,
    metavar="SET",
    shell_complete=completing.sets,
    help="Set to train on; may be repeated.  [default: the suite's]",
)
