"""What the commands share that write an experiment themselves and execute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from dbhone.cli import completing
from dbhone.cli.context import Context
from dbhone.cli.lines import check_output, in_command, numbers, words, write_output
from dbhone.cli.options import DURATION, FILE, PERCENT, output_option, refresh_option, with_options
from dbhone.cli.plan_view import print_plan
from dbhone.cli.running import SEED, execute_new
from dbhone.errors import UsageError
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import DesignOptions, WorkloadOptions
from dbhone.files import absolute_path
from dbhone.report.page import Page
from dbhone.workload import suite as suites

F = TypeVar("F", bound=Callable[..., Any])

_SIZE = "quick"
_TARGET = 0.02
_BUDGET = click.option(
    "--budget",
    type=DURATION,
    help="Time for everything.  [default: 15m for each subject;"
    " for history, plus what builds usually take]",
)
_OPTIONS = (
    click.option(
        "--suite",
        "--workload",
        "suite",
        shell_complete=completing.suites,
        help="Suite or workload file.  [default: sysbench:micro, for SQLite speedtest1]",
    ),
    click.option(
        "--data",
        metavar="DUMP",
        type=FILE,
        help="Dump on which a workload file, given as --suite, is replayed.",
    ),
    click.option("--size", help=f"Size of the suite.  [default: {_SIZE}]"),
    click.option(
        "--sets",
        metavar="A,B,…",
        shell_complete=completing.several_sets,
        help="Sets of the suite.  [default: all]",
    ),
    click.option("--threads", metavar="N,M,…", help="Numbers of clients.  [default: the size's]"),
    click.option(
        "--target",
        type=PERCENT,
        help="Stop when every effect is known this precisely.  [default: 2%]",
    ),
    click.option(
        "--seed", type=SEED, default=1, show_default=True, help="Seed of the random order."
    ),
    refresh_option,
    click.option(
        "--plan", is_flag=True, help="Show what would be done, and how long it takes; do nothing."
    ),
    output_option("Write the experiment to this file instead of executing it."),
    click.option(
        "--force",
        is_flag=True,
        help="Overwrite that file if it exists; execute with a budget that seems too small.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedOptions:
    """What the options say that all these commands have.

    Raises UsageError if a plan is wanted and a file, too, or a file that cannot be written.
    """

    suite: str | None
    data: Path | None
    size: str | None
    sets: str | None
    threads: str | None
    budget: float | None
    target: float | None
    seed: int
    refresh: bool
    plan: bool
    output: Path | None
    force: bool

    def __post_init__(self) -> None:
        """Check what cannot go together, before anything is fetched."""
        if self.plan and self.output is not None:
            raise UsageError(
                "--plan and --output do not go together",
                hint=f"write the file first: 'hone plan {self.output}' then shows its plan",
            )
        check_output(self.output, force=self.force)

    @property
    def design(self) -> DesignOptions:
        """How it is to be measured."""
        target = _TARGET if self.target is None else self.target
        return DesignOptions(budget=self.budget, target=target, seed=self.seed)

    @property
    def workload(self) -> WorkloadOptions:
        """What the subjects are to do."""
        return WorkloadOptions(
            suite=_found(self.suite),
            data=None if self.data is None else str(self.data.absolute()),
            size=self.size or _SIZE,
            sets=words(self.sets),
            threads=numbers(self.threads),
        )


def _found(suite: str | None) -> str | None:
    """Return a suite; a workload file by its absolute path, wherever the experiment is kept."""
    if suite is None or not suites.is_users_file(suite):
        return suite
    return str(absolute_path(suite))


def generated_options(function: F) -> F:
    """Decorate a command with these options."""
    return generated_options_without_budget(_BUDGET(function))


def generated_options_without_budget(function: F) -> F:
    """Decorate a command that has a budget of its own with all other options."""
    return with_options(_OPTIONS, function)


def write_or_execute(
    context: Context, experiment: Experiment, request: GeneratedOptions
) -> Page | None:
    """Write the experiment or its plan if asked; else execute it, and return what it found."""
    if request.plan:
        print_plan(context, experiment)
        return None
    if request.output is None:
        return execute_new(context, experiment, refresh=request.refresh, force=request.force)
    write_output(request.output, experiment.text, force=request.force)
    name = in_command(request.output)
    context.tell(f"wrote {request.output}: 'hone run {name}' executes it")
    return None
