"""``hone resume RUN``: continues a run that was cut off, or whose budget was spent."""

from __future__ import annotations

import dataclasses

import click

from dbhone.cli import completing
from dbhone.cli.answering import answer
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import headed
from dbhone.cli.options import DURATION, force_small_budget_option, tolerance_option
from dbhone.cli.running import check_rest, execute, with_design
from dbhone.errors import UsageError
from dbhone.experiment.declaration.comparing import COMPARISON
from dbhone.experiment.declaration.load import experiment_of
from dbhone.experiment.execution.earlier_sessions import progress_of
from dbhone.experiment.execution.run_lifecycle import check_resumable, take_over


@hone_command("resume", Task.MEASURE, "hone resume last", "hone resume 7 --budget 2h")
@click.argument("run", default="last", shell_complete=completing.runs)
@click.option(
    "--budget", type=DURATION, help="Time for the whole run, including what it has already used."
)
@tolerance_option("  [default: the run's own]")
@force_small_budget_option
@pass_context
def command(
    context: Context, run: str, budget: float | None, tolerance: float | None, *, force: bool
) -> int | None:
    """Continue RUN (a number, or `last`) from what is finished.

    The run keeps its seed and its order, so it ends as if it had not been cut off. One that
    ended because its budget was spent measures more with a larger one. A run of `hone compare`
    ends with the exit codes of that command.
    """
    with open_store(context) as store, context.session() as session:
        chosen_run = find_run(store, run)
        compares = chosen_run.experiment_name == COMPARISON
        if tolerance is not None and not compares:
            raise UsageError(
                f"run {chosen_run.id} was not made by 'hone compare': --tolerance is only for those"
            )
        check_resumable(chosen_run, session, budget=budget)
        experiment = experiment_of(chosen_run, context.home)
        experiment = dataclasses.replace(experiment, design=chosen_run.design)
        experiment = with_design(experiment, budget=budget)
        # Its own budget was accepted when it began.
        force = force or budget is None
        check_rest(context, experiment, progress_of(chosen_run, store), session, force=force)
        take_over(chosen_run, session, store, budget=budget)
        context.tell(headed(f"run {chosen_run.id}", f"{chosen_run.title} (continued)"))
        page = execute(context, experiment, chosen_run, session=session, store=store)
    if not compares:
        return None
    return answer(context, page, experiment.tolerance if tolerance is None else tolerance)


PLUGIN = command
