"""The tables that show a run's steps: part by part, held-out first, each from several sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbhone.analysis.history import History
from dbhone.report.context import ReportContext
from dbhone.report.history import group_table
from dbhone.report.operations import operations_table
from dbhone.report.sections import part_table, spread_table
from dbhone.report.steps import metric_tables, statement_table, step_table
from dbhone.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTables:
    """A kind of tables each, one of every part that has something to show.

    ``groups`` are by group, of those parts that have more than one step, by whether they are
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
    parts = context.parts()
    return StepTables(
        groups={
            part: group_table(context, history, part) if history else part_table(context, part)
            for part in parts
            if len(context.steps(in_sample=part)) > 1
        },
        spreads=present(spread_table(context, part) for part in parts),
        statements=present(statement_table(context, part) for part in parts),
        operations=present(operations_table(context, part, by_group=False) for part in parts),
        operations_by_group=present(
            operations_table(context, part, by_group=True) for part in parts
        ),
        steps=tuple(step_table(context, part) for part in parts),
        metrics=tuple(table for part in parts for table in metric_tables(context, part)),
    )


def present(tables: Iterable[Table | None]) -> tuple[Table, ...]:
    """Return those tables that there are and that have rows."""
    return tuple(table for table in tables if table is not None and table.rows)
