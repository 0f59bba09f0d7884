"""Tables as data: what every format shows, each in its own way."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from dbhone.analysis.verdict import Direction, Effect, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A ratio, and the ends of its interval; without one these are the ratio."""

    low: float
    ratio: float
    high: float

    @classmethod
    def of(cls, found: Effect | Summary) -> Interval:
        """Return the interval of what was found."""
        low, own, high = found.low, found.ratio, found.high
        return cls(low=own if low is None else low, ratio=own, high=own if high is None else high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One field of a table.

    ``text`` is the figure, ``margin`` its ± if it has one, ``verdict`` its verdict in words and
    ``direction`` which way that points; ``detail`` says more where there is room. ``strength`` is
    how large a certain difference is, from 1 to 3, where a table shows it; else 0. ``interval`` is
    what a ratio can be drawn by.
    """

    text: str
    margin: str = ""
    verdict: str = ""
    direction: Direction | None = None
    detail: str = ""
    strength: int = 0
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. ``numeric`` columns are aligned to the right."""

    title: str
    numeric: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row, named by its first cell. ``control`` marks the A/A control's.

    A ``heading`` names the rows below it; its other cells are empty.
    """

    cells: tuple[Cell, ...]
    control: bool = False
    heading: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: the first column names the rows.

    HTML draws its intervals if it is to be ``drawn``, and shows it on demand if it is ``folded``.
    """

    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    drawn: bool = False
    folded: bool = False


def columns(first: str, others: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns of a table: the first names the rows, the others have figures."""
    return (Column(title=first, numeric=False), *(Column(title=title) for title in others))


def text_columns(titles: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns of a table of words."""
    return tuple(Column(title=title, numeric=False) for title in titles)


def text_row(*texts: str) -> Row:
    """Return a row of plain texts, the first of which names it."""
    return Row(cells=tuple(Cell(text=text) for text in texts))


MARKS: dict[Direction, str] = {
    Direction.BETTER: "+",
    Direction.WORSE: "-",
    Direction.LIKELY_BETTER: "(+)",
    Direction.LIKELY_WORSE: "(-)",
    Direction.SAME: "~",
    Direction.UNKNOWN: "?",
}
"""How a format without colours and without room shows a verdict."""


def signed(cell: Cell, sign: str) -> Cell:
    """Return a cell with a sign before its figure, if there is one."""
    return dataclasses.replace(cell, text=f"{sign} {cell.text}") if sign and cell.text else cell


def plain(cell: Cell) -> str:
    """Return a cell as plain text: ``1.07 ±1.8% +``."""
    mark = MARKS[cell.direction] if cell.direction is not None else ""
    return " ".join(part for part in (cell.text, cell.margin, mark) if part)
