"""Lines for subjects: each has a colour, a shape and a dash; none is told by its colour alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import altair as alt

from dbhone.measurement.record import Role, Subject
from dbhone.report.context import label
from dbhone.report.drawing import LABEL_LIMIT
from dbhone.report.wording import printable

_COLOURS = 8
"""How many colours for lines the style has, ``--line-1`` to this; then they come again."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_DASHES = ([1, 0], [6, 3], [2, 2])
_LETTERS = 44 / 300
"""How many letters of names a pixel of the legend's width has room for."""
_Look = tuple[str, str, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The subjects of a picture by the ``names`` that the column ``name`` of its data has."""

    names: tuple[str, ...]
    looks: tuple[_Look, ...]

    @classmethod
    def of(cls, subjects: Iterable[Subject], *, drawn: Collection[str]) -> Lines:
        """Return the lines of those subjects that are drawn."""
        shown = [each for each in subjects if printable(label(each)) in drawn]
        return cls(
            names=tuple(printable(label(each)) for each in shown),
            looks=tuple(_look(each, place) for place, each in enumerate(shown)),
        )

    def colour(self, width: int, *, above: bool = False) -> alt.Color:
        """Return the colours, with a legend as wide as the picture: below it, or above."""
        return alt.Color("name:N", scale=self._scale(0), legend=self._legend(width, above))

    def shape(self, width: int, *, above: bool = False) -> alt.Shape:
        """Return the shapes of points, in the same legend."""
        return alt.Shape("name:N", scale=self._scale(1), legend=self._legend(width, above))

    def dash(self) -> alt.StrokeDash:
        """Return the dashes."""
        return alt.StrokeDash("name:N", scale=self._scale(2), legend=None)

    def _scale(self, at: int) -> alt.Scale:
        return alt.Scale(domain=list(self.names), range=[look[at] for look in self.looks])

    def _legend(self, width: int, above: bool) -> alt.Legend:
        room = max(len(name) for name in self.names) + 3
        return alt.Legend(
            orient="top" if above else "bottom",
            columns=max(1, min(len(self.names), int(width * _LETTERS) // room)),
            labelLimit=min(LABEL_LIMIT, width - 30),
            columnPadding=14,
            symbolSize=70,
            symbolOpacity=1,
            symbolStrokeWidth=2,
        )


def _look(subject: Subject, place: int) -> _Look:
    shape = _SHAPES[place % len(_SHAPES)]
    if subject.role is Role.CONTROL:
        return "var(--same)", shape, _DASHES[2]
    colour = f"var(--line-{place % _COLOURS + 1})"
    return colour, shape, _DASHES[place // _COLOURS % 2]
