"""The tables that show a run's steps: held-out before in-sample, each from several sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbhone.analysis.history import History
from dbhone.report.context import ReportContext
from dbhone.report.history import group_table
from dbhone.report.operations import operations_table
from dbhone.report.sections import portion_table, spread_table
from dbhone.report.steps import metric_tables, statement_table, step_table
from dbhone.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTables:
    """A kind of tables each, one of every portion that has something to show.

    ``groups`` are by group, of those portions that have more than one step, by whether they are
    in-sample; ``spreads`` how the steps' ratios lie, ``steps`` the single steps, ``statements``
    what these consist of. Only servers have the others: ``operations`` (what an operation takes,
    over all steps, and by group) and ``metrics`` (single steps in other metrics).
    """

    groups: Mapping[bool, Table]
    spreads: tuple[Table, ...]
    statements: tuple[Table, ...]
    operations: tuple[Table, ...]
    operations_by_group: tuple[Table, ...]
    steps: tuple[Table, ...]
    metrics: tuple[Table, ...]


def step_tables(context: ReportContext, history: History | None) -> StepTables:
    """Return the tables of a run's steps; those by group show a ``history``'s changes."""
    portions = context.portions
    return StepTables(
        groups={
            it.in_sample: group_table(context, history, it)
            if history
            else portion_table(context, it)
            for it in portions
            if len(it.steps) > 1
        },
        spreads=present(spread_table(context, it) for it in portions),
        statements=present(statement_table(context, it) for it in portions),
        operations=present(operations_table(context, it, by_group=False) for it in portions),
        operations_by_group=present(
            operations_table(context, it, by_group=True) for it in portions
        ),
        steps=tuple(step_table(context, it) for it in portions),
        metrics=tuple(table for it in portions for table in metric_tables(context, it)),
    )


def present(tables: Iterable[Table | None]) -> tuple[Table, ...]:
    """Return those tables that there are and that have rows."""
    return tuple(table for table in tables if table is not None and table.rows)
