"""``hone compare A B``: is B slower than A? The exit code says it, too."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.answering import answer
from dbhone.cli.bisecting import FLAG, code_of_error
from dbhone.cli.context import Context, pass_context
from dbhone.cli.generated import GeneratedOptions, generated_options, write_or_execute
from dbhone.cli.help import Task, hone_command
from dbhone.cli.options import dbms_option, tolerance_option, train_option
from dbhone.cli.running import dbms_of_tree
from dbhone.errors import HoneError, UsageError
from dbhone.experiment.declaration.comparing import (
    COMPARISON,
    Side,
    check_together,
    compare_text,
    compiled_by,
    parse_side,
    with_dbms,
)
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.schema import LEAST_LAYOUTS, MOST_LAYOUTS
from dbhone.experiment.declaration.templates import OPTIONS
from dbhone.experiment.plan.goals import foresee_dbms
from dbhone.source.kinds.base import kind_of, parse_reference
from dbhone.source.known_versions import known_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options(GeneratedOptions):
    dbms: str | None
    compilers: tuple[str, ...]
    train: tuple[str, ...]
    tolerance: float | None
    stop_early: bool
    layouts: int | None
    bisect: bool


@hone_command(
    "compare",
    Task.MEASURE,
    "hone compare known:mysql@5.7 known:mysql@8.0",
    "hone compare apt:postgresql 'apt:postgresql#lto+pgo' --train point-query",
    "hone compare postgresql postgresql --compiler gcc --compiler clang",
    "hone compare git:.@v1 git:.@main --sets point-query,update-index --stop-early",
    "git bisect run hone compare --bisect git:.@v1 git:.@HEAD --tolerance 10%",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@dbms_option("both sources")
@click.option(
    "--compiler",
    "compilers",
    multiple=True,
    shell_complete=completing.compilers,
    help="Compiler of both, by name or path; given twice, of A and of B.  [default: gcc]",
)
@train_option
@click.option(
    "--stop-early", is_flag=True, help="Stop as soon as the difference is clear (p < 0.001)."
)
@click.option(
    "--layouts",
    type=click.IntRange(LEAST_LAYOUTS, MOST_LAYOUTS),
    help="Number of random orders of its functions in which each build is linked and measured.",
)
@tolerance_option(
    " Sets --target to a third of it, if that is less."
    "  [default: each certain loss counts, and any may hide]"
)
@click.option(
    FLAG,
    "bisect",
    is_flag=True,
    help="Exit as `git bisect run` wants it: 0 good, 1 bad, 125 if B cannot be tested.",
)
@generated_options
@pass_context
def command(context: Context, /, first: str, second: str, **options: Any) -> int:
    """Say whether B is slower than A, side by side on this machine.

    A and B are sources, such as known:mysql@8.0.12 or apt:postgresql, with a variant after #
    if they are not to be built plainly: 'apt:postgresql#lto+pgo'. By two compilers they may be
    the same. A is the base, and runs twice as the A/A control.

    Exit codes: 0 B is not slower, or by no more than --tolerance; 1 something failed or broke;
    2 wrong use; 3 B is slower, with --tolerance by more than that; 4 there is no answer: not
    enough data, whether the loss is larger than is tolerated is open, B alone failed in some
    blocks, many transactions were refused, or the control differs.

    With --bisect they are: 0 good: B is not slower; 1 bad: B is slower, by more than --tolerance
    if that is given; 125 B cannot be built or broke, or there is no answer; 128 anything else
    failed, which ends the bisection.
    """
    request = _Options(**options)
    if request.bisect and (request.plan or request.output is not None):
        raise UsageError(
            f"{FLAG} says what a run found: --plan and --output begin none", hint="leave one out"
        )
    experiment = _experiment(context, first, second, request)
    if request.bisect:
        return _bisected(context, experiment, request)
    page = write_or_execute(context, experiment, request)
    if page is None:
        return 0
    return answer(context, page, experiment.tolerance)


def _bisected(context: Context, experiment: Experiment, request: _Options) -> int:
    """Execute the comparison; return the code that git bisect reads."""
    (candidate,) = experiment.compared
    try:
        page = write_or_execute(context, experiment, request)
    except HoneError as error:
        error.exit_code = code_of_error(error, candidate)
        raise
    assert page is not None, "neither a plan nor a file was asked for"
    return answer(context, page, experiment.tolerance, bisects=True)


def _experiment(context: Context, first: str, second: str, options: _Options) -> Experiment:
    known = known_versions(context.home)
    base, candidate = (parse_side(text, known) for text in (first, second))
    sides = compiled_by(base, candidate, options.compilers)
    check_together(sides[0], sides[1], options.train)
    if options.bisect:
        _look_again(context, sides[1])
    first_side, two = (
        with_dbms(parsed, lambda side: _dbms(context, side, options)) for parsed in sides
    )
    design = dataclasses.replace(
        options.design,
        target=_target(options),
        stop_early=options.stop_early,
        tolerance=options.tolerance,
        layouts=options.layouts or 0,
    )
    text = compare_text(first_side, two, options.train, options.workload, design)
    return parse(text, name=COMPARISON, versions=known, options=OPTIONS)


def _target(options: _Options) -> float:
    """Return how precisely effects are to be known; by the tolerance where that alone is given.

    B's interval and the control's both have to lie within the tolerance. They are a third of it
    wide to either side, so that chance may shift them.
    """
    usual = options.design.target
    if options.target is not None or options.tolerance is None:
        return usual
    return min(usual, options.tolerance / 3)


def _look_again(context: Context, side: Side) -> None:
    """Fetch what a reference such as git:.@HEAD means now, which is another commit each time."""
    remembered = not kind_of(parse_reference(side.source).kind).always_fresh
    if remembered and not side.variant.ready_made:
        dbms_of_tree(context, side.source, refresh=True)


def _dbms(context: Context, side: Side, request: _Options) -> str:
    """Return which DBMS a source is: the named one, else by its name, else by its tree."""
    named = request.dbms or foresee_dbms(side.source)
    if named is not None:
        return named
    if side.variant.ready_made:
        raise UsageError(
            f"cannot determine the DBMS of {side.source}", hint="name it, such as --dbms mysql"
        )
    return dbms_of_tree(context, side.source, refresh=request.refresh)


PLUGIN = command
