"""Pictures of throughput and latency over a growing number of clients, a line for each subject."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from dbhone.report.context import label
from dbhone.report.drawing import Lines, Picture, banded, svg
from dbhone.report.page import Page
from dbhone.report.steps import P95, RATE, Scale
from dbhone.report.sweep import Sweep, sweep_title
from dbhone.report.wording import capital, number
from dbhone.safe_text import printable

_WIDTH, _HEIGHT = 300, 190
_MOST_TICKS = 6


def sweep_pictures(page: Page, sweep: Sweep, *, index: int) -> list[Picture]:
    """Draw throughput, and latency if it was measured, over the number of threads.

    ``index`` tells the sweeps of one page apart.
    """
    charts = (_picture(page, sweep, scale, prefix=f"w{index}") for scale in (RATE, P95))
    return [picture for picture in charts if picture is not None]


def _picture(page: Page, sweep: Sweep, scale: Scale, *, prefix: str) -> Picture | None:
    values = _values(page, sweep, scale)
    if not values:
        return None
    lines = Lines.of(page.context.subjects, drawn={value["name"] for value in values})
    layers = alt.layer(
        *_layers(lines, values, scale),
        data=alt.InlineData(values=values),
    )
    most = max(values, key=lambda value: float(value["value"]))
    return Picture(
        svg=svg(layers.properties(width=_WIDTH, height=_HEIGHT), prefix=prefix + scale.unit[0]),
        title=sweep_title(sweep, scale),
        alternative=f"{capital(scale.title)} of {sweep.workload} over the number of threads for "
        f"{len(lines.names)} subjects, with intervals; the highest is {most['name']} with "
        f"{number(most['value'])} {scale.unit} at {most['threads']}. "
        "The tables below have the same figures.",
    )


def _values(page: Page, sweep: Sweep, scale: Scale) -> list[dict[str, Any]]:
    threads = {step.name: step.threads for step in sweep.steps}
    names = {subject.name: printable(label(subject)) for subject in page.context.subjects}
    return [
        {
            "name": names[level.subject],
            "threads": threads[level.step],
            "value": level.value * scale.factor,
            "low": (level.low if level.low is not None else level.value) * scale.factor,
            "high": (level.high if level.high is not None else level.value) * scale.factor,
        }
        for level in page.levels
        if level.metric == scale.metric.name and level.step in threads and level.subject in names
    ]


def _layers(lines: Lines, values: list[dict[str, Any]], scale: Scale) -> list[alt.Chart]:
    threads = sorted({int(value["threads"]) for value in values})
    x = alt.X(
        "threads:Q",
        scale=alt.Scale(type="log", base=2, domain=[threads[0], threads[-1]], nice=False),
        axis=alt.Axis(values=threads, format="d", title="threads", grid=False, labelFlush=False),
    )
    y = _rates() if scale is RATE else _times(values)
    return banded(lines, x, y, _WIDTH)


def _rates() -> alt.Y:
    axis = alt.Axis(format="~s", title=None, tickCount=5, grid=True)
    return alt.Y("value:Q", scale=alt.Scale(zero=True), axis=axis)


def _times(values: list[dict[str, Any]]) -> alt.Y:
    """Return a logarithmic axis: with more clients than cores, times grow as their number."""
    low = min(float(value["low"]) for value in values) / 1.1
    high = max(float(value["high"]) for value in values) * 1.1
    return alt.Y(
        "value:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=_round_between(low, high), format=".3~r", title=None, grid=True),
    )


def _round_between(low: float, high: float) -> list[float]:
    """Return round figures between two: 1, 2, 5, 10 and so on; powers of ten if they are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= _MOST_TICKS:
            break
    return inside
