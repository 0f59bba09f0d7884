"""Pictures of a page's effects.

Axes show ratios on a logarithmic scale, the same on both sides of 1, so that twice as fast
is as far to the right as half as fast is to the left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from dbhone.analysis.verdict import Direction, Effect, Summary, direction_of
from dbhone.measurement.record import Group, Role, wholes
from dbhone.report.context import label
from dbhone.report.drawing import LEAST_REACH, Picture, named_axis, panel_header, svg
from dbhone.report.page import Page
from dbhone.report.table import Interval
from dbhone.report.wording import ends, ratio, verdict_words
from dbhone.safe_text import printable

MOST_MARKS = 1500
"""A picture of more single effects than this would be neither legible nor small."""
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_DOUBLINGS = math.log(2.2)
_PANEL, _GAP = 118, 30
_MOST_IN_WORDS = 12
_SHAPES = {
    Direction.BETTER: "triangle-right",
    Direction.WORSE: "triangle-left",
    Direction.LIKELY_BETTER: "triangle-right",
    Direction.LIKELY_WORSE: "triangle-left",
    Direction.SAME: "circle",
    Direction.UNKNOWN: "diamond",
}
_COLOURS = dict.fromkeys(_SHAPES, "var(--same)") | {
    Direction.BETTER: "var(--better)",
    Direction.WORSE: "var(--worse)",
}


def summary_picture(page: Page, *, in_sample: bool) -> Picture | None:
    """Draw each subject's summaries, a panel for each group, the A/A control's as a band.

    Return None if there is nothing to draw. The axis covers all summaries, so that the held-out and
    the in-sample picture can be compared.
    """
    every = page.analysis.throughput_summaries
    of_part = [effect for effect in every if effect.in_sample is in_sample]
    if not of_part:
        return None
    several = len({effect.group for effect in of_part}) > 2
    drawn = [effect for effect in of_part if several or effect.group is None]
    names = _names(page, {effect.subject for effect in drawn})
    axis = _axis(_reach(every, whole=True), most=3)
    panels = list(dict.fromkeys(_panel(effect) for effect in drawn))
    layers = _summary_layers(page, drawn, names, axis)
    chart = layers.properties(width=340, height=alt.Step(20)).facet(
        row=alt.Row("panel:N", sort=panels, header=panel_header(300)), spacing=6
    )
    table = page.step_tables.groups[in_sample]
    return Picture(
        svg=svg(chart, prefix=f"s{int(in_sample)}"),
        alternative=f"{_description(page, drawn)} The table {table.title} above has all figures.",
    )


def _description(page: Page, summaries: Sequence[Summary]) -> str:
    """Return what the picture shows over all steps, of candidates if there are any."""
    scores = {effect.subject: effect for effect in summaries if effect.group is None}
    drawn = [subject for subject in page.ordered if subject.name in scores]
    named = [subject for subject in drawn if subject.role is Role.CANDIDATE] or drawn
    texts = [_in_words(scores[subject.name]) for subject in named[:_MOST_IN_WORDS]]
    more = len(named) - len(texts)
    words = "; ".join([*texts, *([f"and {more} more"] if more else [])])
    return printable(f"Throughput relative to {page.analysis.base} over all steps: {words}.")


def _in_words(score: Summary) -> str:
    """Return a subject with its figure and verdict: ``pgo 1.071 (1.060 to 1.082), faster``."""
    interval = f" ({ends(score)})" if ends(score) else ""
    return f"{score.subject} {ratio(score.ratio)}{interval}, {verdict_words(score)}"


def _summary_layers(
    page: Page, summaries: Sequence[Summary], names: Mapping[str, str], axis: alt.X
) -> alt.LayerChart | alt.FacetChart:
    """Draw summaries, a row for each subject, over the A/A control's as a band."""
    values = [
        {
            **_point(effect),
            "name": names[effect.subject],
            "panel": _panel(effect),
            "control": effect.subject in page.run.controls,
        }
        for effect in summaries
    ]
    return alt.layer(
        _band(), _one(), *_whiskers(axis, list(names.values())), data=alt.InlineData(values=values)
    )


def _panel(summary: Summary) -> str:
    return summary.group.value if summary.group is not None else "all steps"


