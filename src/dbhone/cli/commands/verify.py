"""``hone verify BUILD|RUN``: whether a build still answers right."""

from __future__ import annotations

import dataclasses

import click
from rich.table import Table

from dbhone.cli import completing
from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import headed
from dbhone.cli.listing import listing
from dbhone.cli.selecting import ChosenBuild, choose, find_build
from dbhone.cli.setting_up import ensure_installed
from dbhone.compilation.manifest import Build
from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import experiment_of
from dbhone.experiment.execution.verifying import usual_base, verify_build
from dbhone.requirements import missing
from dbhone.units import count_of, duration, listed
from dbhone.verification.outcome import Grade, Outcome
from dbhone.verification.verify import Verification, requirements_of_checks
from dbhone.workload.workload import Workload

_SHOWN = 10
_LINES = 12


@hone_command(
    "verify",
    Task.MEASURE,
    "hone verify last",
    "hone verify last --grade full",
    "hone verify 829f8 --again",
)
@click.argument(
    "what", metavar="BUILD|RUN", default="last", shell_complete=completing.builds_and_runs
)
@click.option(
    "--grade",
    type=click.Choice([grade.value for grade in Grade]),
    default=Grade.SMOKE.value,
    show_default=True,
    help="How thoroughly.",
)
@click.option(
    "--against",
    metavar="BUILD",
    shell_complete=completing.builds,
    help="The base.  [default: the run's; else the same source built as rel]",
)
@click.option(
    "--test", "names", multiple=True, metavar="NAME", help="Only this test; may be repeated."
)
@click.option("--again", is_flag=True, help="Repeat what was run before.")
@pass_context
def command(
    context: Context,
    what: str,
    grade: str,
    against: str | None,
    names: tuple[str, ...],
    again: bool,
) -> int:
    """Say whether a build, or the winner of RUN, still answers right.

    It runs the same tests as a base. What the base fails proves nothing; a build that fails
    what the base passes must not be used, and the exit code is 1. The results are kept, and
    no list of tests is run twice for a build. The winner of RUN has to answer that run's own
    workload, too.
    """
    chosen = choose(context, what)
    needed = requirements_of_checks(chosen.build.manifest.dbms, Grade(grade))
    ensure_installed(context, missing(needed), f"the grade {grade}")
    with context.session() as session, build_service(context, session) as service:
        base = _named_base(context, chosen.build, against) if against else chosen.base
        verification = Verification(
            candidate=chosen.build,
            base=base or usual_base(chosen.build, service),
            grade=Grade(grade),
            names=names,
            again=again,
        )
        workloads = () if names else _workloads(context, chosen)
        outcome = verify_build(verification, service, workloads)
    _show(context, verification, outcome)
    return 0 if outcome.passed else 1


def _named_base(context: Context, build: Build, against: str) -> Build:
    base = find_build(context.home, against)
    if base.digest == build.digest and not build.manifest.is_usual_base:
        raise UsageError(
            "any build passes what it passes itself: that would prove nothing",
            hint="leave --against out, or name another base",
        )
    return base


def _workloads(context: Context, chosen: ChosenBuild) -> tuple[Workload, ...]:
    """Return the usual workload, and the run's own if it is another and still there."""
    usual = Workload.usual(chosen.build.manifest.dbms)
    if chosen.run is None or chosen.run.suite == usual.name:
        return (usual,)
    try:
        experiment = experiment_of(chosen.run, context.home)
    except UsageError as error:
        text = f"the workload of run {chosen.run.id} is not asked: {error.message}"
        context.tell(headed("note", text))
        return (usual,)
    return (usual, dataclasses.replace(experiment.workload, sets=None))


def _show(context: Context, verification: Verification, outcome: Outcome) -> None:
    out = context.out
    out.print(headed("build", _named(verification.candidate)))
    out.print(headed("base ", _named(verification.base)))
    out.print(_lists(outcome))
    for failure in outcome.failures[:_SHOWN]:
        out.print(headed(failure.test, f"of {failure.check} {failure.list}", "bold red"))
        context.show_line("\n".join(failure.difference.splitlines()[:_LINES]))
    more = len(outcome.failures) - _SHOWN
    if more > 0:
        out.print(f"and {count_of(more, 'test')} more")
    if outcome.build == outcome.base:
        out.print(headed("note", "the build is its own base: name another with --against"))
    folder = context.home.verifications / outcome.build
    grade = outcome.grade.value
    if verification.names:
        grade = "these tests only"
    if outcome.passed:
        out.print(headed("passed", f"{grade}: whatever the base passes, the build passes"))
    else:
        context.show_line(headed("FAILED", f"{grade}: {outcome.reason()}", "bold red"))
    context.tell(f"logs and results: {folder}")


def _named(build: Build) -> str:
    manifest = build.manifest
    return f"{build.digest[:12]}, {manifest.dbms} {manifest.version}, {build.label}"


def _lists(outcome: Outcome) -> Table:
    figures = ("passed", "failed", "undecided", "took")
    table = listing("tests", "proves", "the base fails", *figures, right=figures, whole=figures)
    for tests in outcome.lists:
        table.add_row(
            tests.name,
            tests.evidence.value,
            listed(tests.base_failures) or "none",
            f"{tests.passed:,}",
            f"{len(tests.failures):,}",
            f"{len(tests.undecided):,}",
            duration(tests.seconds) if tests.seconds else "",
        )
    return table


PLUGIN = command
