"""A page in a terminal, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from dbhone.analysis.verdict import Direction
from dbhone.report.page import Page
from dbhone.report.sections import sections
from dbhone.report.table import Cell, Table, plain
from dbhone.report.wording import compiler
from dbhone.safe_text import printable

_STYLES = {Direction.BETTER: "green", Direction.WORSE: "red"}
_GAP = 2
_WIDEST = 140
"""The longest line of a page where nothing limits it, as in a file."""


def show(page: Page, console: Console, *, full: bool = False) -> None:
    """Print a page: last the winner's path, which is for copying and never broken into lines.

    ``full`` adds the single steps and the environment. Colour marks significant differences only,
    and never says more than the sign beside it. A table that is wider than the console continues
    below, its rows named again.
    """
    width = min(console.width, _WIDEST)
    console.print(Constrain(Group(*_parts(page, width, full=full)), width))
    if page.winner is not None:
        console.print(_text(f"{page.winner_title}: {page.winner.build_path}"), soft_wrap=True)


def _parts(page: Page, width: int, *, full: bool) -> Iterator[RenderableType]:
    """Yield the parts from the title to the headline."""
    yield _text(page.title, style="bold")
    for alert in page.alerts:
        yield _text(f"\nWARNING: {alert.text}", style="bold red")
    for section in sections(page):
        shown = section.shown(brief=not full)
        if shown and section.note:
            yield _text(f"\n{section.note}", style="dim")
        for table in shown:
            yield from _table(table, width)
    if full:
        yield from _surroundings(page)
    yield from _footnotes(page)
    for name, text in page.overview:
        yield _text(f"{name.removesuffix('?')}: {text}")
    yield _text(f"\n{page.headline}", style="bold")


def show_table(table: Table, console: Console) -> None:
    """Print a table."""
    console.print(*_table(table, console.width), sep="\n")


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    yield _text(f"\n{table.title}", style="bold")
    yield _text(table.caption, style="dim")
    if not table.rows:
        return
    for number, columns in enumerate(_pieces(table, width)):
        if number:
            yield Text()
        yield _piece(table, columns)


def _pieces(table: Table, width: int) -> list[list[int]]:
    """Divide the columns so that each piece, with the first column, is within the width."""
    sizes = [
        max(map(cell_len, (column.title, *(plain(row.cells[index]) for row in table.rows)))) + _GAP
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


def _surroundings(page: Page) -> Iterator[RenderableType]:
    """Yield how the subjects were built and set, and where they were measured."""
    for subject in page.context.subjects:
        if subject.flags:
            words = " ".join((compiler(subject.compiler), *subject.flags))
            yield _indented(f"{subject.name}: {words}")
    if page.shared_settings:
        settings = ", ".join(f"{name}={value}" for name, value in page.shared_settings)
        yield _indented(f"Settings of all servers: {settings}")
    yield Text("\nEnvironment", style="bold")
    for name, text in page.environment:
        yield _indented(f"{name}: {text}")


def _footnotes(page: Page) -> Iterator[RenderableType]:
    if page.legend:
        yield _text(f"\n{page.legend}", style="dim")
    for words in (page.control_note, page.method):
        if words is not None:
            yield _text(words, style="dim")
    if page.notes:
        yield Text("\nNotes", style="bold")
    for number, note in enumerate(page.notes, start=1):
        yield _indented(f"{number}. {note}")


def _indented(words: str) -> RenderableType:
    return Padding(_text(words), (0, 0, 0, _GAP))


def _text(words: str, *, style: str = "") -> Text:
    return Text(printable(words), style=style)
