"""``hone compare A B``: is B slower than A? The exit code says it, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.progress import shown
from dbhone.cli.running import Duration, Percent, execute_new
from dbhone.cli.words import numbers, words
from dbhone.errors import UsageError
from dbhone.experiment.comparing import (
    CompareRequest,
    Side,
    check_together,
    compare_text,
    parse_side,
    with_dbms,
)
from dbhone.experiment.load import parse
from dbhone.experiment.model import Experiment
from dbhone.experiment.production import Workshop, recognise
from dbhone.files import write_whole
from dbhone.report.outcome import outcome
from dbhone.source.versions import known_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    dbms: str | None
    train: tuple[str, ...]
    suite: str | None
    size: str
    sets: str | None
    threads: str | None
    budget: float | None
    target: float
    seed: int
    refresh: bool
    output: Path | None


@click.command(
    "compare",
    epilog="Examples: hone compare known:mysql@5.7 known:mysql@8.0; hone compare apt:postgresql"
    " 'apt:postgresql#lto+pgo' --train point-query; hone compare git:.@v1 git:.@main"
    " --sets point-query,update-index --budget 30m.",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--dbms", metavar="DBMS", help="What both are, if their sources do not tell.")
@click.option("--train", multiple=True, metavar="SET", help="Set to train on; may be repeated.")
@click.option("--suite", help="What they do.  [default: sysbench:micro, for SQLite speedtest1]")
@click.option("--size", default="quick", show_default=True, help="How large it is.")
@click.option("--sets", metavar="A,B,…", help="Sets of the suite.  [default: all]")
@click.option("--threads", metavar="N,M,…", help="Numbers of clients.  [default: the size's]")
@click.option("--budget", type=Duration(), help="Time for everything.  [default: 45m]")
@click.option(
    "--target",
    type=Percent(),
    default="2%",
    show_default=True,
    help="Stop when every effect is known this well.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random order.")
@click.option("--refresh", is_flag=True, help="Look whether there are newer sources.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the experiment to this file instead of executing it.",
)
@pass_context
def command(context: Context, /, first: str, second: str, **options: Any) -> int:
    """Say whether B is slower than A, side by side on this machine.

    A and B are sources, such as known:mysql@8.0.12 or apt:postgresql, with a variant behind #
    if they are to be built in another way than plainly: 'apt:postgresql#lto+pgo'. A is the base,
    and runs twice as the A/A control.

    Exit codes: 0 B is not slower; 1 something failed or broke; 2 wrong use; 3 B is slower;
    4 there is no answer: not enough data, or the control differs.
    """
    chosen = _Options(**options)
    experiment = _experiment(context, first, second, chosen)
    if chosen.output is not None:
        write_whole(chosen.output, experiment.text)
        context.err.print(
            f"wrote {chosen.output}: 'hone run {chosen.output}' executes it", soft_wrap=True
        )
        return 0
    found = outcome(execute_new(context, experiment, refresh=chosen.refresh))
    context.err.print(
        f"exit code {found.answer.value}: {found.sentence}", soft_wrap=True, markup=False
    )
    return found.answer.value


def _experiment(context: Context, first: str, second: str, chosen: _Options) -> Experiment:
    known = known_versions(context.home)
    sides = [parse_side(each, known) for each in (first, second)]
    check_together(sides[0], sides[1], chosen.train)
    one, two = (with_dbms(each, lambda side: _dbms(context, side, chosen)) for each in sides)
    request = CompareRequest(
        first=one,
        second=two,
        suite=chosen.suite,
        size=chosen.size,
        sets=words(chosen.sets),
        threads=numbers(chosen.threads),
        train=chosen.train,
        budget=chosen.budget,
        target=chosen.target,
        seed=chosen.seed,
    )
    return parse(compare_text(request), name="compare", versions=known)


def _dbms(context: Context, side: Side, chosen: _Options) -> str:
    """Return of which DBMS a source is, by its tree if nobody says it."""
    if chosen.dbms is not None:
        return chosen.dbms
    if side.variant.ready_made:
        raise UsageError(
            f"nothing tells of which DBMS {side.source} is", hint="say it: --dbms mysql"
        )
    with context.session() as session, shown(context.err) as listen:
        return recognise(Workshop(session, listen, refresh=chosen.refresh).tree(side.source).path)


PLUGIN = command
