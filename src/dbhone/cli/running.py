"""What the commands share that execute a run, with the options that say how."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, open_store
from dbhone.cli.lines import headed, labelled
from dbhone.cli.options import DURATION, PERCENT, with_options
from dbhone.cli.progress import shown
from dbhone.cli.setting_up import ensure_installed
from dbhone.errors import HoneError, Interrupted, NoSpaceError, StoreBusyError, UsageError
from dbhone.experiment.declaration.load import SOURCE_SYNTAX, recorded
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.schema import SEEDS
from dbhone.experiment.execution.execute import Execution
from dbhone.experiment.execution.run_lifecycle import begin
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import missing_for
from dbhone.experiment.plan.plan import PlanProgress
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.plan.room import check_room
from dbhone.experiment.plan.shortage import Shortage, shortage
from dbhone.experiment.plan.users_data import check_enclosed, check_inputs
from dbhone.files import write_whole
from dbhone.measurement.record import Run, StopReason
from dbhone.measurement.store import Store
from dbhone.report.formats.base import render
from dbhone.report.page import Page
from dbhone.report.search import Search
from dbhone.report.terminal import show
from dbhone.session import Session
from dbhone.source.known_versions import known_versions
from dbhone.source.recognise import recognise
from dbhone.tuner.results import page_of
from dbhone.units import whole_minutes

F = TypeVar("F", bound=Callable[..., Any])

_CAUTION = 1.25
"""By how much more than the expected time of its blocks a suggested budget is."""
SEED = click.IntRange(0, SEEDS, max_open=True)
"""A seed, as an experiment file takes it."""
source_option = click.option(
    "--source",
    "sources",
    multiple=True,
    metavar=SOURCE_SYNTAX,
    help="Take a source from elsewhere than FILE says, such as dir:~/src/mysql; may be repeated.",
)
_DESIGN = (
    click.option("--budget", type=DURATION, help="Time for everything, such as 8m."),
    click.option(
        "--target", type=PERCENT, help="Stop when every effect is known this precisely: 1%."
    ),
    click.option("--seed", type=SEED, help="Seed of the random order."),
)


def design_options(function: F) -> F:
    """Decorate a command with the options that say how to measure, instead of the file."""
    return with_options(_DESIGN, function)


def dbms_of_tree(context: Context, reference: str, *, refresh: bool = False) -> str:
    """Fetch a source; return the name of its DBMS. Raises SourceError if hone knows none.

    The user is told before, also where only a plan is wanted: it cannot be made without.
    """
    if refresh or not BuildEstimator(context.home).is_kept(reference):
        text = f"{reference} is fetched to see which DBMS it is; --dbms names it instead"
        context.tell(labelled("note", text))
    with context.session() as session, build_service(context, session, refresh=refresh) as service:
        tree = service.tree(reference)
        return recognise(tree.path, reference)


def with_design(
    experiment: Experiment,
    *,
    budget: float | None = None,
    target: float | None = None,
    seed: int | None = None,
) -> Experiment:
    """Return the experiment with what the command line says instead of the file."""
    said = {"budget_seconds": budget, "target": target, "seed": seed}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return dataclasses.replace(experiment, design=dataclasses.replace(experiment.design, **changes))


def execute_new(context: Context, experiment: Experiment, *, refresh: bool, force: bool) -> Page:
    """Begin a run of the experiment, execute it and print what it found.

    Nothing is made, not even the home folder, before the experiment is accepted. Raises UsageError
    for a budget that is unlikely to give a verdict, unless ``force``.
    """
    check(context, experiment, force=force)
    with context.session() as session, open_store(context) as store:
        experiment = recorded(experiment, session.home, known_versions(session.home))
        run = begin(experiment, session, store)
        context.tell(headed(f"run {run.id}", experiment.title))
        return execute(context, experiment, run, session=session, store=store, refresh=refresh)


def check(context: Context, experiment: Experiment, *, force: bool) -> None:
    """Check before anything begins that the machine and the budget are enough.

    Raises UsageError for a budget that is unlikely to give a verdict, unless ``force``.
    """
    estimator = BuildEstimator(context.home)
    check_inputs(experiment)
    lacking = missing_for(experiment, estimator)
    check_enclosed(experiment, lacking)
    ensure_installed(context, lacking, "this experiment")
    check_enclosed(experiment)
    plan = make_plan(experiment, estimator)
    check_room(experiment, plan, context.home)
    _tell_shortage(context, shortage(plan, experiment), "begins", force=force)


def check_rest(
    context: Context,
    experiment: Experiment,
    progress: PlanProgress,
    session: Session,
    *,
    force: bool,
) -> None:
    """Check that the budget is enough for the rest of a run, which has come so far.

    Raises UsageError for one that is unlikely to give more than there is, unless ``force``, and
    ToolError for data of the user's own that cannot be enclosed any more.
    """
    check_enclosed(experiment)
    plan = make_plan(experiment, BuildEstimator(session.home), progress)
    _tell_shortage(context, shortage(plan, experiment, progress), "continues", force=force)


def _tell_shortage(context: Context, short: Shortage | None, anyway: str, *, force: bool) -> None:
    """Say that a budget is or may be too small. Raises UsageError if it is, unless ``force``.

    ``anyway`` is what the command does with such a budget, in a verb.
    """
    if short is None:
        return
    if short.certain and not force:
        raise UsageError(short.reason, hint=f"{short.remedy}; --force {anyway} anyway")
    text = f"{short.reason}: {short.remedy}"
    context.tell(labelled("note", text, "bold yellow"))


def execute(
    context: Context,
    experiment: Experiment,
    run: Run,
    *,
    session: Session,
    store: Store,
    refresh: bool = False,
) -> Page:
    """Execute a run to its end and print what it found."""
    finished = perform(context, experiment, run, session=session, store=store, refresh=refresh)
    return present(context, finished, store)


def perform(
    context: Context,
    experiment: Experiment,
    run: Run,
    *,
    session: Session,
    store: Store,
    refresh: bool = False,
    again: str | None = None,
) -> Run:
    """Execute a run to its end, and return it as it is then.

    ``again`` is the command that continues it, in words, if that is not `hone resume`.
    """
    again = again or f"'hone resume {run.id}'"
    with shown(context.err, verbose=context.verbose) as listen:
        execution = Execution(experiment, run, session, store, listen, refresh=refresh)
        try:
            execution.execute()
        except KeyboardInterrupt:
            message = f"run {run.id} was interrupted; what is finished is kept"
            raise Interrupted(message, hint=f"{again} continues it") from None
        except HoneError as error:
            error.hint = _hint_in_run(error, again)
            raise
    return store.run(run.id)


def _hint_in_run(error: HoneError, again: str) -> str:
    """Return what to do about an error that ended a run, so that nothing finished is lost."""
    continues = f"{again} continues from what is finished"
    if error.hint is None:
        return continues
    if isinstance(error, NoSpaceError | StoreBusyError):
        return f"{error.hint}; {continues}"
    return error.hint


def present(context: Context, run: Run, store: Store) -> Page:
    """Write a finished run's reports, and print what it found, which is returned."""
    page, written = save_reports(context, run, store)
    for path in written:
        context.tell(labelled("report", str(path)))
    context.err.print()
    show(page, context.out)
    missing = page.needs.seconds(page.needs.verdict_blocks)
    if run.stopped_by == StopReason.BUDGET and missing:
        context.tell(f"\n{resume_hint(run, missing)}")
    return page


