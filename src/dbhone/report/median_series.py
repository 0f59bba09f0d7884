"""Pictures of what the servers did: a panel for each quantity, all on one axis of time."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbhone.report.context import label
from dbhone.report.drawing import Lines, Picture, banded, panel_header, svg
from dbhone.report.page import Page
from dbhone.report.server_series import Panel, ServerSection
from dbhone.safe_text import printable

_WIDTH, _HEIGHT = 620, 86
_FIGURE = "format(datum.value, datum.value < 1000 ? '.3~r' : '~s')"
"""How an axis shows a figure, in Vega's words: 20k, but 0.2 and no 200m."""


def median_series_picture(page: Page, section: ServerSection, *, index: int) -> Picture:
    """Draw the panels of one step; ``index`` tells the pictures of one page apart."""
    names = {subject.name: printable(label(subject)) for subject in page.context.subjects}
    heads = {_head(panel): panel for panel in section.panels}
    values = [
        {"panel": head, **point} for head, panel in heads.items() for point in _points(panel, names)
    ]
    lines = Lines.of(page.context.subjects, drawn={value["name"] for value in values})
    chart = (
        alt.layer(*_layers(lines), data=alt.InlineData(values=values))
        .properties(width=_WIDTH, height=_HEIGHT)
        .facet(row=alt.Row("panel:N", sort=list(heads), header=panel_header(_WIDTH)), spacing=8)
        .resolve_scale(y="independent")
    )
    return Picture(
        svg=svg(chart, prefix=f"m{index}"),
        title=_title(section),
        wide=True,
        alternative=f"What the servers did on {section.step.name}, over the seconds of a slice, "
        f"for {len(lines.names)} subjects: {', '.join(heads)}. Format series has the figures.",
    )


def _title(section: ServerSection) -> str:
    name, more = section.step.name, section.left_out
    return f"{name}; {more} more counters are in the data" if more else name


def _head(panel: Panel) -> str:
    return printable(f"{panel.title}, {panel.unit}" if panel.unit else panel.title)


def _points(panel: Panel, names: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": names[one_series.subject],
            "at": round(at, 2),
            "value": _short(value * panel.factor),
            "low": _short(low * panel.factor),
            "high": _short(high * panel.factor),
        }
        for one_series in panel.series
        if one_series.subject in names
        for at, value, low, high in zip(
            one_series.at, one_series.values, one_series.low, one_series.high, strict=True
        )
    ]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _layers(lines: Lines) -> list[alt.Chart]:
    axis = alt.Axis(title="seconds since the slice began", grid=False, tickMinStep=0.5, format="~g")
    x = alt.X("at:Q", axis=axis, scale=alt.Scale(nice=False, zero=True))
    figures = alt.Axis(labelExpr=_FIGURE, title=None, tickCount=3, grid=True)
    y = alt.Y("value:Q", scale=alt.Scale(zero=True), axis=figures)
    return banded(lines, x, y, _WIDTH, points=False)
