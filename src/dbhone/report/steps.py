"""The tables of single steps: one metric, a row for each step, a column for each subject."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dbhone.analysis.ceiling import find_ceilings
from dbhone.measurement.metric import (
    BYTES_READ,
    BYTES_WRITTEN,
    CLIENT_CPU_SECONDS,
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    LATENCY_P95,
    METRICS,
    SYSTEM_SECONDS,
    THROUGHPUT,
    Metric,
)
from dbhone.measurement.record import Step, Subject
from dbhone.report.context import EMPTY, Portion, ReportContext, heading, label, serves
from dbhone.report.table import Cell, Column, Row, Table, columns, signed, text_row
from dbhone.report.wording import capital, number, step_figure
from dbhone.units import size

LEAST_BYTES = 64
"""A page of 16 KiB in 256 operations: below that it is by chance which subject has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How a metric's absolute figures are shown: the name and the size of its unit.

    ``least`` is the smallest figure of the base, in the metric's own unit, to which a bare ratio
    means something.
    """

    metric: Metric
    title: str
    unit: str
    factor: float = 1.0
    least: float = 0.0

    @property
    def is_bare(self) -> bool:
        """Whether ratios have no interval: the metric is shown but not compared."""
        return self.metric not in METRICS

    def reaches(self, value: float | None) -> bool:
        """Return whether the base takes enough for ratios to it."""
        return value is not None and value > 0 and value >= self.least

    def cell(self, value: float | None) -> Cell:
        """Return an absolute figure as a cell."""
        return EMPTY if value is None else Cell(text=number(value * self.factor))


RATE = Scale(metric=THROUGHPUT, title="throughput", unit="ops/s")
P95 = Scale(metric=LATENCY_P95, title="p95 latency", unit="ms", factor=1e3)
KERNEL = Scale(metric=SYSTEM_SECONDS, title="server CPU in the kernel", unit="µs/op", factor=1e6)
OPERATIONS = (
    Scale(metric=CPU_SECONDS, title="server CPU", unit="µs/op", factor=1e6),
    Scale(metric=CLIENT_CPU_SECONDS, title="client CPU", unit="µs/op", factor=1e6),
    Scale(metric=CONTEXT_SWITCHES, title="context switches", unit="per op"),
    Scale(metric=BYTES_READ, title="read", unit="KiB/op", factor=1 / 1024, least=LEAST_BYTES),
    Scale(metric=BYTES_WRITTEN, title="written", unit="KiB/op", factor=1 / 1024, least=LEAST_BYTES),
)
"""What an operation takes, in the order in which it is shown."""


def step_table(context: ReportContext, portion: Portion) -> Table:
    """Return the throughput of each step: the base's own if it is a server, and the ratios."""
    return _table(context, RATE, portion, title=f"Steps, {portion.name}")


def statement_table(context: ReportContext, portion: Portion) -> Table | None:
    """Return the parts of the steps, None if there are none: what took most time comes first."""
    parts = [step for step in portion.steps_with_parts if step not in portion.steps]
    measured = [step for step in parts if context.level(context.base, step, THROUGHPUT) is not None]
    if not measured:
        return None
    return Table(
        title=f"Statements, {portion.name}",
        caption="Executions of each kind of statement in a second of the clients' time that it"
        f" took: {context.base}'s own, then the others' as a ratio to {context.base}'s. They"
        " stand in the workload's order: if it was captured, what took most time comes first.",
        columns=(
            *columns("Statement", (f"{context.base}, per s", *map(label, context.others))),
            Column(title="Text", numeric=False),
        ),
        rows=tuple(_statement_row(context, step) for step in measured),
    )


def _statement_row(context: ReportContext, step: Step) -> Row:
    own = RATE.cell(context.level(context.base, step, THROUGHPUT))
    ratios = (ratio_cell(context, subject, step, RATE) for subject in context.others)
    return Row(cells=(Cell(text=step.name), own, *ratios, Cell(text=step.title)))