def step_picture(page: Page, *, in_sample: bool) -> Picture | None:
    """Draw each step's effects, a panel for each subject, in the order of the table.

    Return None if there is nothing to draw, or too much (``MOST_MARKS``). Intervals may leave the
    picture on noisy steps; ratios do not.
    """
    every = page.analysis.throughput_effects
    drawn = [effect for effect in every if effect.in_sample is in_sample]
    if not drawn or len(drawn) > MOST_MARKS:
        return None
    names = _names(page, {effect.subject for effect in drawn})
    own_steps = wholes(page.steps_with_parts(in_sample))
    steps = [printable(step.name) for group in Group for step in own_steps if step.group is group]
    values = [
        {**_point(effect), "name": printable(effect.step), "panel": names[effect.subject]}
        for effect in drawn
    ]
    axis = _axis(_reach(every, whole=False), most=1)
    layers = alt.layer(_one(), *_whiskers(axis, steps), data=alt.InlineData(values=values))
    chart = layers.properties(width=_PANEL, height=alt.Step(15)).facet(
        column=alt.Column(
            "panel:N", sort=list(names.values()), header=panel_header(_PANEL + _GAP - 10)
        ),
        spacing=_GAP,
    )
    return Picture(
        svg=svg(chart, prefix=f"t{int(in_sample)}"),
        alternative=f"Throughput of {len(steps)} steps on {len(names)} subjects relative to "
        f"{page.analysis.base}, with intervals. The table above has the same figures.",
    )


def _names(page: Page, names: set[str]) -> dict[str, str]:
    return {
        subject.name: printable(label(subject)) for subject in page.ordered if subject.name in names
    }


def _point(effect: Effect | Summary) -> dict[str, Any]:
    own = Interval.of(effect)
    tone = direction_of(effect).value
    return {"ratio": own.ratio, "low": own.low, "high": own.high, "tone": tone}


def _reach(effects: Sequence[Effect | Summary], *, whole: bool) -> float:
    """Return how far the axis goes from 1 on the logarithmic scale.

    With ``whole``, all intervals are inside; otherwise all ratios are, and as much again of the
    intervals.
    """
    ratios = max(abs(math.log(effect.ratio)) for effect in effects)
    ends = [end for effect in effects for end in (effect.low, effect.high) if end is not None]
    intervals = max((abs(math.log(end)) for end in ends), default=0.0)
    wide = intervals if whole else min(intervals, 2 * ratios)
    return max(ratios, wide, math.log1p(LEAST_REACH)) * 1.08


def _axis(reach: float, most: int) -> alt.X:
    """Return an axis with at most ``most`` ticks to the left of 1, and like ones to the right."""
    return alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[math.exp(-reach), math.exp(reach)], nice=False),
        axis=alt.Axis(
            values=_ticks(reach, most),
            format=".3~r" if reach > _DOUBLINGS else ".2f",
            title=None,
            labelFlush=False,
            labelOverlap="greedy",
        ),
    )


def _ticks(reach: float, most: int) -> list[float]:
    """Return round ratios on both sides of 1; doublings and halvings on a long axis."""
    if reach > _DOUBLINGS:
        doublings = int(reach / math.log(2))
        stride = math.ceil(doublings / most)
        return [2.0**power for power in range(-doublings, doublings + 1) if power % stride == 0]
    left = -math.expm1(-reach)
    step = next(candidate for candidate in _STEPS if left / candidate < most + 1)
    right = min(int(math.expm1(reach) / step), most)
    return [round(1 + step * count, 4) for count in range(-int(left / step), right + 1)]


def _whiskers(axis: alt.X, order: list[str]) -> list[alt.Chart]:
    y = alt.Y("name:N", sort=order, title=None, axis=named_axis(order))
    colour = alt.Color("tone:N", scale=_scale(_COLOURS), legend=None)
    shape = alt.Shape("tone:N", scale=_scale(_SHAPES), legend=None)
    low = alt.X("low:Q")
    return [
        alt.Chart().mark_rule(strokeWidth=2, clip=True).encode(low, y, colour, x2="high:Q"),
        alt.Chart()
        .mark_point(filled=True, size=60, opacity=1, clip=True)
        .encode(axis, y, colour, shape),
    ]


def _scale(choices: dict[Direction, str]) -> alt.Scale:
    return alt.Scale(domain=[choice.value for choice in choices], range=list(choices.values()))


def _band() -> alt.Chart:
    controls = alt.Chart().transform_filter("datum.control")
    band: alt.Chart = controls.mark_rect(color="var(--band)").encode(x="low:Q", x2="high:Q")
    return band


def _one() -> alt.Chart:
    line = alt.Chart().mark_rule(color="var(--ink)", strokeDash=[2, 2])
    line_at_one: alt.Chart = line.encode(x=alt.datum(1, type="quantitative"))
    return line_at_one
