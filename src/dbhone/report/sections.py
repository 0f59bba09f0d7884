"""What a page consists of: its sections in the order in which every format shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dbhone.report.builds import build_tables
from dbhone.report.history import changes_table, group_table
from dbhone.report.latencies import latency_table, seconds_table
from dbhone.report.operations import operations_table
from dbhone.report.page import Page
from dbhone.report.published_comparison import published_table
from dbhone.report.run_tables import metrics_table, portion_table, spread_table, subject_table
from dbhone.report.server_series import server_series_note
from dbhone.report.settings import defaults_table, settings_table
from dbhone.report.steps import metric_tables, statement_table, step_table
from dbhone.report.sweep import sweep_note, sweep_tables, sweeps
from dbhone.report.table import Table

SUMMARY = "summary"
"""The section with which a page begins."""
_MOST_ROWS, _MOST_FIELDS = 45, 300
"""Of the steps' tables, where they are to fit on a page's first screens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Tables below one heading, and ``note``, how they are read.

    ``brief`` are those that a terminal shows unless it is asked for all, None if these are all
    tables; ``other_metrics`` are like tables in other metrics, which HTML alone has. In HTML it may
    be ``folded``; in the contents there its name may be shorter, ``link``.
    """

    id: str
    title: str
    tables: tuple[Table, ...]
    brief: tuple[Table, ...] | None = None
    other_metrics: tuple[Table, ...] = ()
    note: str = ""
    link: str = ""
    folded: bool = False

    def shown(self, *, brief: bool) -> tuple[Table, ...]:
        """Return all its tables, or those in ``brief``."""
        return self.tables if self.brief is None or not brief else self.brief


def sections(page: Page) -> tuple[Section, ...]:
    """Return the sections of a page that have something to show.

    A table beside published results was asked for: one without rows says why there is nothing
    beside.
    """
    context, portions = page.context, page.context.portions
    search = (page.search.waterfall, page.search.candidates) if page.search else ()
    changes = (changes_table(context, page.history),) if page.history else ()
    statements = _present(statement_table(context, it) for it in portions)
    published = tuple(published_table(each, page.run) for each in page.published)
    seconds, metrics = _present([seconds_table(context)]), _present([metrics_table(context)])
    by_group = _group_tables(page)
    every = (
        Section(id=SUMMARY, title="Summary", tables=_present([page.summary])),
        Section(id="search", title="The search", tables=_present(search)),
        Section(id="history", title="Where it changed", link="Changes", tables=changes),
        Section(id="seconds", title="Seconds", tables=seconds),
        Section(
            id="groups",
            title="By group of steps",
            link="By group",
            tables=(*by_group, *_present(spread_table(context, it) for it in portions)),
            brief=by_group,
        ),
        Section(id="statements", title="By statement", tables=statements),
        _threads(page),
        Section(
            id="operations",
            title="Per operation",
            tables=_present(operations_table(context, it, by_group=True) for it in portions),
            brief=_present(operations_table(context, it, by_group=False) for it in portions),
            folded=True,
        ),
        Section(id="metrics", title="Other metrics", tables=metrics, folded=True),
        Section(id="beside", title="Beside published results", link="Published", tables=published),
        _steps(page),
        Section(
            id="latency",
            title="Latency distributions",
            link="Latency",
            tables=_present(latency_table(context, it) for it in portions),
            brief=(),
            folded=True,
        ),
        Section(
            id="meanwhile",
            title="What the servers did",
            link="Meanwhile",
            tables=(),
            note=server_series_note(context, page.server_sections) if page.server_sections else "",
            folded=True,
        ),
        Section(
            id="builds", title="Build times", tables=build_tables(context), brief=(), folded=True
        ),
        Section(
            id="subjects",
            title="Subjects",
            tables=_present(
                [
                    subject_table(context),
                    settings_table(context),
                    defaults_table(context),
                ]
            ),
            brief=(),
            folded=True,
        ),
    )
    return tuple(section for section in every if section.tables or section.note)


def _group_tables(page: Page) -> tuple[Table, ...]:
    """Return the portions of several steps by group; a history's with its changes."""
    context, history = page.context, page.history
    return tuple(
        group_table(context, history, it) if history else portion_table(context, it)
        for it in context.portions
        if len(it.steps) > 1
    )


def _threads(page: Page) -> Section:
    found = [sweep_tables(page.context, sweep) for sweep in sweeps(page.context)]
    return Section(
        id="threads",
        title="Over the number of threads",
        link="Threads",
        tables=tuple(table for of_sweep in found for table in of_sweep),
        brief=tuple(throughput for throughput, *_ in found),
        note=sweep_note(page.context) if found else "",
    )


def _steps(page: Page) -> Section:
    """Return the single steps; they are folded if they are more than a reader looks at first."""
    context = page.context
    steps = _present(step_table(context, it) for it in context.portions)
    rows = sum(len(table.rows) for table in steps)
    fields = sum(len(table.rows) * len(table.columns) for table in steps)
    long = rows > _MOST_ROWS or fields > _MOST_FIELDS
    return Section(
        id="steps",
        title="Steps",
        tables=steps,
        brief=steps if page.history else (),
        other_metrics=tuple(
            table for it in context.portions for table in metric_tables(context, it)
        ),
        folded=long or bool(page.history or sweeps(context)),
    )


def _present(tables: Iterable[Table | None]) -> tuple[Table, ...]:
    """Return those tables that there are and that have rows."""
    return tuple(table for table in tables if table is not None and table.rows)
