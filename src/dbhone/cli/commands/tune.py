"""``hone tune SOURCE``: finds the fastest build of a source for a workload by itself."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.table import Table

from dbhone.cli import completing
from dbhone.cli.commands.plan import print_plan
from dbhone.cli.context import Context, open_store, pass_context
from dbhone.cli.generated import GeneratedOptions, asks_but_budget
from dbhone.cli.help import HoneCommand, Task
from dbhone.cli.lines import headed, labelled, write_output
from dbhone.cli.progress import shown
from dbhone.cli.running import Duration, Percent, check, perform, save_reports
from dbhone.dbms.base import load_dbms, system_names
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import HoneError, Interrupted, MachineError, UsageError
from dbhone.experiment.builds import BuildService, recognise
from dbhone.experiment.load import parse
from dbhone.experiment.model import Experiment
from dbhone.experiment.requirements import foresee_dbms
from dbhone.experiment.run_lifecycle import begin, take_over
from dbhone.experiment.templates import DesignOptions, parse_side
from dbhone.experiment.verifying import test_harness
from dbhone.home import Session
from dbhone.instance.memory import check_memory
from dbhone.measurement.record import Run
from dbhone.measurement.store import Store
from dbhone.report.page import Page
from dbhone.source.known_versions import known_versions
from dbhone.source.reference import kind_of, parse_reference
from dbhone.tuner.results import Brought, all_tried, waterfall
from dbhone.tuner.search import (
    Decision,
    Finished,
    Kind,
    Request,
    Stage,
    confirmation,
    has_ended,
    next_stage,
    rung,
)
from dbhone.tuner.space import Space, find_space
from dbhone.units import count_of, duration, size, whole_minutes
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import check_needs
from dbhone.workload import suite as suites
from dbhone.workload import suite_tasks
from dbhone.workload.task import Scale

_SERVER_BUDGET, _EMBEDDED_BUDGET = 2 * 3600.0, 15 * 60.0
_SCRATCH = 100
"""How many times as large as its code a build's objects are, at most."""
_KEPT = 10
"""How many times as large as its code a kept build is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options(GeneratedOptions):
    dbms: str | None
    train: tuple[str, ...]
    variants: tuple[str, ...]
    compilers: tuple[str, ...]
    levers: tuple[str, ...]
    grade: str
    allow_loss: float
    plan: bool


@click.command(
    "tune",
    cls=HoneCommand,
    task=Task.MEASURE,
    examples=(
        "hone tune apt:sqlite3",
        "hone tune apt:postgresql --workload sysbench:micro --budget 2h",
        "hone tune postgresql-15 --workload mine.hwl --data mine.dump --plan",
    ),
)
@click.argument("source", metavar="SOURCE")
@click.option("--dbms", metavar="DBMS", help="What it is, if the source does not tell.")
@click.option(
    "--budget",
    type=Duration(),
    help="Time for everything.  [default: 2h, for an embedded DBMS 15m]",
)
@click.option(
    "--train",
    multiple=True,
    metavar="SET",
    shell_complete=completing.completing(completing.sets),
    help="Set to train on; may be repeated.  [default: the suite's]",
)
@click.option(
    "--variant", "variants", multiple=True, help="Try this one; may be repeated.  [default: usual]"
)
@click.option(
    "--compiler",
    "compilers",
    multiple=True,
    help="Try this one, by name or path; may be repeated.  [default: the newest gcc and clang]",
)
@click.option(
    "--lever",
    "levers",
    multiple=True,
    help="Try this one on the best build; may be repeated; none for none.  [default: allocators,"
    " huge pages]",
)
@click.option(
    "--grade",
    type=click.Choice([grade.value for grade in Grade]),
    default=Grade.SMOKE.value,
    show_default=True,
    help="How thoroughly the winner is verified.",
)
@click.option(
    "--allow-loss",
    type=Percent(),
    default="3%",
    show_default=True,
    help="The loss that the winner may have for certain on a step; 99% is any.",
)
@click.option("--plan", is_flag=True, help="Tell what would be done, and how long; do nothing.")
@asks_but_budget
@pass_context
def command(context: Context, /, source: str, **options: Any) -> int:
    """Build SOURCE in many ways and find the build that is fastest for a workload.

    SOURCE is a source, such as apt:postgresql, the name of an installed package, or a DBMS.
    What promises most is built first; candidates that are worse are dropped, and those that are
    close are measured longer. Then the best is measured afresh against the plain build, and
    verified: only that run tells the gain. Exit code 1 means that no build is proved faster.

    Whatever ends it, the same command again goes on from what is finished; another --seed
    begins anew.
    """
    chosen = _Options(**options)
    request, space = _request(context, source, chosen)
    first = rung(request, request.candidates, 0, request.budget - request.reserve)
    if chosen.output is not None:
        write_output(chosen.output, first.text, force=chosen.force)
        return 0
    if chosen.plan:
        _print_plan(context, request, space, first)
        return 0
    with context.session() as session, open_store(context) as store:
        search = _Search(context, request, session, store, refresh=chosen.refresh)
        if not search.runs():
            _check(context, request, session, force=chosen.force)
        for name, reason in space.left_out.items():
            context.err.print(labelled("note", f"{name} is left out: {reason}"), soft_wrap=True)
        decision = search.run()
        return search.tell(decision, space.left_out)


class _Search:
    """Makes the runs of one search, and tells what came of it."""

    def __init__(
        self, context: Context, request: Request, session: Session, store: Store, *, refresh: bool
    ) -> None:
        self._context = context
        self._request = request
        self._session = session
        self._store = store
        self._refresh = refresh

    def run(self) -> Decision:
        """Make run after run until the search has ended."""
        while True:
            runs = self.runs()
            _check_source(runs)
            if runs and not has_ended(runs[-1]):
                self._resume(runs[-1])
                continue
            match next_stage(self._request, self._finished(runs)):
                case Decision() as decision:
                    return decision
                case stage:
                    self._begin(stage)

    def runs(self) -> list[Run]:
        """Return the runs of this search so far, in their order."""
        prefix = f"{self._request.name}-"
        return [
            self._store.run(summary.id)
            for summary in self._store.runs()
            if summary.experiment_name.startswith(prefix)
        ]

    def _finished(self, runs: Sequence[Run]) -> list[Finished]:
        return [Finished(run=run, samples=self._store.samples(run.id)) for run in runs]

    def _begin(self, stage: Stage) -> None:
        experiment = parse(stage.text, name=stage.name)
        run = begin(experiment, self._session, self._store)
        refresh = self._refresh and stage.kind is Kind.CHOOSE
        self._perform(experiment, run, refresh=refresh)

    def _resume(self, run: Run) -> None:
        take_over(run, self._session, self._store)
        self._perform(parse(run.experiment, name=run.experiment_name), run, refresh=False)

    def _perform(self, experiment: Experiment, run: Run, *, refresh: bool) -> None:
        self._context.err.print(headed(f"run {run.id}", experiment.title), soft_wrap=True)
        try:
            ended = perform(
                self._context,
                experiment,
                run,
                session=self._session,
                store=self._store,
                refresh=refresh,
            )
        except Interrupted as error:
            error.hint = "the same command again goes on"
            raise
        except HoneError:
            if not has_ended(self._store.run(run.id)):
                raise
            return
        _, written = save_reports(ended, self._store, self._session.home)
        self._context.err.print(labelled("report", str(written[0])), soft_wrap=True)

    def tell(self, decision: Decision, left_out: dict[str, str]) -> int:
        """Print how the search ended; return the exit code."""
        out, finished = self._context.out, self._finished(self.runs())
        out.print("What was tried (the ratios chose, and so they flatter)", style="bold")
        out.print(_table_of_tried(finished, decision, left_out))
        if decision.winner is None or decision.confirmed is None:
            out.print("\nNo build was found that is faster than the base.", style="bold")
            return 1
        stages = waterfall(self._request, finished, decision.winner)
        if stages:
            title = "What each stage brought on the way to it (from the choosing runs, too)"
            out.print(f"\n{title}", style="bold")
            out.print(_waterfall(stages))
        page, _ = save_reports(decision.confirmed.run, self._store, self._session.home)
        spent = sum(it.run.seconds for it in finished)
        return self._end(page, spent)

    def _end(self, page: Page, spent: float) -> int:
        out = self._context.out
        out.print(f"\nMeasured afresh, in {page.runs} alone: {page.headline}", style="bold")
        out.print(f"Trust: {page.trust.grade.value} ({page.trust.reason}).")
        out.print(f"The search took {duration(spent)}. 'hone report {page.run.id}' tells more.")
        if page.winner is None:
            return 1
        out.print(f"To deploy it: hone package {page.run.id}", soft_wrap=True)
        return 0


def _request(context: Context, source: str, options: _Options) -> tuple[Request, Space]:
    reference = _reference(source)
    side = parse_side(reference, known_versions(context.home))
    if side.variant.ready_made or kind_of(parse_reference(side.source).kind).ready_made:
        raise UsageError(
            f"{source} brings a ready-made server, which cannot be built in other ways",
            hint="name a source that brings the server's source, such as apt:postgresql",
        )
    dbms = load_dbms(options.dbms or side.dbms or _dbms_of(context, side.source))
    suite = options.workload.suite or dbms.usual_suite
    train = options.train or suites.load(suite).training
    if not train:
        raise UsageError(
            f"nothing says on which sets of {suite} builds are trained",
            hint="say it: --train SET; 'hone suites' lists the sets",
        )
    suites.full_names(suites.load(suite), train)
    space = find_space(dbms, options.variants, options.compilers, options.levers)
    is_server = isinstance(dbms, ServerDbms)
    budget = options.budget or (_SERVER_BUDGET if is_server else _EMBEDDED_BUDGET)
    request = Request(
        dbms=dbms,
        source=side.source,
        workload=options.workload,
        train=train,
        design=DesignOptions(budget=budget, target=options.target, seed=options.seed),
        candidates=space.candidates,
        levers=space.levers,
        grade=Grade(options.grade),
        tolerated=options.allow_loss,
    )
    return request, space


def _check_source(runs: Sequence[Run]) -> None:
    """Raise UsageError if the source is no longer what it was when the search began."""
    digests = {run.base.source_digest for run in runs if run.base is not None}
    if len(digests) > 1:
        raise UsageError(
            "the source is no longer what it was when the search began",
            hint="--seed 2 begins another search",
        )


def _reference(source: str) -> str:
    """Return the source reference that a word means: a DBMS's own, or a package's."""
    if ":" in source:
        return source
    return load_dbms(source).reference if source in system_names() else f"apt:{source}"


def _dbms_of(context: Context, reference: str) -> str:
    foreseen = foresee_dbms(reference)
    if foreseen is not None:
        return foreseen
    with context.session() as session, shown(context.err, verbose=context.verbose) as listen:
        return recognise(BuildService(session, listen).tree(reference).path)


def _check(context: Context, request: Request, session: Session, *, force: bool) -> None:
    """Refuse, before anything is built, what cannot end well here.

    Raises UsageError for a budget that is too small for one candidate, MachineError where memory
    or disk are too small, ToolError where the winner could not be verified.
    """
    alone = confirmation(request, request.candidates[0], 0, request.budget)
    check(context, parse(alone.text, name=alone.name), session, force=force)
    if request.budget <= request.reserve and not force:
        enough = whole_minutes(2 * request.reserve)
        raise UsageError(
            f"the budget of {duration(request.budget)} is too small: to verify the winner and to"
            f" measure it afresh takes {duration(request.reserve)}",
            hint=f"'--budget {enough}' would do, or a lower --grade; --force begins nevertheless",
        )
    with shown(context.err, verbose=context.verbose) as listen:
        harness = test_harness(BuildService(session, listen))
        check_needs(request.dbms.name, request.grade, harness)
    if isinstance(request.dbms, ServerDbms):
        suite = suites.load(request.workload.suite or request.dbms.usual_suite)
        cache = suite_tasks.cache_bytes(suite, Scale(size=request.workload.size))
        check_memory([cache] * (len(request.candidates) + 1))
    _check_disk(request, session)


def _check_disk(request: Request, session: Session) -> None:
    needed = request.dbms.text_bytes * (_SCRATCH + _KEPT * 3 * len(request.candidates))
    free = shutil.disk_usage(session.home.root).free
    if needed > free:
        raise MachineError(
            f"building {count_of(len(request.candidates), 'candidate')} needs about"
            f" {size(needed)} of disk, and {size(free)} are free below {session.home.root}",
            hint="try fewer with --variant and --compiler, or choose another folder with --home",
        )


def _print_plan(context: Context, request: Request, space: Space, first: Stage) -> None:
    print_plan(context, parse(first.text, name=first.name))
    for name, reason in space.left_out.items():
        context.out.print(f"Left out: {name}: {reason}.", soft_wrap=True)
    levers = f" With the best build these levers are tried: {', '.join(request.levers)}."
    context.out.print(
        "Then the better half of them is measured on, twice in twice as many blocks at most, while"
        f" there is time for choosing.{levers if request.levers else ''} Last the best is verified"
        f" at the grade {request.grade.value} and measured afresh against the base, for which"
        f" {duration(request.reserve)} of the budget of {duration(request.budget)} are kept.",
    )


def _table_of_tried(
    finished: Sequence[Finished], decision: Decision, left_out: dict[str, str]
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, right in (("candidate", False), ("ratio", True), ("blocks", True)):
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    table.add_column("fate", overflow="fold")
    for it in all_tried(finished, decision, left_out):
        ratio = "" if it.ratio is None else f"{it.ratio:.3f}"
        table.add_row(it.name, ratio, str(it.blocks or ""), it.fate)
    return table


def _waterfall(stages: Sequence[Brought]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stage")
    for heading in ("times", "95 % interval", "so far"):
        table.add_column(heading, justify="right")
    so_far = 1.0
    for it in stages:
        so_far *= it.ratio
        reach = "" if it.low is None else f"{it.low:.3f}–{it.high:.3f}"
        table.add_row(it.stage, f"{it.ratio:.3f}", reach, f"{so_far:.3f}")
    return table


PLUGIN = command
