"""Throughput and latency over a growing number of clients, as hiroi10 tabulates them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbhone.measurement.record import Role, Run, Step
from dbhone.report.context import ReportContext, subject_row
from dbhone.report.steps import P95, RATE, Scale
from dbhone.report.table import Cell, Row, Table, columns
from dbhone.report.wording import short_figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One workload at several numbers of threads, and its steps."""

    workload: str
    steps: tuple[Step, ...]


def sweep_note(context: ReportContext) -> str:
    """Return how the tables of the sweeps are read."""
    return (
        "From left to right the number of threads, that is of clients at work at once. A "
        f"subject's own figure is its typical value over the blocks; below it is its ratio to "
        f"{context.base}'s in the same block, which is known better than the two figures are."
    )


def sweeps(context: ReportContext) -> tuple[Sweep, ...]:
    """Return the workloads that were measured at more than one number of threads."""
    return tuple(
        Sweep(workload=name, steps=tuple(steps)) for name, steps in _threaded(context.run).items()
    )


def _threaded(run: Run) -> dict[str, list[Step]]:
    """Return the steps of each such workload by its name, by growing number of threads."""
    steps_by_set: dict[str, list[Step]] = {}
    for step in run.steps:
        if step.threads is not None:
            name = f"{step.suite_set}/{step.key}" if step.key else step.suite_set
            steps_by_set.setdefault(name, []).append(step)
    return {
        name: sorted(steps, key=lambda step: step.threads or 0)
        for name, steps in steps_by_set.items()
        if len({step.threads for step in steps}) > 1
    }


def sweep_tables(context: ReportContext, sweep: Sweep) -> tuple[Table, ...]:
    """Return a sweep's throughput and, if it was measured, its latency."""
    timed = any(
        context.level(subject, step, P95.metric)
        for subject in context.subjects
        for step in sweep.steps
    )
    return tuple(_table(context, sweep, scale) for scale in ((RATE, P95) if timed else (RATE,)))


def sweep_title(sweep: Sweep, scale: Scale) -> str:
    """Return the title of one metric of a sweep."""
    return f"{sweep.workload}: {scale.title} in {scale.unit}"


def _table(context: ReportContext, sweep: Sweep, scale: Scale) -> Table:
    known = {step.in_sample for step in sweep.steps}
    trained = [portion.name for portion in context.portions if portion.in_sample in known]
    which = f" ({' and '.join(trained)})" if len(context.portions) > 1 else ""
    better = "more is better" if scale is RATE else "less is better"
    return Table(
        title=sweep_title(sweep, scale),
        caption=f"{sweep.steps[0].title}{which}; {better}.",
        columns=columns("Threads", (str(step.threads) for step in sweep.steps)),
        rows=tuple(_rows(context, sweep.steps, scale)),
        folded=True,
    )


def _rows(context: ReportContext, steps: Sequence[Step], scale: Scale) -> Iterator[Row]:
    for subject in context.subjects:
        absolute = (scale.cell(context.level(subject, step, scale.metric)) for step in steps)
        yield subject_row(subject, absolute)
        if subject.role is not Role.BASE:
            ratios = (short_figure(context.effect(subject, step, scale.metric)) for step in steps)
            name = Cell(text=f"{subject.name} ÷ {context.base}")
            yield Row(cells=(name, *ratios), control=subject.role is Role.CONTROL)