def metric_tables(context: ReportContext, portion: Portion) -> tuple[Table, ...]:
    """Return like tables of servers' other metrics, for those that were measured."""
    if not serves(portion.steps):
        return ()
    tables = (
        _table(
            context, scale, portion, title=f"{capital(scale.title)} of each step, {portion.name}"
        )
        for scale in (P95, *OPERATIONS, KERNEL)
        if any(
            scale.reaches(context.level(context.base, step, scale.metric)) for step in portion.steps
        )
    )
    ceilings = _ceiling_table(context, portion)
    return (*tables, *([ceilings] if ceilings is not None else []))


def _ceiling_table(context: ReportContext, portion: Portion) -> Table | None:
    """Return the base's CPU time by kind, and how much faster each subject could still get."""
    found = {
        (ceiling.subject, ceiling.step): ceiling
        for ceiling in find_ceilings(
            context.levels.values(), portion.steps, context.run.machine.cores
        )
    }
    rows = []
    for step in portion.steps:
        own = found.get((context.base, step.name))
        if own is not None:
            times = (number(it * 1e6) for it in (own.user, own.system, own.client))
            ratios = (found.get((subject.name, step.name)) for subject in context.subjects)
            bounds = (f"{it.ratio:.2f}" if it and math.isfinite(it.ratio) else "" for it in ratios)
            rows.append(text_row(step.name, *times, *bounds))
    if not rows:
        return None
    return Table(
        title=f"Ceiling of each step, {portion.name}",
        caption=f"How many times faster a step could get at most, if its server's own code and"
        f" libraries took no time. Before it, what an operation takes {context.base}: CPU time in"
        " user mode, in the kernel, and of the client, which no build of the server changes.",
        columns=columns(
            "Step",
            (
                *("User, µs/op", "Kernel, µs/op", "Client, µs/op"),
                *(f"Ceiling of {subject.name}" for subject in context.subjects),
            ),
        ),
        rows=tuple(rows),
    )


def _table(context: ReportContext, scale: Scale, portion: Portion, *, title: str) -> Table:
    absolute = bool(context.base) and serves(portion.steps)
    base = [f"{context.base}, {scale.unit}"] if absolute else []
    what = capital(scale.title) if scale is RATE else f"{capital(scale.title)} (less is better)"
    own = f": {context.base}'s own, then the others'" if absolute else ""
    empty = (
        f" Empty where {context.base} takes less than {size(scale.least)}." if scale.least else ""
    )
    return Table(
        title=title,
        caption=f"{what} of each step{own} as a ratio to {context.base}'s.{empty}",
        columns=columns("Step", (*base, *map(label, context.others))),
        rows=tuple(_rows(context, scale, portion, absolute=absolute)),
    )


def _rows(
    context: ReportContext, scale: Scale, portion: Portion, *, absolute: bool
) -> Iterator[Row]:
    width = 1 + absolute + len(context.others)
    for group in portion.groups:
        yield heading(group.value, width)
        for step in portion.of(group):
            own = [scale.cell(context.level(context.base, step, scale.metric))] if absolute else []
            ratios = (_signed_cell(context, subject, step, scale) for subject in context.others)
            yield Row(cells=(Cell(text=step.name, detail=step.title), *own, *ratios))


def _signed_cell(context: ReportContext, subject: Subject, step: Step, scale: Scale) -> Cell:
    """Return the ratio; in a history with a sign where throughput changed."""
    sign = context.arrows.get((subject.name, step.name), "") if scale is RATE else ""
    return signed(ratio_cell(context, subject, step, scale), sign)


def ratio_cell(context: ReportContext, subject: Subject, step: Step, scale: Scale) -> Cell:
    """Return the effect, or the bare ratio to the base if the metric is not compared."""
    if not scale.is_bare:
        return step_figure(context.effect(subject, step, scale.metric))
    ratio = bare_ratio(context, subject, step, scale)
    return EMPTY if ratio is None else Cell(text=f"{ratio:.3f}")


def bare_ratio(context: ReportContext, subject: Subject, step: Step, scale: Scale) -> float | None:
    """Return the ratio of two levels, None where one is missing or zero, or the base's too low."""
    mine, base = (
        context.level(subject, step, scale.metric),
        context.level(context.base, step, scale.metric),
    )
    return mine / base if mine and base and scale.reaches(base) else None
