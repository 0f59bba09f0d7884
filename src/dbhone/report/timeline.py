"""Pictures of a history: throughput relative to the oldest version, version after version."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from dbhone.analysis.history import History
from dbhone.analysis.verdict import Effect, Summary
from dbhone.report.context import group_name, short_names
from dbhone.report.drawing import Lines, Picture, banded, svg
from dbhone.report.page import Page
from dbhone.report.table import Interval
from dbhone.report.whiskers import LEAST_REACH
from dbhone.report.wording import capital
from dbhone.safe_text import printable

_WIDTH, _HEIGHT = 330, 210
_LINES = 8
"""How many lines a picture has at most; the style has as many colours."""
_STRIDES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_MOST_TICKS = 8
_Found = Mapping[str, Effect | Summary]


def history_pictures(page: Page) -> list[Picture]:
    """Draw the groups, and the steps that changed most; none if nothing can be drawn."""
    if page.history is None:
        return []
    versions = page.history.versions
    changed = _changed(page.history, page)
    drawn = (
        _picture(page, versions, _groups(page), "groups of steps", prefix="h"),
        _picture(page, versions, changed, "steps that changed", prefix="i"),
    )
    return [picture for picture in drawn if picture is not None]


def _groups(page: Page) -> dict[str, _Found]:
    """Return the summaries of each group by version, those of the first portion."""
    portion = page.context.portions[0]
    lines: dict[str, dict[str, Effect | Summary]] = {}
    for summary in page.analysis.throughput_summaries:
        if summary.in_sample is portion.in_sample:
            lines.setdefault(group_name(summary.group), {})[summary.subject] = summary
    return dict(lines)


def _changed(history: History, page: Page) -> dict[str, _Found]:
    """Return the effects of the steps that changed most, by version."""
    sizes = {
        series.step: max(change.size for change in series.shown_changes)
        for series in history.steps
        if series.step is not None and series.shown_changes
    }
    chosen = sorted(sizes, key=lambda step: -sizes[step])[:_LINES]
    short = short_names(page.run)
    lines: dict[str, dict[str, Effect | Summary]] = {short[step]: {} for step in chosen}
    for effect in page.analysis.throughput_effects_with_parts:
        if effect.step in chosen:
            lines[short[effect.step]][effect.subject] = effect
    return dict(lines)


def _picture(
    page: Page, order: Sequence[str], lines: Mapping[str, _Found], what: str, *, prefix: str
) -> Picture | None:
    versions = [printable(name) for name in order]
    values = [
        _point(name, version, points.get(version))
        for name, points in lines.items()
        for version in order
        if version == page.analysis.base or version in points
    ]
    if len(values) <= len(lines):
        return None
    named = Lines.named(printable(name) for name in lines)
    chart = alt.layer(*_layers(named, versions, _reach(values)), data=alt.InlineData(values=values))
    last = versions[-1]
    ends = [value for value in values if value["version"] == last]
    low = min(ends, key=lambda end: float(end["ratio"]), default=None)
    lowest = f" At {last}, {low['name']} is lowest, at {low['ratio']:.2f}." if low else ""
    return Picture(
        svg=svg(chart.properties(width=_WIDTH, height=_HEIGHT), prefix=prefix),
        title=capital(what),
        alternative=f"Throughput of {what} relative to {page.analysis.base}, over "
        f"{len(versions)} versions, with intervals.{lowest} The tables have the same figures.",
    )


def _point(name: str, version: str, effect: Effect | Summary | None) -> dict[str, Any]:
    own = Interval(low=1.0, ratio=1.0, high=1.0) if effect is None else Interval.of(effect)
    return {
        "name": printable(name),
        "version": printable(version),
        "ratio": own.ratio,
        "low": own.low,
        "high": own.high,
    }


def _reach(values: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return from where to where the axis goes: all ratios, and as much again of intervals."""
    ratios = [math.log(float(value["ratio"])) for value in values]
    widest = 2 * max(*map(abs, ratios), math.log1p(LEAST_REACH))
    low = min(max(math.log(float(value["low"])), -widest) for value in values)
    high = max(min(math.log(float(value["high"])), widest) for value in values)
    least = math.log1p(LEAST_REACH)
    return math.exp(min(low, -least) * 1.05), math.exp(max(high, least) * 1.05)


def _ticks(low: float, high: float) -> list[float]:
    """Return round ratios from one to the other, not many, 1 among them."""
    step = next((stride for stride in _STRIDES if (high - low) / stride <= _MOST_TICKS), high - low)
    return [round(count * step, 4) for count in range(math.ceil(low / step), int(high / step) + 1)]


def _layers(lines: Lines, versions: Sequence[str], reach: tuple[float, float]) -> list[alt.Chart]:
    x = alt.X(
        "version:O",
        sort=list(versions),
        scale=alt.Scale(type="point", padding=0.3),
        axis=alt.Axis(title=None, grid=False, labelAngle=0 if len(versions) < 6 else -45),
    )
    y = alt.Y(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=list(reach), nice=False, clamp=True),
        axis=alt.Axis(title=None, format=".2~f", grid=True, values=_ticks(*reach)),
    )
    line_at_one = alt.Chart().mark_rule(color="var(--ink)", strokeDash=[2, 2])
    return [
        line_at_one.encode(y=alt.datum(1, type="quantitative")),
        *banded(lines, x, y, _WIDTH, clip=True),
    ]
