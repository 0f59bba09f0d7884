"""``hone tune SOURCE``: finds the fastest build of a source for a workload by itself."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import click

from dbhone.analysis.trust import TrustGrade
from dbhone.cli import completing
from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.generated import GeneratedOptions, generated_options_without_budget
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import headed, in_command, labelled, write_output
from dbhone.cli.options import DURATION, PERCENT, dbms_option, train_option
from dbhone.cli.plan_view import print_plan
from dbhone.cli.running import check, dbms_of_tree, perform, save_reports
from dbhone.cli.setting_up import offer_installing
from dbhone.compilation.distribution_rules import has_rules
from dbhone.dbms.base import load_dbms
from dbhone.errors import HoneError, Interrupted
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.execution.verifying import test_harness
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import missing_for, together
from dbhone.experiment.plan.users_data import check_enclosed, check_users_data
from dbhone.measurement.record import Run, Subject
from dbhone.measurement.store import Store
from dbhone.report.page import Page
from dbhone.report.search import Search
from dbhone.report.terminal import show_table
from dbhone.session import Session
from dbhone.source.known_versions import known_versions
from dbhone.source.tree import kept_tree
from dbhone.tuner.chain import Chain, has_ended, runs_named
from dbhone.tuner.experiments import check_budget, check_room, confirmation, rung
from dbhone.tuner.inputs import Inputs, inputs_of
from dbhone.tuner.request import Request, find_source, make_request
from dbhone.tuner.results import results
from dbhone.tuner.search import (
    Decision,
    begun_elsewhere,
    keep_rejection,
    only_loses,
    run_search,
)
from dbhone.tuner.space import goals_for_more
from dbhone.units import duration
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import check_needs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options(GeneratedOptions):
    dbms: str | None
    train: tuple[str, ...]
    variants: tuple[str, ...]
    compilers: tuple[str, ...]
    levers: tuple[str, ...]
    packaging: Literal["deb"] | None
    grade: str | None
    allow_loss: float


@hone_command(
    "tune",
    Task.MEASURE,
    "hone tune apt:sqlite3",
    "hone tune apt:postgresql --workload sysbench:micro --budget 2h",
    "hone tune postgresql-15 --workload mine.workload --data mine.dump --plan",
)
@click.argument("source", metavar="SOURCE")
@dbms_option("the source")
@click.option(
    "--budget",
    type=DURATION,
    help="Time for everything.  [default: by how long builds take: SQLite 15m, PostgreSQL 2h,"
    " MariaDB and RocksDB 3h, MySQL 9h]",
)
@train_option
@click.option(
    "--variant",
    "variants",
    multiple=True,
    shell_complete=completing.variants,
    help="Try this one; may be repeated.  [default: usual]",
)
@click.option(
    "--compiler",
    "compilers",
    multiple=True,
    shell_complete=completing.compilers,
    help="Try this one, by name or path; may be repeated.  [default: the newest gcc and clang]",
)
@click.option(
    "--lever",
    "levers",
    multiple=True,
    shell_complete=completing.levers,
    help="Try this one on the best build; may be repeated; none for none.  [default: allocators,"
    " huge pages]",
)
@click.option(
    "--packaging",
    type=click.Choice(["deb"]),
    help="Build by the distribution's own rules, with all of its options, and by gcc alone.",
)
@click.option(
    "--grade",
    type=click.Choice([grade.value for grade in Grade]),
    help="How thoroughly the winner is verified.  [default: smoke, or answers where hone knows no"
    " regression tests]",
)
@click.option(
    "--allow-loss",
    type=PERCENT,
    default="3%",
    show_default=True,
    help="Largest certain loss that the winner may have on a step; 99% allows any.",
)
@generated_options_without_budget
@pass_context
def command(context: Context, /, source: str, **options: Any) -> int:
    """Build SOURCE in many ways and find the build that is fastest for a workload.

    SOURCE is a source, such as apt:postgresql, the name of a package, such as postgresql-15, or a
    DBMS.
    What promises most is built first; candidates that are worse are dropped, and those that are
    close are measured longer. Then the best is measured afresh against the plain build, and
    verified: only that run gives the gain. Exit code 1 means that no build is proved faster.

    Whatever ends it, the same command again continues from what is finished. Another --seed
    starts from the beginning, and so does another source or workload by the same words,
    or another kernel.
    """
    chosen = _Options(**options)
    ask_tree = partial(dbms_of_tree, context)
    reference, dbms = find_source(source, chosen.dbms, known_versions(context.home), ask_tree)
    _offer_tools(context, chosen)
    request = make_request(
        reference,
        dbms,
        workload=chosen.workload,
        train=chosen.train,
        design=chosen.design,
        variants=chosen.variants,
        compilers=chosen.compilers,
        levers=chosen.levers,
        packaging=chosen.packaging,
        grade=None if chosen.grade is None else Grade(chosen.grade),
        tolerated=chosen.allow_loss,
    )
    if not chosen.force:
        check_budget(request, BuildEstimator(context.home))
    first = rung(request, request.candidates, 0, request.for_choosing)
    check_users_data(first)
    if chosen.output is not None:
        write_output(chosen.output, first.text, force=chosen.force)
        context.tell(
            f"wrote {chosen.output}, the first run of the search:"
            f" 'hone run {in_command(chosen.output)}' executes it"
        )
        return 0
    if chosen.plan:
        _print_plan(context, request, first)
        return 0
    check_enclosed(first, missing_for(first, BuildEstimator(context.home)))
    return _search(context, request, first, chosen)


def _search(context: Context, request: Request, first: Experiment, chosen: _Options) -> int:
    """Search from the ``first`` run on, or continue; tell what was found; return the exit code."""
    with context.session() as session, open_store(context) as store:
        look = partial(_look, context, session)
        request = dataclasses.replace(request, inputs=look(first, refresh=chosen.refresh))
        if not runs_named(request.name, store):
            _tell_elsewhere(context, begun_elsewhere(request, store))
            _check(context, request, session, force=chosen.force)
        else:
            check_enclosed(first)
        for name, reason in request.left_out.items():
            context.tell(labelled("note", f"{name} is left out: {reason}"))

        def execute(experiment: Experiment, run: Run) -> None:
            ended = _execute(context, experiment, run, session, store)
            kept = keep_rejection(request, ended, store)
            _, written = save_reports(context, kept, store)
            for path in written[:1]:
                context.tell(labelled("report", str(path)))

        decision = run_search(request, session, store, execute, look)
        chain = Chain.of_runs(runs_named(request.name, store), store)
        found = results(chain, decision)
        _tell(context, found)
        if decision.confirmed is None:
            _tell_rejections(context, decision)
            best = next(iter(decision.rejected), "")
            if only_loses(chain, best, request.tolerated):
                context.out.print(
                    "If such a step does not matter to you, a larger '--allow-loss' allows more;"
                    " builds are kept."
                )
            return 1
        page, _ = save_reports(context, decision.confirmed.run, store, found)
        return _tell_gain(context, page, chain.seconds)


def _offer_tools(context: Context, chosen: _Options) -> None:
    """Offer to install the tools of builds that are often the fastest, unless others are named.

    A distribution's rules take none of them.
    """
    if chosen.packaging is not None:
        return
    absent = goals_for_more(chosen.variants, chosen.compilers)
    what = f"trying builds by {' and '.join(goal.name for goal in absent)}, often the fastest,"
    lacking = together(goal.missing for goal in absent)
    ask = not chosen.plan and chosen.output is None
    offer_installing(context, lacking, what, ask=ask)


def _tell_elsewhere(context: Context, run: Run | None) -> None:
    """Say that a search begins again where an earlier one of the same cannot be continued."""
    if run is None:
        return
    text = (
        f"the earlier search, last run {run.id}, was on another machine or kernel"
        f" ({run.machine.cpu_model}, {run.machine.kernel}). Only what was measured on one host can"
        " be compared, so another search begins; builds that are kept are used again"
    )
    context.tell(labelled("note", text))


def _check(context: Context, request: Request, session: Session, *, force: bool) -> None:
    """Refuse, before anything is built, what cannot end well here.

    Raises UsageError for a budget that is too small for one candidate, MachineError where memory
    or disk are too small, ToolError where the winner could not be verified.
    """
    alone = confirmation(request, request.candidates[0], 0, request.budget)
    check(context, alone, force=force)
    with build_service(context, session) as service:
        check_needs(request.dbms.name, request.grade, test_harness(service))
    check_room(request, BuildEstimator(session.home), session.home)


def _look(
    context: Context, session: Session, experiment: Experiment, *, refresh: bool = False
) -> Inputs:
    """Return what the source and the user's files are now, by a run that is to be made."""
    with build_service(context, session, refresh=refresh) as service:
        return inputs_of(experiment, service.tree(experiment.base.inputs.source))


