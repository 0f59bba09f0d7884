"""Tables of the command line break no word, however narrow the terminal is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from dbhone.cli.listing import Listing, listing

_ROWS = (
    ("ab12cd34ef56", "postgresql 15.18", "rel+nointerpose+lto+pgo", "2 m 34 s"),
    ("9713dba9b452", "sqlite 3.40.1", "rel", "22.2 s"),
)


def _table() -> Listing:
    table = listing("digest", "DBMS", "variant", "took", right=("took",), whole=("took",))
    for row in _ROWS:
        table.add_row(*row)
    return table


def _shown(table: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [30, 45, 60, 80, 140, 100_000])
def test_no_word_is_broken(width: int) -> None:
    lines = _shown(_table(), width)
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    assert words >= {word for row in _ROWS for cell in row for word in cell.split()}


def test_a_table_that_fits_has_a_line_for_each_row() -> None:
    assert _shown(_table(), 100_000) == [
        "digest        DBMS              variant                      took",
        "ab12cd34ef56  postgresql 15.18  rel+nointerpose+lto+pgo  2 m 34 s",
        "9713dba9b452  sqlite 3.40.1     rel                        22.2 s",
    ]


def test_what_is_whole_stays_on_one_line_and_the_rest_is_broken_between_words() -> None:
    lines = _shown(_table(), 60)
    assert lines[1].endswith("2 m 34 s")
    assert "postgresql  " in lines[1]
    assert lines[2].strip() == "15.18"


def test_rows_are_paragraphs_where_not_even_the_words_fit() -> None:
    assert _shown(_table(), 30)[:4] == [
        "ab12cd34ef56",
        "  DBMS: postgresql 15.18",
        "  variant:",
        "  rel+nointerpose+lto+pgo",
    ]


def test_a_paragraph_in_a_cell_keeps_its_indent() -> None:
    table = listing("run", "found")
    table.add_row("1", Group(Text("a title"), Padding(Text("one two three"), (0, 0, 0, 2))))
    assert _shown(table, 14) == ["run  found", "1    a title", "       one two", "       three"]
