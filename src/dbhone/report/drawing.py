"""Pictures as SVG that needs no script and takes its colours from CSS, and their lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import altair as alt
import vl_convert

from dbhone.measurement.record import Role, Subject
from dbhone.report.context import label
from dbhone.safe_text import printable

_ROLES = re.compile(r' role="graphics-\w+"| aria-roledescription="[\w -]+"')
"""What the library says of single marks to those who listen: a picture has words of its own."""
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_LABEL_LIMIT = 250
"""The pixels after which a label is cut."""
_LETTERS = 44 / 300
"""How many letters of names a pixel of a legend's width has room for."""
_LETTER = 6.9
"""Pixels that a letter of a label takes at most, on average, in whichever font a reader has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An SVG and the words that stand for it where it is not seen. ``title`` is its caption.

    One that is ``wide`` has a row of its own, within which it scrolls.
    """

    svg: str
    alternative: str
    title: str
    wide: bool = False


def named_axis(names: Sequence[str]) -> alt.Axis:
    """Return an axis that has room for the longest of its labels."""
    longest = max(len(name) for name in names)
    return alt.Axis(minExtent=min(longest * _LETTER, _LABEL_LIMIT) + 8)


def panel_header(width: int) -> alt.Header:
    """Return how panels are named: above each, as wide as there is room."""
    return alt.Header(
        title=None,
        labelOrient="top",
        labelAnchor="start",
        labelFontWeight="bold",
        labelPadding=4,
        labelLimit=width,
    )


def svg(chart: alt.FacetChart | alt.LayerChart, *, prefix: str) -> str:
    """Return the chart as SVG. ``prefix`` keeps its ids apart from other pictures' ids."""
    styled = chart.configure(
        aria=False,
        background="transparent",
        font=_FONT,
        padding=8,
        view=alt.ViewConfig(stroke="var(--line)", fill=None),
        axis=alt.AxisConfig(
            labelColor="var(--ink)",
            domainColor="var(--line)",
            tickColor="var(--line)",
            gridColor="var(--line)",
            labelFontSize=12,
            labelLimit=_LABEL_LIMIT,
            titleColor="var(--ink)",
            titleFontWeight="normal",
        ),
        axisY=alt.AxisConfig(grid=False, ticks=False, labelPadding=8),
        header=alt.HeaderConfig(labelColor="var(--ink)", labelFontSize=12),
        legend=alt.LegendConfig(
            labelColor="var(--ink)", labelFontSize=12, labelLimit=_LABEL_LIMIT, title=None
        ),
    )
    drawn = str(vl_convert.vegalite_to_svg(styled.to_json(validate=False)))
    return _renamed(_ROLES.sub("", drawn), prefix)


def _renamed(svg: str, prefix: str) -> str:
    """Number the ids from 1: the library counts on from picture to picture."""
    ids = dict.fromkeys(re.findall(r'(?<= id=")[^"]*', svg))
    for number, old in enumerate(ids):
        new = f"{prefix}-{number}"
        svg = svg.replace(f' id="{old}"', f' id="{new}"').replace(f"url(#{old})", f"url(#{new})")
    return svg


_COLOURS = 8
"""How many colours for lines the style has, ``--line-1`` to this; then they come again."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_DASHES = ([1, 0], [6, 3], [2, 2])
_Look = tuple[str, str, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of a picture by the ``names`` that the column ``name`` of its data has."""

    names: tuple[str, ...]
    looks: tuple[_Look, ...]

    @classmethod
    def named(cls, names: Iterable[str]) -> Lines:
        """Return lines with these names."""
        shown = tuple(names)
        return cls(names=shown, looks=tuple(_look(place) for place in range(len(shown))))

    @classmethod
    def of(cls, subjects: Iterable[Subject], *, drawn: Collection[str]) -> Lines:
        """Return the lines of those subjects that are drawn."""
        drawn_subjects = [subject for subject in subjects if printable(label(subject)) in drawn]
        return cls(
            names=tuple(printable(label(subject)) for subject in drawn_subjects),
            looks=tuple(
                _look(place, control=subject.role is Role.CONTROL)
                for place, subject in enumerate(drawn_subjects)
            ),
        )

    def colour(self, width: int, *, above: bool = False) -> alt.Color:
        """Return the colours, with a legend as wide as the picture: below it, or above."""
        return alt.Color("name:N", scale=self._scale(0), legend=self._legend(width, above=above))

    def shape(self, width: int, *, above: bool = False) -> alt.Shape:
        """Return the shapes of points, in the same legend."""
        return alt.Shape("name:N", scale=self._scale(1), legend=self._legend(width, above=above))

    def dash(self) -> alt.StrokeDash:
        """Return the dashes."""
        return alt.StrokeDash("name:N", scale=self._scale(2), legend=None)

    def _legend(self, width: int, *, above: bool) -> alt.Legend:
        room = max(len(name) for name in self.names) + 3
        return alt.Legend(
            orient="top" if above else "bottom",
            columns=max(1, min(len(self.names), int(width * _LETTERS) // room)),
            labelLimit=min(_LABEL_LIMIT, width - 30),
            columnPadding=14,
            symbolSize=70,
            symbolOpacity=1,
            symbolStrokeWidth=2,
        )

    def _scale(self, at: int) -> alt.Scale:
        return alt.Scale(domain=list(self.names), range=[look[at] for look in self.looks])


def banded(
    lines: Lines, x: alt.X, y: alt.Y, width: int, *, points: bool = True, clip: bool = False
) -> list[alt.Chart]:
    """Return what draws the lines: each with its interval as a band, and points on it."""
    colour = lines.colour(width)
    interval = alt.Y("low:Q"), alt.Y2("high:Q")
    band = alt.Chart().mark_area(opacity=0.14, clip=clip).encode(x, *interval, colour)
    line = alt.Chart().mark_line(strokeWidth=2, clip=clip).encode(x, y, colour, lines.dash())
    marks = alt.Chart().mark_point(filled=True, size=45, opacity=1, clip=clip)
    point = marks.encode(x, y, colour, lines.shape(width))
    return [band, line, point] if points else [band, line]


def _look(place: int, *, control: bool = False) -> _Look:
    shape = _SHAPES[place % len(_SHAPES)]
    if control:
        return "var(--same)", shape, _DASHES[2]
    colour = f"var(--line-{place % _COLOURS + 1})"
    return colour, shape, _DASHES[place // _COLOURS % 2]
