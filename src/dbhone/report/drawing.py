"""Pictures as SVG that needs no script and takes its colours from CSS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import vl_convert

_ROLES = re.compile(r' role="graphics-\w+"| aria-roledescription="[\w -]+"')
"""What the library says of single marks to those who listen: a picture has words of its own."""
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
LABEL_LIMIT = 250
"""The pixels after which a label is cut."""
_LETTER = 6.9
"""Pixels that a letter of a label takes at most, on average, in whichever font a reader has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An SVG and the words that stand for it where it is not seen. ``title`` is its caption."""

    svg: str
    alternative: str
    title: str = ""


def named_axis(names: Sequence[str]) -> alt.Axis:
    """Return an axis that has room for the longest of its labels."""
    longest = max(len(name) for name in names)
    return alt.Axis(minExtent=min(longest * _LETTER, LABEL_LIMIT) + 8)


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
            labelLimit=LABEL_LIMIT,
            titleColor="var(--ink)",
            titleFontWeight="normal",
        ),
        axisY=alt.AxisConfig(grid=False, ticks=False, labelPadding=8),
        header=alt.HeaderConfig(labelColor="var(--ink)", labelFontSize=12),
        legend=alt.LegendConfig(
            labelColor="var(--ink)", labelFontSize=12, labelLimit=LABEL_LIMIT, title=None
        ),
    )
    drawn = str(vl_convert.vegalite_to_svg(styled.to_json(validate=False)))
    return _renamed(_ROLES.sub("", drawn), prefix)


def _renamed(svg: str, prefix: str) -> str:
    """Number the ids anew: the library counts on from picture to picture."""
    ids = dict.fromkeys(re.findall(r'(?<= id=")[^"]*', svg))
    for number, old in enumerate(ids):
        new = f"{prefix}-{number}"
        svg = svg.replace(f' id="{old}"', f' id="{new}"').replace(f"url(#{old})", f"url(#{new})")
    return svg
