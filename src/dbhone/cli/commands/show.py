"""``hone show RUN``: what a run is and how far it is."""

from __future__ import annotations

import click
from rich.table import Table

from dbhone.analysis.severity import CONTROL_CODES
from dbhone.cli import completing
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import facts, headed, labelled
from dbhone.cli.listing import listing
from dbhone.measurement.invocation_rows import Progress
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.run_state import REASONS, state_of
from dbhone.report.findings import findings_of
from dbhone.report.resuming import how_to_continue
from dbhone.units import duration, exact_percent, size


@hone_command("show", Task.LOOK, "hone show last")
@click.argument("run", default="last", shell_complete=completing.runs)
@pass_context
def command(context: Context, run: str) -> None:
    """Show what RUN (a number, or `last`) compares, how far it is, and how it was made."""
    with open_store(context) as store:
        chosen_run = find_run(store, run)
        progress = store.progress(chosen_run.id)
        warnings = findings_of(chosen_run, store.samples(chosen_run.id)).warnings
    out = context.out
    out.print(headed(f"run {chosen_run.id}", chosen_run.title))
    state = state_of(context.home, chosen_run)
    out.print(_facts(chosen_run, state, progress))
    if chosen_run.subjects:
        out.print(_subjects(chosen_run))
    for warning in warnings:
        label = "warning" if warning.code in CONTROL_CODES else "note"
        out.print(labelled(label, warning.text))
    following = "" if state is RunState.RUNNING else how_to_continue(chosen_run)
    if following:
        out.print(following)
    elif progress.blocks:
        out.print(f"'hone report {chosen_run.id}' says what it found.")


def _facts(run: Run, state: RunState, progress: Progress) -> Table:
    design = run.design
    reason = f": {run.error}" if run.error and state is RunState.FAILED else ""
    rows = {
        "state": f"{state.value}{reason}",
        "stopped by": REASONS.get(run.stopped_by or "", ""),
        "began": f"{run.created_at.astimezone():%Y-%m-%d %H:%M:%S}",
        "worked": f"{duration(run.seconds)} of {duration(design.budget_seconds)}",
        "blocks": f"{progress.blocks} (at least {design.min_blocks}, at most {design.max_blocks})",
        "failed invocations": str(progress.failures),
        "suite": f"{run.suite}, {run.size}, {len(run.steps)} steps",
        "target": f"±{exact_percent(design.target)}",
        "seed": str(design.seed),
        "experiment": run.experiment_name,
        "machine": f"{run.machine.cpu_model}, {run.machine.cores} cores, {run.machine.kernel}",
        "hone": run.hone_version,
    }
    return facts((name, value) for name, value in rows.items() if value)


def _subjects(run: Run) -> Table:
    names = ("subject", "role", "variant", "compiler", "binary", "build")
    table = listing(*names, right=("binary",))
    for subject in run.subjects:
        table.add_row(
            subject.name,
            "broken" if subject.broken else subject.role.value,
            subject.variant,
            subject.compiler,
            size(subject.binary_bytes),
            subject.build_digest[:12],
        )
    return table


PLUGIN = command