def _execute(
    context: Context, experiment: Experiment, run: Run, session: Session, store: Store
) -> Run:
    """Execute a run of the search to its end, and return it; it has ended too if all broke."""
    context.tell(headed(f"run {run.id}", experiment.title))
    again = "the same command"
    try:
        return perform(context, experiment, run, session=session, store=store, again=again)
    except Interrupted:
        raise
    except HoneError:
        ended = store.run(run.id)
        if not has_ended(ended):
            raise
        return ended


def _tell(context: Context, found: Search) -> None:
    """Print what was tried, and what each stage of the winner brought."""
    show_table(found.candidates, context.out)
    if found.waterfall is not None:
        show_table(found.waterfall, context.out)


def _tell_rejections(context: Context, decision: Decision) -> None:
    """Print that there is no winner, and why the best candidate is none."""
    if not decision.rejected:
        context.out.print("\nNo build was found that is faster than the base.", style="bold")
        return
    name, reason = next(iter(decision.rejected.items()))
    context.out.print(
        f"\nNo build was found that is faster and may be used. The best, {name}, was rejected:"
        f" {reason}.",
        style="bold",
    )


def _tell_gain(context: Context, page: Page, spent: float) -> int:
    """Print what the confirming run found; return the exit code."""
    out = context.out
    out.print(f"\nMeasured afresh, in {page.runs} alone: {page.headline}", style="bold")
    if page.trust.grade is TrustGrade.GOOD:  # The headline tells of any other.
        out.print(f"Trust: good ({page.trust.reason}).")
    out.print(f"The search took {duration(spent)}. 'hone report {page.run.id}' shows more.")
    if page.winner is None:
        return 1
    context.show_line(f"To deploy it: hone package {page.run.id}")
    tree = kept_tree(page.winner.source_digest, context.home)
    packaged = tree is not None and has_rules(tree.path)
    if packaged and "deb" in load_dbms(page.winner.dbms).packagings:
        context.show_line(_as_debian_packages(page.run.id, page.winner))
    return 0


def _as_debian_packages(run: int, winner: Subject) -> str:
    """Return how a winner becomes Debian packages, whose rules take gcc's builds without BOLT."""
    if winner.compiler.startswith("gcc") and "bolt" not in winner.variant.split("+"):
        return f"As Debian packages: hone package {run} --form deb"
    return (
        "Debian packages are built by gcc and without BOLT: '--compiler gcc --variant lto+pgo'"
        " searches for a build that becomes one."
    )


def _print_plan(context: Context, request: Request, first: Experiment) -> None:
    print_plan(context, first)
    for name, reason in request.left_out.items():
        context.show_line(f"Left out: {name}: {reason}.")
    words = request.available_levers
    levers = f" With the best build these levers are tried: {', '.join(words)}."
    context.out.print(
        "Then the better half is measured again in twice as many blocks, and once more at most,"
        f" while there is time for choosing.{levers if words else ''} Finally the best"
        f" is verified at the grade {request.grade.value} and measured afresh against the base, for"
        f" which {duration(request.reserve)} of the budget of {duration(request.budget)} are kept.",
    )


PLUGIN = command
