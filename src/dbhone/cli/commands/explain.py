"""``hone explain RUN [SUBJECT] [STEP]``: says where the time of a step goes."""

from __future__ import annotations

from pathlib import Path

import click

from dbhone.analysis.explained_rounds import Work
from dbhone.analysis.verdict import most_different
from dbhone.cli import completing
from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import check_output, write_output
from dbhone.cli.options import force_option, output_option, yes_option
from dbhone.cli.setting_up import agree, ensure_installed
from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import experiment_of
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.execution.explaining import (
    Explained,
    explain,
    find_task,
    rebuilding,
)
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import missing_for_build, together
from dbhone.measurement.record import Run
from dbhone.measurement.stack_sampling import FREQUENCY, check_sampling, clock
from dbhone.report.explanation import Explanation, difference_folded, explanation, speedscope
from dbhone.report.flame import explanation_page
from dbhone.report.page import Page, build_page
from dbhone.report.terminal import show_table
from dbhone.units import duration

_NAMELESS = 0.9


@hone_command(
    "explain",
    Task.LOOK,
    "hone explain",
    "hone explain 7 lto+pgo update-index",
    "hone explain 7 --waits",
    "hone explain 7 --output why.html",
    "hone explain 7 --output stacks.speedscope.json",
)
@click.argument("run", default="last", shell_complete=completing.runs)
@click.argument("subject", required=False, shell_complete=completing.subjects)
@click.argument("step", required=False)
@click.option(
    "--seconds",
    type=click.IntRange(5, 3600),
    default=20,
    show_default=True,
    help="How long each of the two servers is sampled. A batch runs to its end at least once in"
    " each round, however long that takes.",
)
@click.option(
    "--rounds",
    type=click.IntRange(3, 1000),
    default=10,
    show_default=True,
    help="Number of rounds; confidence intervals are computed over rounds.",
)
@click.option(
    "--waits",
    is_flag=True,
    help="Tell what the servers' threads wait for, too, by the DBMS's own wait events. MySQL and"
    " MariaDB count them only with settings that slow them down, which they get.",
)
@output_option(
    "File to write: a page with a differential flame graph if it ends in .html, folded text of"
    " both servers' stacks if it ends in .folded, else speedscope's JSON."
)
@yes_option("Make builds that are no longer kept unasked.")
@force_option
@pass_context
def command(
    context: Context,
    run: str,
    subject: str | None,
    step: str | None,
    *,
    seconds: int,
    rounds: int,
    waits: bool,
    output: Path | None,
    yes: bool,
    force: bool,
) -> None:
    """Say why SUBJECT of RUN is faster or slower than the base at STEP.

    Both servers run the step once more, in alternating slices, while perf samples their stacks.
    Without STEP it is the step that differs most; without SUBJECT the subject that differs most
    there. Nothing of it is stored: sampled servers are slower. Builds that are no longer kept are
    made again, if you agree.
    """
    check_output(output, force=force)
    check_sampling()
    with open_store(context) as store:
        stored = find_run(store, run)
        page = build_page(stored, store.samples(stored.id))
    experiment = experiment_of(stored, context.home)
    if subject is not None:
        experiment.subject(subject)
    chosen, on = _chosen(page, subject, step)
    names = (experiment.base.name, chosen)
    if chosen == experiment.base.name:
        raise UsageError(f"{chosen} is the base, and would be compared with itself")
    task = find_task(experiment, on)
    _ensure_buildable(context, experiment, names, stored, yes=yes)
    with context.session() as session, build_service(context, session) as service:
        found = explain(
            experiment,
            names,
            task,
            service,
            rounds=rounds,
            seconds=float(seconds),
            waits=waits,
        )
    said = explanation(
        found.step,
        names,
        (found.base, found.subject),
        work=found.work,
        kinds=found.kinds,
        threads=found.threads,
        cores=page.run.machine.cores,
        settings=found.settings,
    )
    title = _title(names, found)
    _tell(context, title, said, found.named)
    if output is not None:
        write_output(output, _written(output, title, names, said, found), force=force)
        context.tell(f"wrote {output}")


def _ensure_buildable(
    context: Context, experiment: Experiment, names: tuple[str, str], run: Run, *, yes: bool
) -> None:
    """Install what builds of both servers lack, and ask before those that are gone are made."""
    both = [experiment.subject(name).inputs for name in names]
    estimator = BuildEstimator(context.home)
    lacking = together(missing_for_build(own, estimator, experiment.workload.name) for own in both)
    ensure_installed(context, lacking, "these servers")
    again = rebuilding(experiment, names, run, estimator)
    if again is not None:
        what, takes = " and ".join(again.subjects), duration(again.seconds)
        agree(f"build {what} again, which takes about {takes}", yes=yes)


def _written(
    output: Path, title: str, names: tuple[str, str], said: Explanation, found: Explained
) -> str | bytes:
    """Return what is written to a file of this name."""
    rounds = (found.base, found.subject)
    match output.suffix.lower():
        case ".html" | ".htm":
            return explanation_page(title, names, said, rounds)
        case ".folded":
            return difference_folded(rounds)
        case _:
            return speedscope(names, rounds, found.work)


def _chosen(page: Page, subject: str | None, step: str | None) -> tuple[str, str]:
    """Return the subject and step: what is not named is where throughput differs most."""
    if subject is not None and step is not None:
        return subject, step
    found = most_different(page.analysis, page.run.controls, subject=subject)
    if found is None and subject is not None:
        raise UsageError(f"nothing was compared of {subject}", hint="name a STEP as well")
    if found is None:
        raise UsageError("nothing was compared in this run", hint="name a SUBJECT and a STEP")
    return found.subject, found.step


def _title(names: tuple[str, str], found: Explained) -> str:
    base, subject = names
    rounds = f"{len(found.base)} rounds of each"
    if found.work is Work.RUN:
        runs = (sum(it.operations for it in own) for own in (found.base, found.subject))
        rounds += f" ({' and '.join(map(str, runs))} runs)"
    return (
        f"{found.step}: {subject} against {base}, {rounds}, sampled {FREQUENCY} times in a second"
        f" of CPU by {clock()}"
    )


def _tell(context: Context, title: str, said: Explanation, named: float) -> None:
    context.out.print(title)
    for table in said.tables:
        show_table(table, context.out)
    context.out.print()
    for sentence in said.sentences:
        context.out.print(sentence)
    if named < _NAMELESS:
        context.out.print(
            f"Of the servers' own code {1 - named:.0%} has no names: these programs have no"
            " symbol table, only the functions that they export."
        )


PLUGIN = command
