"""Seconds of runs that are one statement each, as Kinoshita tabulates them.

A suite of the family ``batch`` runs whole statements: a step's latency is how long it took.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from dbhone.measurement.metric import LATENCY_P50
from dbhone.measurement.record import Role, Run, Step
from dbhone.report.context import EMPTY, ReportContext, subject_row
from dbhone.report.table import Cell, Column, Row, Table
from dbhone.report.wording import figure, number

_FAMILY = "batch:"


def is_batch(run: Run) -> bool:
    """Return whether the steps of a run are whole statements."""
    return run.suite.startswith(_FAMILY)


def seconds_table(context: ReportContext) -> Table | None:
    """Return the seconds of each run by subject, None for suites that run no such statements.

    The last column is the throughput over all runs of a block, as a ratio to the base's.
    """
    if not is_batch(context.run) or not context.run.steps:
        return None
    return Table(
        title="Seconds",
        caption=(
            "Seconds of each run, a typical value over the blocks; each block is a load with"
            " random values of its own, the same for all subjects. The mean is over the runs of"
            f" a load; then their speed as a ratio to {context.base}'s. The runs of a load are not"
            " independent: they are one figure there, and the interval is over the loads."
        ),
        columns=(
            Column(title="Subject", numeric=False),
            *(Column(title=_title(step)) for step in context.run.steps),
            Column(title="mean"),
            Column(title="speed"),
        ),
        rows=tuple(_rows(context)),
    )


def _title(step: Step) -> str:
    return step.key or step.set


def _rows(context: ReportContext) -> Iterator[Row]:
    for subject in context.subjects:
        rates = [context.level(subject, step, LATENCY_P50) for step in context.run.steps]
        known = [rate for rate in rates if rate is not None]
        mean = Cell(text=number(statistics.fmean(known))) if known else EMPTY
        runs = (EMPTY if rate is None else Cell(text=number(rate)) for rate in rates)
        base = subject.role is Role.BASE
        speed = Cell(text="1") if base else figure(context.find(subject, context.parts()[0], None))
        yield subject_row(subject, (*runs, mean, speed))
