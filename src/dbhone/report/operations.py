"""What an operation takes a server: CPU, context switches, bytes; after Mark Callaghan's o.met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dbhone.measurement.record import Group, Role, Subject
from dbhone.report.context import (
    EMPTY,
    Portion,
    ReportContext,
    group_name,
    heading,
    serves,
    subject_row,
)
from dbhone.report.steps import LEAST_BYTES, OPERATIONS, Scale, bare_ratio
from dbhone.report.table import Cell, Row, Table, columns
from dbhone.report.wording import capital, figure, joined
from dbhone.units import size


def operations_table(context: ReportContext, portion: Portion, *, by_group: bool) -> Table | None:
    """Return what an operation takes, over all steps of a portion or also by group.

    Return None if the portion is not a server's, or if nothing of it was measured. A ratio to
    nearly nothing says nothing. So a metric has no column if the base's median step uses nearly
    nothing of it, such as bytes where all data is cached. A metric of which only some groups use
    enough has ratios for those alone.
    """
    groups = portion.groups
    by_group = by_group and len(groups) > 1
    shown_groups: tuple[Group | None, ...] = (None, *groups) if by_group else (None,)
    scales = [
        scale
        for scale in OPERATIONS
        if any(scale.reaches(_of_base(context, portion, group, scale)) for group in shown_groups)
    ]
    if not scales or not serves(portion.steps):
        return None
    rows: list[Row] = []
    for group in shown_groups:
        if by_group:
            rows.append(heading(group_name(group), 1 + len(scales)))
        rows += _rows(context, portion, group, scales)
    return Table(
        title=f"{'Per operation by group' if by_group else 'Per operation'}, {portion.name}",
        caption=f"{context.base}'s own figure, that of the median step; the others as ratios to it,"
        " geometric means over the steps, with an interval where a metric is compared."
        f"{_bare(context.base, scales)}",
        columns=columns("Subject", (f"{capital(scale.title)}, {scale.unit}" for scale in scales)),
        rows=tuple(rows),
    )


def _bare(base: str, scales: Sequence[Scale]) -> str:
    """Return how figures without an interval are read, and fields without a figure."""
    bare = [scale for scale in scales if scale.is_bare]
    if not bare:
        return ""
    titles = capital(joined([scale.title for scale in bare]))
    words = f" {titles}: bare ratios, of the steps where neither side is zero"
    if any(scale.least for scale in bare):
        enough = f"{base} takes {size(LEAST_BYTES)} or more"
        words = f"{words} and, of bytes, {enough}; empty where its median step takes less"
    return f"{words}."


def _rows(
    context: ReportContext, portion: Portion, group: Group | None, scales: Sequence[Scale]
) -> list[Row]:
    return [
        subject_row(subject, (_cell(context, subject, portion, group, scale) for scale in scales))
        for subject in context.subjects
    ]


def _cell(
    context: ReportContext, subject: Subject, portion: Portion, group: Group | None, scale: Scale
) -> Cell:
    own = _of_base(context, portion, group, scale)
    if subject.role is Role.BASE:
        return EMPTY if own is None else scale.cell(own)
    if not scale.reaches(own):
        return EMPTY
    if not scale.is_bare:
        return figure(context.find(subject, portion, group, scale.metric))
    ratios = [bare_ratio(context, subject, step, scale) for step in portion.of(group)]
    usable = [ratio for ratio in ratios if ratio is not None]
    return Cell(text=f"{statistics.geometric_mean(usable):.3f}") if usable else EMPTY


def _of_base(
    context: ReportContext, portion: Portion, group: Group | None, scale: Scale
) -> float | None:
    """Return the base's figure for the median step of a portion, None if it is not known."""
    known = [context.level(context.base, step, scale.metric) for step in portion.of(group)]
    values = [value for value in known if value is not None]
    return statistics.median(values) if values else None
