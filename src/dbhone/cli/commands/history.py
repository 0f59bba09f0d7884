"""``hone history DBMS``: has it become faster or slower from version to version?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.generated import GeneratedOptions, asks, write_or_execute
from dbhone.cli.help import HoneCommand, Task
from dbhone.cli.lines import words
from dbhone.errors import UsageError
from dbhone.experiment.join import JoinRequest, joining_name, joining_text
from dbhone.experiment.load import parse
from dbhone.experiment.model import Experiment
from dbhone.experiment.templates import HistoryRequest, choose_versions, history_text
from dbhone.source.known_versions import known_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options(GeneratedOptions):
    versions: str | None
    join: str | None
    anchor: str | None


@click.command(
    "history",
    cls=HoneCommand,
    task=Task.MEASURE,
    examples=(
        "hone history mysql",
        "hone history mysql --versions 5.6,5.7,8.0.12",
        "hone history mysql --join 7 --versions 5.7.19",
    ),
)
@click.argument("dbms", shell_complete=completing.completing(completing.systems), metavar="DBMS")
@click.option(
    "--versions", metavar="A,B,…", help="Which; 8.0 is the newest known 8.0.  [default: usual ones]"
)
@asks
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
    request = _Options(**options)
    experiment = (_new if request.join is None else _joining)(context, dbms, request)
    page = write_or_execute(context, experiment, request)
    if page is not None and request.join is not None:
        context.err.print(
            f"'hone report {request.join} last' tells of both runs as one history", soft_wrap=True
        )


def _new(context: Context, dbms: str, options: _Options) -> Experiment:
    if options.anchor is not None:
        raise UsageError("--anchor is for --join: the version by which new ones join a run")
    request = HistoryRequest(
        dbms=dbms,
        versions=choose_versions(known_versions(context.home), dbms, words(options.versions)),
        workload=options.workload,
        design=options.design,
    )
    return parse(history_text(request), name=f"{dbms}-history")


def _joining(context: Context, dbms: str, options: _Options) -> Experiment:
    given_options = [
        name for name in ("suite", "size", "threads") if getattr(options, name) is not None
    ]
    if given_options:
        raise UsageError(
            f"--{given_options[0]} cannot be chosen with --join: what joins a run does the same"
            " work"
        )
    known = known_versions(context.home)
    versions = [known.find(dbms, word) for word in words(options.versions)]
    with open_store(context) as store:
        run = find_run(store, options.join or "")
    request = JoinRequest(
        run=run,
        dbms=dbms,
        versions=tuple(dict.fromkeys(versions)),
        anchor=options.anchor,
        sets=words(options.sets),
        design=options.design,
    )
    return parse(joining_text(request), name=joining_name(request))


PLUGIN = command
