"""Intervals as small pictures in the cells of a table, all of them on one scale.

The line in the middle is the base. The scale is logarithmic, and as long on both sides of it.
"""

from __future__ import annotations

import math

from dbhone.analysis.verdict import Direction
from dbhone.report.table import Cell, Table

LEAST_REACH = 0.03
"""A scale of ratios never spans less on a side of 1, lest noise fill the picture."""
_WIDTH, _HEIGHT = 140, 14
_CENTRE, _MIDDLE = _WIDTH / 2, _HEIGHT / 2
_ROOM = _CENTRE - 6
_RIGHT, _LEFT = "-4,-5 5,0 -4,5", "4,-5 -5,0 4,5"
_SHAPES = {
    Direction.BETTER: _RIGHT,
    Direction.LIKELY_BETTER: _RIGHT,
    Direction.WORSE: _LEFT,
    Direction.LIKELY_WORSE: _LEFT,
    Direction.SAME: "-3,-3 3,-3 3,3 -3,3",
    Direction.UNKNOWN: "-4,0 0,-4 4,0 0,4",
}


class Whiskers:
    """Draws the intervals of one table, each over the control's in the same column."""

    def __init__(self, table: Table) -> None:
        intervals = [cell.interval for row in table.rows for cell in row.cells if cell.interval]
        ends = [abs(math.log(end)) for one in intervals for end in (one.low, one.high)]
        self._reach = max([*ends, math.log1p(LEAST_REACH)])
        self._bands = [
            next((row.cells[at].interval for row in table.rows if row.control), None)
            for at in range(len(table.columns))
        ]
        self.drawn = bool(intervals)

    @property
    def ends(self) -> tuple[float, float]:
        """The ratios at both ends of the scale."""
        return math.exp(-self._reach), math.exp(self._reach)

    def draw(self, column: int, cell: Cell) -> str:
        """Return the picture of a cell's interval as SVG, nothing for a cell that has none.

        The ratio itself is marked where the cell tells a verdict.
        """
        if cell.interval is None:
            return ""
        band, own = self._bands[column], cell.interval
        return (
            f'<svg class="whisker" aria-hidden="true" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
            f' width="{_WIDTH}" height="{_HEIGHT}">'
            f"{self._bar('band', band.low, band.high, _HEIGHT) if band else ''}"
            f'<line x1="{_CENTRE:g}" x2="{_CENTRE:g}" y2="{_HEIGHT}"/>'
            f"{self._bar('reach', own.low, own.high, 2)}"
            f"{self._mark(cell.direction, own.ratio)}</svg>"
        )

    def _mark(self, direction: Direction | None, ratio: float) -> str:
        if direction is None:
            return ""
        where = f"translate({self._place(ratio):.1f} {_MIDDLE:g})"
        return f'<polygon points="{_SHAPES[direction]}" transform="{where}"/>'

    def _bar(self, name: str, low: float, high: float, height: int) -> str:
        left, right = self._place(low), self._place(high)
        return (
            f'<rect class="{name}" x="{left:.1f}" y="{_MIDDLE - height / 2:g}"'
            f' width="{right - left:.1f}" height="{height}"/>'
        )

    def _place(self, ratio: float) -> float:
        return _CENTRE + _ROOM * math.log(ratio) / self._reach
