"""``hone history DBMS``: has it become faster or slower from version to version?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.generated import GeneratedOptions, generated_options, write_or_execute
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import words
from dbhone.errors import UsageError
from dbhone.experiment.declaration.join import joining_name, joining_text
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import OPTIONS, choose_versions, history_text
from dbhone.experiment.execution.earlier_sessions import check_unchanged, users_files
from dbhone.experiment.execution.run_lifecycle import check_machine
from dbhone.source.known_versions import KnownVersion, known_versions
from dbhone.source.tags import tagged_versions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options(GeneratedOptions):
    versions: str | None
    source: str | None
    every: int
    variant: str | None
    compiler: str | None
    join: str | None
    anchor: str | None


@hone_command(
    "history",
    Task.MEASURE,
    "hone history mysql",
    "hone history mysql --versions 5.6,5.7,8.0.12",
    "hone history sqlite --source git:URL --versions 3.38..3.45 --every 5",
    "hone history mysql --join 7 --versions 5.7.19",
)
@click.argument("dbms", shell_complete=completing.systems, metavar="DBMS")
@click.option(
    "--versions",
    metavar="A,B,…",
    shell_complete=completing.versions,
    help="Versions; 8.0 is the newest known 8.0.  [default: usual ones]",
)
@click.option(
    "--source", metavar="git:URL", help="Repository whose tags are the versions; A..B is a range."
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Take only every N-th version, and the last.",
)
@click.option(
    "--variant",
    metavar="VARIANT",
    shell_complete=completing.variants,
    help="How versions are compiled, such as rel+lto.  [default: rel]",
)
@click.option(
    "--compiler",
    shell_complete=completing.compilers,
    help="Compiler of all versions, by name or path.  [default: gcc]",
)
@generated_options
@click.option("--join", metavar="RUN", help="Let the versions join this run's history.")
@click.option(
    "--anchor", metavar="VERSION", help="Version of that run to measure again.  [default: nearest]"
)
@pass_context
def command(context: Context, /, dbms: str, **options: Any) -> None:
    """Measure versions of DBMS side by side and report where it became faster or slower.

    `hone versions` lists the versions that are known. All of them run at the same time and are
    measured one after the other, block by block; the oldest is the base, and runs twice as the
    A/A control.

    With --source a repository's releases are compiled, all by one compiler; one that cannot be
    compiled is left out, with the reason.

    With --join the versions join a history that was measured before, at the same work: beside
    them a version of that run is measured once more. `hone report RUN last` reports both as one.
    """
    request = _Options(**options)
    if request.source is None and request.every > 1:
        raise UsageError("--every is for --source: it leaves out releases of a repository")
    experiment = (_new if request.join is None else _joining)(context, dbms, request)
    joined = request.join
    if joined is not None:
        with open_store(context) as store:  # 'last' will be another run
            joined = str(find_run(store, joined).id)
    page = write_or_execute(context, experiment, request)
    if page is not None and joined is not None:
        context.tell(f"'hone report {joined} {page.run.id}' reports both runs as one history")


def _new(context: Context, dbms: str, options: _Options) -> Experiment:
    if options.anchor is not None:
        raise UsageError("--anchor is for --join: the version by which new ones join a run")
    text = history_text(
        dbms,
        _versions(context, dbms, options),
        options.workload,
        options.design,
        variant=options.variant,
        compiler=options.compiler,
        optional=options.source is not None,
    )
    return parse(text, name=f"{dbms}-history", options=OPTIONS)


def _versions(context: Context, dbms: str, options: _Options) -> tuple[KnownVersion, ...]:
    """Return the versions that are meant, the oldest first."""
    named = words(options.versions)
    if options.source is None:
        return choose_versions(known_versions(context.home), dbms, named)
    versions = tagged_versions(dbms, options.source, named, options.every)
    if len(versions) < 2:
        raise UsageError(
            f"a history needs two versions or more, and {versions[0].name} is one",
            hint="write --versions A..B, or A,B,…; without it all releases are taken",
        )
    return versions


def _joining(context: Context, dbms: str, options: _Options) -> Experiment:
    given_options = [
        name for name in ("suite", "data", "size", "threads") if getattr(options, name) is not None
    ]
    if given_options:
        raise UsageError(
            f"--{given_options[0]} cannot be chosen with --join: what joins a run does the same"
            " work"
        )
    for name in ("variant", "compiler"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"--{name} cannot be chosen with --join: what joins a run is compiled as its"
                " versions are"
            )
    named = words(options.versions)
    with open_store(context) as store:
        run = find_run(store, options.join or "")
    check_machine(run, context.home)
    known = known_versions(context.home)
    if options.source is not None:
        versions = tagged_versions(dbms, options.source, named, options.every)
    else:
        versions = tuple(known.find(dbms, word) for word in named)
    text = joining_text(
        run,
        dbms,
        tuple(dict.fromkeys(versions)),
        options.design,
        anchor=options.anchor,
        sets=words(options.sets),
        optional=options.source is not None,
    )
    name, home = joining_name(run, dbms), context.home
    experiment = parse(text, name=name, versions=known, home=home, options=OPTIONS)
    check_unchanged(run, users_files(experiment))
    return experiment


PLUGIN = command
