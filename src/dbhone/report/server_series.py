"""What the servers did meanwhile: courses of the steps whose effects are the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from dbhone.analysis.median_series import MOST_POINTS, Course, find_courses
from dbhone.analysis.verdict import Direction, tone
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, Step
from dbhone.measurement.series import CPU, MEMORY, OF_ALL, PACE, READ, WRITTEN, Observation
from dbhone.report.context import ReportContext
from dbhone.units import count_of

_MOST_STEPS = 4
_LEAST_SECONDS = 3
"""How many points make a line; a slice of a second or two has none that could be drawn."""
_MOST_COUNTERS = 8
_POINTS_OF_ALL, _LEAST_POINTS = 480, 20
"""How many points the lines of a panel have together, lest the page grow too large."""
_TITLES = {
    PACE: ("throughput", "ops/s", 1.0),
    CPU: ("server CPU", "cores", 1.0),
    READ: ("read", "MB/s", 1e-6),
    WRITTEN: ("written", "MB/s", 1e-6),
    MEMORY: ("memory", "MB", 1e-6),
}
_UNITS = {"1/s": "per second", "1": "", "s/s": "threads waiting"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One quantity, a course for each subject; figures times ``factor`` have this unit."""

    title: str
    unit: str
    factor: float
    courses: tuple[Course, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanwhile:
    """One step: its panels on one axis of time. ``left_out`` counts those that are not shown."""

    step: Step
    panels: tuple[Panel, ...]
    left_out: int


def meanwhile(of: ReportContext, observations: Sequence[Observation]) -> tuple[Meanwhile, ...]:
    """Return what to draw of the steps that differ most; the rest is in the data."""
    observed = {each.set for each in observations}
    steps = [each for each in _by_effect(of) if each.set in observed][:_MOST_STEPS]
    points = max(_LEAST_POINTS, min(MOST_POINTS, _POINTS_OF_ALL // max(1, len(of.subjects))))
    courses = [
        each
        for each in find_courses(observations, [each.set for each in steps], most_points=points)
        if len(each.at) >= _LEAST_SECONDS
    ]
    found = (_meanwhile(step, [one for one in courses if one.set == step.set]) for step in steps)
    return tuple(each for each in found if each.panels)


def meanwhile_note(of: ReportContext, shown: Sequence[Meanwhile]) -> str:
    """Return how the pictures are read."""
    courses = (course for one in shown for panel in one.panels for course in panel.courses)
    blocks = max((each.blocks for each in courses), default=0)
    some = len(shown) < len(of.run.steps)
    which = "These are the steps whose throughput differs most from the base's. " if some else ""
    return (
        f"{which}Lines are the medians of {count_of(blocks, 'block')} at each second of a slice, "
        "bands the middle half of them. A driver that is started for its slice connects first, so "
        "its first second is never a full one. What stayed at zero is not drawn."
    )


def _by_effect(of: ReportContext) -> list[Step]:
    """Return the steps, those with found differences first, the largest first."""

    def rank(step: Step) -> tuple[bool, float]:
        effects = [
            of.effect(each, step, THROUGHPUT) for each in of.others if each.role is not Role.CONTROL
        ]
        found = [each for each in effects if each is not None]
        sure = any(tone(each) in {Direction.BETTER, Direction.WORSE} for each in found)
        size = max((abs(math.log(each.ratio)) for each in found), default=0.0)
        return not sure, -size

    return sorted(of.run.steps, key=rank)


def _meanwhile(step: Step, courses: Sequence[Course]) -> Meanwhile:
    panels = [_panel(group) for group in _by_quantity(courses) if _moves(group)]
    general = [each for each in panels if each.courses[0].quantity in OF_ALL]
    general.sort(key=lambda each: OF_ALL.index(each.courses[0].quantity))
    counters = _in_turn([each for each in panels if each not in general])
    return Meanwhile(
        step=step,
        panels=(*general, *counters[:_MOST_COUNTERS]),
        left_out=max(0, len(counters) - _MOST_COUNTERS),
    )


def _by_quantity(courses: Sequence[Course]) -> list[list[Course]]:
    quantities = dict.fromkeys(each.quantity for each in courses)
    return [[each for each in courses if each.quantity == quantity] for quantity in quantities]


def _moves(courses: Sequence[Course]) -> bool:
    return any(each for course in courses for each in course.high)


def _panel(courses: Sequence[Course]) -> Panel:
    quantity = courses[0].quantity
    plain = (quantity.name, _UNITS.get(quantity.unit, quantity.unit), 1.0)
    title, unit, factor = _TITLES.get(quantity, plain)
    return Panel(title=title, unit=unit, factor=factor, courses=tuple(courses))


def _in_turn(panels: Sequence[Panel]) -> list[Panel]:
    """Return the counters, each source's largest first, then each source's next."""
    sources: dict[str, list[Panel]] = {}
    for each in sorted(panels, key=_height, reverse=True):
        sources.setdefault(each.title.partition(".")[0], []).append(each)
    rounds = zip_longest(*(sources[name] for name in sorted(sources)))
    return [each for each in chain.from_iterable(rounds) if each is not None]


def _height(panel: Panel) -> float:
    return max(each for course in panel.courses for each in course.values)
