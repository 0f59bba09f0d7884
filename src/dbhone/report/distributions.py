"""Pictures of how latencies are distributed: a bar from the median to the 99th percentile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from dbhone.measurement.metric import LATENCY_P50, LATENCY_P95, LATENCY_P99
from dbhone.measurement.record import Group, Step
from dbhone.report.context import Portion, label
from dbhone.report.drawing import Lines, Picture, named_axis, svg
from dbhone.report.latencies import ranges
from dbhone.report.page import Page
from dbhone.safe_text import printable

MOST_BARS = 400
"""A picture of more bars than this would be too high to be read."""
_WIDTH = 430
_BAR, _BETWEEN = 8, 8


def latency_picture(page: Page, portion: Portion) -> Picture | None:
    """Draw the percentiles of a portion's steps, a bar for each subject, in the table's order.

    The point in a bar is the 95th percentile. None if there is nothing to draw, or too much.
    """
    steps = [step for group in Group for step in portion.steps_with_parts if step.group is group]
    values = _values(page, steps)
    if not values or len(values) > MOST_BARS:
        return None
    lines = Lines.of(page.context.subjects, drawn={value["name"] for value in values})
    drawn = [name for name in map(_name, steps) if any(value["step"] == name for value in values)]
    height = alt.Step(len(lines.names) * _BAR + _BETWEEN, **{"for": "position"})
    layers = alt.layer(*_layers(lines, drawn, values), data=alt.InlineData(values=values))
    return Picture(
        svg=svg(
            layers.properties(width=_WIDTH, height=height), prefix=f"l{int(portion.in_sample)}"
        ),
        title=f"Latency in ms, {portion.name}",
        wide=True,
        alternative=f"Latency of {len(drawn)} steps on {len(lines.names)} subjects, from the "
        "median to the 99th percentile. The table below has the same figures.",
    )


def _name(step: Step) -> str:
    return printable(step.name)


def _values(page: Page, steps: Sequence[Step]) -> list[dict[str, Any]]:
    level_ranges = ranges(page.levels)
    return [
        {
            "name": printable(label(subject)),
            "step": _name(step),
            "p50": values[LATENCY_P50.name],
            "p95": values[LATENCY_P95.name],
            "p99": values[LATENCY_P99.name],
        }
        for step in steps
        for subject in page.context.subjects
        if (values := level_ranges.get((subject.name, step.name))) is not None
    ]


def _ticks(values: list[dict[str, Any]]) -> list[float]:
    """Return round milliseconds: powers of ten, or closer ones where there are few of these."""
    low = math.floor(math.log10(min(float(value["p50"]) for value in values)))
    high = math.ceil(math.log10(max(float(value["p99"]) for value in values)))
    steps = (1,) if high - low > 3 else (1, 2, 5)
    return [step * 10.0**power for power in range(low, high + 1) for step in steps]


def _layers(lines: Lines, steps: list[str], values: list[dict[str, Any]]) -> list[alt.Chart]:
    axis = alt.Axis(
        values=_ticks(values),
        title="ms, from the median to the 99th percentile; the point is the 95th",
    )
    x = alt.X("p50:Q", scale=alt.Scale(type="log"), axis=axis)
    y = alt.Y("step:N", sort=steps, title=None, axis=named_axis(steps))
    place = alt.YOffset("name:N", sort=list(lines.names))
    colour, shape = lines.colour(_WIDTH, above=True), lines.shape(_WIDTH, above=True)
    return [
        alt.Chart().mark_rule(strokeWidth=2).encode(x, y, place, colour, x2="p99:Q"),
        alt.Chart()
        .mark_point(filled=True, size=34, opacity=1)
        .encode(alt.X("p95:Q"), y, place, colour, shape),
    ]
