"""A page in a terminal, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from dbhone.analysis.verdict import Direction
from dbhone.measurement.record import Subject
from dbhone.report.page import Page, tables
from dbhone.report.step_tables import present
from dbhone.report.table import Cell, Table, plain
from dbhone.report.wording import compiler
from dbhone.safe_text import printable

_STYLES = {Direction.BETTER: "green", Direction.WORSE: "red"}
_GAP = 2
_WIDEST = 140
"""The longest line of a page where nothing limits it, as in a file."""


class PageView:
    """Shows a page on a rich console. ``full`` adds the single steps and the environment.

    Colour marks significant differences only, and never says more than the sign beside it.
    A table that is wider than the console continues below, its rows named again.
    """

    def __init__(self, page: Page, *, full: bool = False) -> None:
        self._page = page
        self._full = full

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts from the title to the winner, which comes last."""
        page = self._page
        yield _text(page.title, style="bold")
        for alert in page.alerts:
            yield _text(f"\nWARNING: {alert.text}", style="bold red")
        yield from self._tables(options.max_width)
        yield from _footnotes(page)
        yield from _ending(page)

    def _tables(self, width: int) -> Iterator[RenderableType]:
        page = self._page
        for table in tables(page) if self._full else self._short():
            if page.sweeps and table is page.sweeps[0].throughput:
                yield _text(f"\n{page.sweep_note}", style="dim")
            yield from _table(table, width)
        if not self._full:
            return
        for subject in page.ordered:
            yield _flags(subject)
        if page.shared_settings:
            settings = ", ".join(f"{name}={value}" for name, value in page.shared_settings)
            yield Padding(_text(f"Settings of all servers: {settings}"), (0, 0, 0, _GAP))
        yield Text("\nEnvironment", style="bold")
        for name, text in page.environment:
            yield Padding(_text(f"{name}: {text}"), (0, 0, 0, _GAP))

    def _short(self) -> tuple[Table, ...]:
        """Return the tables that answer the question."""
        page, of_steps = self._page, self._page.step_tables
        return present(
            (
                page.search.candidates if page.search else None,
                page.search.waterfall if page.search else None,
                page.summary,
                page.history.table if page.history else None,
                page.seconds,
                *of_steps.groups.values(),
                *of_steps.statements,
                *(of_steps.steps if page.history else ()),
                *(sweep.throughput for sweep in page.sweeps),
                *of_steps.operations,
                page.metrics,
                *page.published_tables,
            )
        )


def show(page: Page, console: Console, *, full: bool = False) -> None:
    """Print a page: last the winner's path, which is for copying and never broken into lines."""
    console.print(Constrain(PageView(page, full=full), _WIDEST))
    if page.winner is not None:
        console.print(_text(f"{page.winner_title}: {page.winner.build_path}"), soft_wrap=True)


def show_table(table: Table, console: Console) -> None:
    """Print a table."""
    console.print(*_table(table, console.width), sep="\n")


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    yield _text(f"\n{table.title}", style="bold")
    yield _text(table.caption, style="dim")
    for number, columns in enumerate(_pieces(table, width)):
        if number:
            yield Text()
        yield _piece(table, columns)


def _pieces(table: Table, width: int) -> list[list[int]]:
    """Divide the columns so that each piece, with the first column, is within the width."""
    sizes = [
        max(len(column.title), *(len(plain(row.cells[index])) for row in table.rows), 0) + _GAP
        for index, column in enumerate(table.columns)
    ]
    pieces: list[list[int]] = [[]]
    for index in range(1, len(sizes)):
        used = sizes[0] + sum(sizes[piece] for piece in pieces[-1])
        if pieces[-1] and used + sizes[index] > width + _GAP:
            pieces.append([])
        pieces[-1].append(index)
    return pieces


def _piece(table: Table, columns: list[int]) -> RichTable:
    rich_table = RichTable(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0), show_edge=False
    )
    for index in (0, *columns):
        column = table.columns[index]
        justify: Literal["left", "right"] = "right" if column.numeric else "left"
        rich_table.add_column(_text(column.title), justify=justify, overflow="fold")
    for row in table.rows:
        style = "dim" if row.control else "bold" if row.heading else None
        first = Cell(text=f"── {row.cells[0].text}") if row.heading else row.cells[0]
        cells = (first, *(row.cells[index] for index in columns))
        rich_table.add_row(*(_cell(cell) for cell in cells), style=style)
    return rich_table


def _cell(cell: Cell) -> Text:
    style = _STYLES.get(cell.direction, "") if cell.direction is not None else ""
    return _text(plain(cell), style=style)


def _flags(subject: Subject) -> RenderableType:
    words = " ".join((compiler(subject.compiler), *subject.flags))
    return Padding(_text(f"{subject.name}: {words}"), (0, 0, 0, _GAP))


def _footnotes(page: Page) -> Iterator[RenderableType]:
    if page.legend:
        yield _text(f"\n{page.legend}", style="dim")
    for words in (page.control_note, page.method):
        if words is not None:
            yield _text(words, style="dim")
    if page.notes:
        yield Text("\nNotes", style="bold")
    for number, note in enumerate(page.notes, start=1):
        yield Padding(_text(f"{number}. {note}"), (0, 0, 0, _GAP))


def _ending(page: Page) -> Iterator[RenderableType]:
    for item in page.overview:
        yield _text(f"{item.name.removesuffix('?')}: {item.text}")
    yield _text(f"\n{page.headline}", style="bold")


def _text(words: str, *, style: str = "") -> Text:
    return Text(printable(words), style=style)
