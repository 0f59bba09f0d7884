"""``hone plan FILE``: shows what an experiment would do."""

from __future__ import annotations

from typing import Any

import click

from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.options import json_option
from dbhone.cli.plan_view import Foreseen, foresee, print_plan
from dbhone.cli.running import design_options, source_option, with_design
from dbhone.experiment.declaration.load import load_named
from dbhone.experiment.declaration.model import Experiment
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
        print_json(context, _object(declared, foresee(context, declared)))
    else:
        print_plan(context, declared)


def _object(experiment: Experiment, foreseen: Foreseen) -> dict[str, object]:
    plan, short, room = foreseen.plan, foreseen.shortage, foreseen.room
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
        "absent": {
            name: {"reason": error.message, "hint": error.hint}
            for name, error in foreseen.absent.items()
        },
        "left_out": dict(plan.left_out),
        "left_out_for_lack_of_time": plan.tentative,
        "missing_packages": foreseen.missing.packages,
        "data": [
            {
                "what": data.label,
                "load_seconds": data.load.seconds,
                "kept": data.load.done,
                "copy_seconds": data.copy_seconds,
                "bytes": data.size,
            }
            for data in plan.data
        ],
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
