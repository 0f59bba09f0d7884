"""Whiskers: a picture of each interval of a table, on one scale around the base."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.verdict import Direction
from dbhone.report.table import Cell, Interval, Row, Table, columns
from dbhone.report.whiskers import Whiskers

_RATIOS = st.floats(0.01, 100)


def _cell(low: float, ratio: float, high: float, direction: Direction = Direction.SAME) -> Cell:
    return Cell(text="", direction=direction, interval=Interval(low=low, ratio=ratio, high=high))


def _table(*cells: Cell, control: Cell | None = None) -> Table:
    rows = [Row(cells=(Cell(text="name"), cell)) for cell in cells]
    if control is not None:
        rows.append(Row(cells=(Cell(text="control"), control), control=True))
    return Table(title="", caption="", columns=columns("Subject", ["All steps"]), rows=tuple(rows))


def _bar(svg: str, name: str) -> tuple[float, float]:
    found = re.search(rf'class="{name}" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    assert found is not None
    left = float(found[1])
    return left, left + float(found[2])


@given(st.lists(st.tuples(_RATIOS, _RATIOS, _RATIOS).map(sorted), min_size=1, max_size=5))
def test_every_interval_is_within_its_picture(intervals: list[list[float]]) -> None:
    cells = [_cell(low, ratio, high) for low, ratio, high in intervals]
    drawn = Whiskers(_table(*cells))
    for cell in cells:
        left, right = _bar(drawn.draw(1, cell), "reach")
        assert 0 <= left <= right <= 140


def test_twice_as_fast_is_as_far_from_the_middle_as_half_as_fast() -> None:
    cell = _cell(0.5, 1, 2)
    left, right = _bar(Whiskers(_table(cell)).draw(1, cell), "reach")
    assert left + right == pytest.approx(140)


def test_noise_does_not_fill_a_picture() -> None:
    cell = _cell(0.999, 1, 1.001)
    drawn = Whiskers(_table(cell))
    assert drawn.ends == pytest.approx((1 / 1.03, 1.03))
    left, right = _bar(drawn.draw(1, cell), "reach")
    assert right - left < 10


def test_the_controls_interval_lies_behind_all_others_of_its_column() -> None:
    own, control = _cell(1.1, 1.2, 1.3, Direction.BETTER), _cell(0.9, 1, 1.1)
    drawn = Whiskers(_table(own, control=control))
    assert _bar(drawn.draw(1, own), "band") == _bar(drawn.draw(1, control), "reach")


def test_what_has_no_interval_has_no_picture() -> None:
    drawn = Whiskers(_table(Cell(text="1")))
    assert not drawn.drawn
    assert drawn.draw(1, Cell(text="1")) == ""
