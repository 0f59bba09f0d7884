"""``hone experiments``: the experiments that ship."""

from __future__ import annotations

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option
from dbhone.experiment.declaration.load import load_shipped, shipped_names
from dbhone.experiment.declaration.model import Experiment
from dbhone.units import duration


@hone_command("experiments", Task.MANAGE, "hone experiments", "hone plan postgresql-builds")
@json_option
@pass_context
def command(context: Context, as_json: bool) -> None:
    """List the experiments that ship: `hone plan NAME` shows what one does."""
    shipped = [load_shipped(name) for name in shipped_names()]
    if as_json:
        print_json(context, [_object(experiment) for experiment in shipped])
        return
    figures = ("subjects", "budget")
    table = listing(
        "experiment",
        "title",
        "suite",
        *figures,
        right=figures,
        whole=("experiment", "suite", "budget"),
    )
    for experiment in shipped:
        table.add_row(
            experiment.name,
            experiment.title,
            experiment.workload.name,
            str(len(experiment.subjects)),
            duration(experiment.design.budget_seconds),
        )
    context.out.print(table)


def _object(experiment: Experiment) -> dict[str, object]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "suite": experiment.workload.name,
        "size": experiment.size,
        "subjects": [subject.name for subject in experiment.subjects],
        "budget_seconds": experiment.design.budget_seconds,
    }


PLUGIN = command
