"""How a plan is printed: what an experiment would do, step by step, and what it lacks here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from rich.table import Table

from dbhone.cli.context import Context
from dbhone.cli.lines import labelled
from dbhone.cli.listing import listing
from dbhone.errors import HoneError, MachineError
from dbhone.experiment.declaration.model import Experiment, Servers, SubjectDeclaration
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import missing_for
from dbhone.experiment.plan.plan import DataCost, Plan, PlanStep, Verify, checks_of
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.plan.room import check_room
from dbhone.experiment.plan.shortage import Shortage, shortage
from dbhone.experiment.plan.users_data import check_enclosed, check_inputs
from dbhone.home import Home
from dbhone.report.wording import capital
from dbhone.requirements import Missing
from dbhone.units import count_of, duration, exact_percent, size


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What an experiment would do, and what it lacks here.

    ``room`` says why memory or disk are not enough. ``absent`` has the subjects that cannot be
    measured on this machine, and why.
    """

    plan: Plan
    shortage: Shortage | None
    room: MachineError | None
    absent: Mapping[str, HoneError]
    missing: Missing


def foresee(context: Context, declared: Experiment) -> Foreseen:
    """Return what an experiment would do. Raises UsageError, ToolError for data not taken here."""
    check_inputs(declared)
    estimator = BuildEstimator(context.home)
    lacking = missing_for(declared, estimator)
    check_enclosed(declared, lacking)
    plan = make_plan(declared, estimator)
    errors = {one.name: estimator.absence(declared, one) for one in declared.subjects}
    return Foreseen(
        plan=plan,
        shortage=shortage(plan, declared),
        room=_lack_of_room(declared, plan, context.home),
        absent={name: error for name, error in errors.items() if error is not None},
        missing=lacking,
    )


def print_plan(context: Context, declared: Experiment) -> None:
    """Print what an experiment would do, step by step, and what this machine lacks for it."""
    foreseen = foresee(context, declared)
    plan = foreseen.plan
    context.out.print(declared.title, style="bold")
    context.out.print(_table(plan))
    design = declared.design
    budget = f"the budget of {duration(design.budget_seconds)} is spent"
    until = (
        f"{count_of(design.max_blocks, 'block')}, unless {budget} before"
        if design.min_blocks == design.max_blocks
        else f"at least {design.min_blocks} and at most {design.max_blocks}, until every effect is"
        f" known to ±{exact_percent(design.target)} or {budget}"
    )
    context.out.print(
        f"{declared.suite_label} ({declared.size}) is measured on all subjects in random order,"
        f" block after block: {until}."
    )
    if declared.servers is Servers.ONE:
        context.out.print(
            "One server is up at a time: restarts are its replicates, what is compared is"
            " measured minutes apart, and noise that lasts that long is in every effect."
        )
    for data, times in Counter(_data(data) for data in plan.data).items():
        context.show_line(f"Data{f', {times} times' if times > 1 else ''}: {data}.")
    measuring = plan.measure.cost.seconds
    if measuring > 0:
        context.out.print(
            f"Expected: {duration(plan.preparing)} to prepare, {duration(measuring)} to measure"
            f"{_blocks(plan)}."
        )
    if plan.tentative:
        names = ", ".join(plan.tentative)
        context.out.print(f"Left out, unless all else takes less time than expected: {names}.")
    short, room, lacking = foreseen.shortage, foreseen.room, foreseen.missing
    if short is not None:
        context.show_line(f"{capital(short.reason)}: {short.remedy}.")
    if room is not None:
        context.show_line(labelled("warning", room.message, "bold yellow"))
        context.show_line(labelled("next", room.hint or ""))
    for subject in declared.subjects:
        if subject.name in foreseen.absent:
            _warn(context, subject, foreseen.absent[subject.name])
    if lacking:
        context.show_line(
            labelled("warning", f"this machine lacks {lacking.describe()}", "bold yellow")
        )
        context.show_line(labelled("next", lacking.advice()))


def _lack_of_room(experiment: Experiment, plan: Plan, home: Home) -> MachineError | None:
    """Return why memory or disk are not enough, None if they are."""
    try:
        check_room(experiment, plan, home)
    except MachineError as error:
        return error
    return None


def _warn(context: Context, subject: SubjectDeclaration, error: HoneError) -> None:
    fate = "would be left out" if subject.optional else "cannot be measured here"
    context.show_line(labelled("warning", f"{subject.name} {fate}: {error.message}", "bold yellow"))
    if error.hint is not None:
        context.show_line(labelled("next", error.hint))


def _blocks(plan: Plan) -> str:
    block = plan.measure.block_seconds
    if block is None:
        return "; how long a block takes, only calibration tells"
    return f", {duration(block)} a block: {count_of(plan.blocks or 0, 'block')}"


def _data(data: DataCost) -> str:
    """Say what loaded data costs, and whether that is a guess."""
    load = f"loaded in about {duration(data.load.seconds)}"
    if data.load.done:
        load = "kept from before"
    elif data.load.guessed:
        load += " (a guess: nothing like it was loaded here)"
    copy = f"copied in about {duration(data.copy_seconds)}" if data.copy_seconds >= 1 else "copied"
    return f"{data.label}, {load}, {copy} for each start of a server; {size(data.size)} each"


def _table(plan: Plan) -> Table:
    table = listing("#", "stage", "what", "expected", right=("#", "expected"))
    number = 1
    for alike in _rows(plan):
        first = alike[0]
        if isinstance(first, Verify) and len(alike) > 1:
            table.add_row(
                f"{number}–{number + len(alike) - 1}",
                first.stage.value,
                f"{len(alike)} subjects: {checks_of(first.grade)}",
                _expected_together(alike),
            )
        else:
            table.add_row(str(number), first.stage.value, first.label, _expected(first))
        number += len(alike)
    return table


def _rows(plan: Plan) -> Iterator[tuple[PlanStep, ...]]:
    """Yield the steps, the verifications of all subjects together."""
    for verifies, group in groupby(plan.steps, lambda step: isinstance(step, Verify)):
        steps = tuple(group)
        yield from [steps] if verifies else ((step,) for step in steps)


def _expected_together(steps: tuple[PlanStep, ...]) -> str:
    seconds = sum(step.cost.seconds for step in steps if not step.tentative)
    return f"about {duration(seconds)}" if seconds else "done"


def _expected(step: PlanStep) -> str:
    if step.cost.done:
        return "done"
    about = f"about {duration(step.cost.seconds)}" if step.cost.seconds else "a moment"
    return f"{about}, if there is time" if step.tentative else about
