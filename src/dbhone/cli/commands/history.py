"""``hone history DBMS``: has it become faster or slower from version to version?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.running import Duration, Percent, execute_new
from dbhone.cli.stored import find_run, open_store
from dbhone.cli.words import numbers, words
from dbhone.errors import UsageError
from dbhone.experiment.history import HistoryRequest, choose_versions, history_text
from dbhone.experiment.joining import JoinRequest, joining_name, joining_text
from dbhone.experiment.load import parse
from dbhone.experiment.model import Experiment
from dbhone.files import write_whole
from dbhone.source.versions import known_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    versions: str | None
    suite: str | None
    size: str
    sets: str | None
    threads: str | None
    budget: float | None
    target: float
    seed: int
    refresh: bool
    output: Path | None
    join: str | None
    anchor: str | None


@click.command(
    "history",
    epilog="Examples: hone history mysql; hone history postgresql --versions 9.6,13,18 --budget"
    " 30m; hone history mysql --output mine.toml, then hone run mine.toml; hone history mysql"
    " --join 7 --versions 8.0.36, then hone report 7 last.",
)
@click.argument("dbms", metavar="DBMS")
@click.option(
    "--versions", metavar="A,B,…", help="Which; 8.0 is the newest known 8.0.  [default: usual ones]"
)
@click.option("--suite", help="What they do.  [default: sysbench:micro, for SQLite speedtest1]")
@click.option("--size", help="How large it is.  [default: quick]")
@click.option("--sets", metavar="A,B,…", help="Sets of the suite.  [default: all]")
@click.option("--threads", metavar="N,M,…", help="Numbers of clients.  [default: the size's]")
@click.option(
    "--budget", type=Duration(), help="Time for everything.  [default: 15m for each subject]"
)
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
@click.option("--join", metavar="RUN", help="Let the versions join this run's history.")
@click.option(
    "--anchor", metavar="VERSION", help="Version of that run to measure again.  [default: nearest]"
)
@pass_context
def command(context: Context, /, dbms: str, **options: Any) -> None:
    """Measure versions of DBMS side by side and tell where it became faster or slower.

    `hone versions` lists the versions that are known. All of them run at the same time and are
    measured in turn, block by block; the oldest is the base, and runs twice as the A/A control.

    With --join the versions join a history that was measured before, at the same work: beside
    them a version of that run is measured once more. `hone report RUN last` tells of both as one.
    """
    chosen = _Options(**options)
    experiment = (_new if chosen.join is None else _joining)(context, dbms, chosen)
    if chosen.output is not None:
        write_whole(chosen.output, experiment.text)
        context.err.print(
            f"wrote {chosen.output}: 'hone run {chosen.output}' executes it", soft_wrap=True
        )
        return
    execute_new(context, experiment, refresh=chosen.refresh)
    if chosen.join is not None:
        context.err.print(
            f"'hone report {chosen.join} last' tells of both runs as one history", soft_wrap=True
        )


def _new(context: Context, dbms: str, chosen: _Options) -> Experiment:
    if chosen.anchor is not None:
        raise UsageError("--anchor is for --join: the version by which new ones join a run")
    request = HistoryRequest(
        dbms=dbms,
        versions=choose_versions(known_versions(context.home), dbms, words(chosen.versions)),
        suite=chosen.suite,
        size=chosen.size or "quick",
        sets=words(chosen.sets),
        threads=numbers(chosen.threads),
        budget=chosen.budget,
        target=chosen.target,
        seed=chosen.seed,
    )
    return parse(history_text(request), name=f"{dbms}-history")


def _joining(context: Context, dbms: str, chosen: _Options) -> Experiment:
    said = [name for name in ("suite", "size", "threads") if getattr(chosen, name)]
    if said:
        raise UsageError(
            f"--{said[0]} cannot be chosen with --join: what joins a run does the same work"
        )
    known = known_versions(context.home)
    found = [known.find(dbms, word) for word in words(chosen.versions)]
    with open_store(context) as store:
        run = find_run(store, chosen.join or "")
    request = JoinRequest(
        run=run,
        dbms=dbms,
        versions=tuple(dict.fromkeys(found)),
        anchor=chosen.anchor,
        sets=words(chosen.sets),
        budget=chosen.budget,
        target=chosen.target,
        seed=chosen.seed,
    )
    return parse(joining_text(request), name=joining_name(request))


PLUGIN = command
