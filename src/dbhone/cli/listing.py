"""Tables of a few words in each cell: on a narrow terminal no word of them is broken."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

_UNLIMITED = 100_000
_GAP = 2
"""The columns between two columns of a table."""


class Listing(Table):
    """A table without a frame that breaks no word.

    Where a console is too narrow for it, each row is a paragraph.
    """

    def __init__(self) -> None:
        super().__init__(box=None, pad_edge=False, header_style="bold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table as wide as its words need, or its rows as paragraphs."""
        sizes = [_size(column, console, options) for column in self.columns]
        room = options.max_width - _GAP * (len(sizes) - 1)
        if sum(size.minimum for size in sizes) > room:
            yield from self._paragraphs()
            return
        for column, width in zip(self.columns, _widths(sizes, room), strict=True):
            column.width = width
        drawn = super().__rich_console__(console, options)
        segments = (each for each in drawn if isinstance(each, Segment))
        for line in Segment.split_lines(segments):
            yield from _stripped(line)
            yield Segment.line()

    def _paragraphs(self) -> Iterator[RenderableType]:
        headings = [column.header for column in self.columns]
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            yield Text(str(cells[0]), style="bold")
            for heading, cell in zip(headings[1:], cells[1:], strict=True):
                if cell:
                    said = Text(f"{heading}: {cell}") if isinstance(cell, str) else cell
                    yield Padding(said, (0, 0, 0, _GAP), expand=False)


def _stripped(line: list[Segment]) -> list[Segment]:
    """Return a line without the spaces at its end."""
    while line and not line[-1].text.strip():
        line = line[:-1]
    return [*line[:-1], *(Segment(end.text.rstrip(), end.style) for end in line[-1:])]


def _size(column: Column, console: Console, options: ConsoleOptions) -> Measurement:
    """Return the width of the longest word of a column, and that of its longest line."""
    wide = options.update(max_width=_UNLIMITED)
    cells = (column.header, *column.cells)
    sizes = [Measurement.get(console, wide, cell) for cell in cells]
    longest = max(size.maximum for size in sizes)
    words = longest if column.no_wrap else max(size.minimum for size in sizes)
    return Measurement(words, longest)


def _widths(sizes: Sequence[Measurement], room: int) -> list[int]:
    """Return the widths of columns that have this room together: first those that need least."""
    widths = [size.minimum for size in sizes]
    left = room - sum(widths)
    order = sorted(range(len(sizes)), key=lambda index: sizes[index].span)
    for place, index in enumerate(order):
        more = min(sizes[index].span, left // (len(order) - place))
        widths[index] += more
        left -= more
    return widths


def listing(*headings: str, right: Collection[str] = (), whole: Collection[str] = ()) -> Listing:
    """Return a table to fill, without a frame: columns with figures are aligned to the ``right``.

    Those that are ``whole`` are never broken into lines.
    """
    table = Listing()
    for heading in headings:
        justify: JustifyMethod = "right" if heading in right else "left"
        table.add_column(heading, justify=justify, no_wrap=heading in whole, overflow="fold")
    return table
