"""``hone plan FILE``: shows what an experiment would do."""

from __future__ import annotations

from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import json_option, print_json
from dbhone.cli.plan_view import lack_of_room, print_plan
from dbhone.cli.running import design_options, source_option, with_design
from dbhone.errors import MachineError
from dbhone.experiment.estimates import BuildEstimator
from dbhone.experiment.goals import check_folders, missing_for
from dbhone.experiment.load import load_named
from dbhone.experiment.model import Experiment
from dbhone.experiment.plan import Plan
from dbhone.experiment.planning import make_plan
from dbhone.experiment.shortage import shortage
from dbhone.requirements import Missing
from dbhone.source.known_versions import known_versions


@hone_command("plan", Task.MEASURE, "hone plan try", "hone plan mine.toml --budget 2h")
@click.argument("experiment", metavar="FILE", shell_complete=completing.experiments)
@source_option
@design_options
@json_option
@pass_context
def command(
    context: Context,
    /,
    experiment: str,
    sources: tuple[str, ...],
    *,
    as_json: bool,
    **design: Any,
) -> None:
    """Show what `hone run FILE` would do, and how long it would take. Does nothing."""
    loaded = load_named(experiment, known_versions(context.home), sources)
    declared = with_design(loaded, **design)
    if as_json:
        check_folders(declared)
        estimator = BuildEstimator(context.home)
        plan = make_plan(declared, estimator)
        lacking = missing_for(declared, estimator)
        print_json(
            context, _object(declared, plan, lacking, lack_of_room(declared, plan, context.home))
        )
        return
    print_plan(context, declared)


def _object(
    experiment: Experiment, plan: Plan, lacking: Missing, room: MachineError | None
) -> dict[str, object]:
    short = shortage(plan, experiment)
    return {
        "title": experiment.title,
        "suite": experiment.suite_label,
        "size": experiment.size,
        "budget_seconds": experiment.design.budget_seconds,
        "preparing_seconds": plan.preparing,
        "measuring_seconds": plan.measure.cost.seconds,
        "blocks": plan.blocks,
        "shortage": short.reason if short else None,
        "lack_of_room": room.message if room else None,
        "left_out": dict(plan.left_out),
        "left_out_for_lack_of_time": plan.tentative,
        "missing_packages": lacking.packages,
        "steps": [
            {
                "stage": step.stage.value,
                "what": step.label,
                "subjects": step.subjects,
                "seconds": step.cost.seconds,
                "done": step.cost.done,
                "tentative": step.tentative,
            }
            for step in plan.steps
        ],
    }


PLUGIN = command
