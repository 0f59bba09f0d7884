"""How latencies are distributed, as far as it is known: by three percentiles.

A suite of the family ``batch`` runs whole statements, whose latency is how long each took:
Kinoshita tabulates these seconds.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from dbhone.analysis.levels import Level
from dbhone.measurement.metric import LATENCY_P50, LATENCY_P95, LATENCY_P99, Metric
from dbhone.measurement.record import Role, Run, Step, Subject
from dbhone.report.context import EMPTY, Portion, ReportContext, heading, label, serves, subject_row
from dbhone.report.table import Cell, Row, Table, columns
from dbhone.report.wording import figure, number

PERCENTILES: tuple[Metric, ...] = (LATENCY_P50, LATENCY_P95, LATENCY_P99)
MILLISECONDS = 1e3
_FAMILY = "batch:"


def latency_table(context: ReportContext, portion: Portion) -> Table | None:
    """Return the percentiles of the steps of a portion, None if none was measured."""
    # What a batch runs is one statement: its seconds have a table of their own.
    if (
        is_batch(context.run)
        or not serves(portion.steps)
        or not any(
            _known(context, subject, step) for subject in context.subjects for step in portion.steps
        )
    ):
        return None
    return Table(
        title=f"Latency distributions, {portion.name}",
        caption="Half of the operations took less than the first figure, 95 % less than the "
        "second and 99 % less than the third, in milliseconds. Only these percentiles of a slice "
        "are kept, not all of its latencies. A figure is the typical one over the blocks; the "
        "data have each one's interval, and the 95th percentile's ratio has a table of its own.",
        columns=columns("Step", map(label, context.subjects)),
        rows=tuple(_rows(context, portion)),
    )


def _rows(context: ReportContext, portion: Portion) -> Iterator[Row]:
    for group in portion.groups:
        yield heading(group.value, 1 + len(context.subjects))
        for step in portion.of(group):
            cells = (_cell(context, subject, step) for subject in context.subjects)
            yield Row(cells=(Cell(text=step.name), *cells))


def _cell(context: ReportContext, subject: Subject, step: Step) -> Cell:
    """Return the percentiles side by side; – for one that is not known."""
    latencies = [context.level(subject, step, metric) for metric in PERCENTILES]
    if all(latency is None for latency in latencies):
        return EMPTY
    return Cell(
        text=" / ".join(
            "–" if latency is None else number(latency * MILLISECONDS) for latency in latencies
        )
    )


def _known(context: ReportContext, subject: Subject, step: Step) -> bool:
    return any(context.level(subject, step, metric) is not None for metric in PERCENTILES)


def ranges(levels: tuple[Level, ...]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the percentiles in milliseconds by subject and step, where all three are known."""
    level_ranges: dict[tuple[str, str], dict[str, float]] = {}
    names = [metric.name for metric in PERCENTILES]
    for level in levels:
        if level.metric in names and level.value > 0:
            place = level_ranges.setdefault((level.subject, level.step), {})
            place[level.metric] = level.value * MILLISECONDS
    return {place: values for place, values in level_ranges.items() if len(values) == len(names)}


def is_batch(run: Run) -> bool:
    """Return whether the steps of a run are whole statements."""
    return run.suite.startswith(_FAMILY)


def seconds_table(context: ReportContext) -> Table | None:
    """Return the seconds of each run by subject, None for suites that run no such statements.

    The last column is the throughput over all runs of a block, as a ratio to the base's.
    """
    if not is_batch(context.run) or not context.portions:
        return None
    return Table(
        title="Seconds",
        caption=(
            "Seconds of each run, a typical value over the blocks; each block is a load with"
            " random values of its own, the same for all subjects. The mean is over the runs of"
            f" a load; then their speed as a ratio to {context.base}'s. The runs of a load are not"
            " independent: they are one figure there, and the interval is over the loads."
        ),
        columns=columns(
            "Subject", (*(step.key or step.set for step in context.run.steps), "mean", "speed")
        ),
        rows=tuple(_second_rows(context)),
    )


def _second_rows(context: ReportContext) -> Iterator[Row]:
    for subject in context.subjects:
        seconds = [context.level(subject, step, LATENCY_P50) for step in context.run.steps]
        known = [value for value in seconds if value is not None]
        mean = Cell(text=number(statistics.fmean(known))) if known else EMPTY
        runs = (EMPTY if value is None else Cell(text=number(value)) for value in seconds)
        base = subject.role is Role.BASE
        speed = Cell(text="1") if base else figure(context.find(subject, context.portions[0]))
        yield subject_row(subject, (*runs, mean, speed))