def save_reports(
    context: Context, run: Run, store: Store, search: Search | None = None
) -> tuple[Page, tuple[Path, ...]]:
    """Write a run's reports into its folder; return its page and their paths.

    ``search`` is what a search found whose winner the run measured, if more is known of it than
    the store keeps. If the reports cannot be written, a note says so, and there are no paths: what
    was found is in the store.
    """
    page = page_of(run, store, store.observations(run.id))
    if search is not None:
        page = dataclasses.replace(page, search=search)
    try:
        return page, write_reports(page, context.home.runs / str(run.id))
    except OSError as error:
        text = (
            f"the reports were not written ({error.strerror}): 'hone report {run.id}' shows what"
            " was found again"
        )
        context.tell(labelled("note", text, "bold yellow"))
        return page, ()


def resume_hint(run: Run, missing: float) -> str:
    """Say how a run comes to its verdict that lacks this many seconds of measuring."""
    budget = whole_minutes(run.seconds + missing * _CAUTION)
    return f"'hone resume {run.id} --budget {budget}' continues to a verdict."


def write_reports(page: Page, folder: Path) -> tuple[Path, ...]:
    """Write the HTML page and the JSON data of a run; return their paths."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    paths = []
    for name in ("html", "json"):
        path = folder / f"report.{name}"
        write_whole(path, render(page, name))
        paths.append(path)
    return tuple(paths)
