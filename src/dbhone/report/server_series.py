"""What the servers did meanwhile: median series of the steps whose effects are the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from dbhone.analysis.median_series import MOST_POINTS, MedianSeries, find_median_series
from dbhone.analysis.verdict import Direction, direction_of
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, Step, wholes
from dbhone.measurement.series import CPU, MEMORY, OF_ALL, PACE, READ, WRITTEN, Observation
from dbhone.report.context import ReportContext
from dbhone.units import count_of

_MOST_STEPS = 4
_LEAST_POINTS = 3
"""How many points make a line; a slice of a second or two has none that could be drawn."""
_MOST_COUNTERS = 8
_POINTS_OF_ALL = 480
"""How many points the lines of a panel have together, lest the page grow too large."""
_POINTS_OF_EACH = 20
"""How many points a line may have, however many lines there are."""
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
    """One quantity, a median series for each subject; figures times ``factor`` have this unit."""

    title: str
    unit: str
    factor: float
    series: tuple[MedianSeries, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSection:
    """One step: its panels on one axis of time. ``left_out`` counts those that are not shown."""

    step: Step
    panels: tuple[Panel, ...]
    left_out: int


def server_sections(
    context: ReportContext, observations: Sequence[Observation]
) -> tuple[ServerSection, ...]:
    """Return the sections of the steps that differ most; the data has all others."""
    observed = {observation.set for observation in observations}
    steps = [step for step in _by_effect(context) if step.set in observed][:_MOST_STEPS]
    points = max(_POINTS_OF_EACH, min(MOST_POINTS, _POINTS_OF_ALL // max(1, len(context.subjects))))
    median_series = [
        one_series
        for one_series in find_median_series(
            observations, [step.set for step in steps], most_points=points
        )
        if len(one_series.at) >= _LEAST_POINTS
    ]
    sections = (
        _section(step, [one_series for one_series in median_series if one_series.set == step.set])
        for step in steps
    )
    return tuple(section for section in sections if section.panels)


def server_series_note(context: ReportContext, sections: Sequence[ServerSection]) -> str:
    """Return how the pictures are read."""
    median_series = (
        one_series
        for section in sections
        for panel in section.panels
        for one_series in panel.series
    )
    blocks = max((one_series.blocks for one_series in median_series), default=0)
    some = len(sections) < len({step.set for step in wholes(context.run.steps)})
    which = "These are the steps whose throughput differs most from the base's. " if some else ""
    return (
        f"{which}Lines are the medians of {count_of(blocks, 'block')} at each second of a slice, "
        "bands the middle half of them. A driver that is started for its slice connects first, so "
        "its first second is never a full one. What stayed at zero is not drawn."
    )


def _by_effect(context: ReportContext) -> list[Step]:
    """Return the steps, those with found differences first, the largest first."""

    def rank(step: Step) -> tuple[bool, float]:
        effects = [
            context.effect(other, step, THROUGHPUT)
            for other in context.others
            if other.role is not Role.CONTROL
        ]
        known_effects = [effect for effect in effects if effect is not None]
        sure = any(
            direction_of(effect) in {Direction.BETTER, Direction.WORSE} for effect in known_effects
        )
        size = max((abs(math.log(effect.ratio)) for effect in known_effects), default=0.0)
        return not sure, -size

    # Servers are observed for a whole set: its parts would all have the same pictures.
    return sorted(wholes(context.run.steps), key=rank)


def _section(step: Step, median_series: Sequence[MedianSeries]) -> ServerSection:
    panels = [_panel(group) for group in _by_quantity(median_series) if _moves(group)]
    general = [panel for panel in panels if panel.series[0].quantity in OF_ALL]
    general.sort(key=lambda panel: OF_ALL.index(panel.series[0].quantity))
    counters = _in_turn([panel for panel in panels if panel not in general])
    return ServerSection(
        step=step,
        panels=(*general, *counters[:_MOST_COUNTERS]),
        left_out=max(0, len(counters) - _MOST_COUNTERS),
    )


def _by_quantity(median_series: Sequence[MedianSeries]) -> list[list[MedianSeries]]:
    quantities = dict.fromkeys(one_series.quantity for one_series in median_series)
    return [
        [one_series for one_series in median_series if one_series.quantity == quantity]
        for quantity in quantities
    ]


def _moves(median_series: Sequence[MedianSeries]) -> bool:
    return any(bound for one_series in median_series for bound in one_series.high)


def _panel(median_series: Sequence[MedianSeries]) -> Panel:
    quantity = median_series[0].quantity
    plain = (quantity.name, _UNITS.get(quantity.unit, quantity.unit), 1.0)
    title, unit, factor = _TITLES.get(quantity, plain)
    return Panel(title=title, unit=unit, factor=factor, series=tuple(median_series))


def _in_turn(panels: Sequence[Panel]) -> list[Panel]:
    """Return the counters, each source's largest first, then each source's next."""
    sources: dict[str, list[Panel]] = {}
    for panel in sorted(panels, key=_height, reverse=True):
        sources.setdefault(panel.title.partition(".")[0], []).append(panel)
    rounds = zip_longest(*(sources[name] for name in sorted(sources)))
    return [item for item in chain.from_iterable(rounds) if item is not None]


def _height(panel: Panel) -> float:
    return max(value for one_series in panel.series for value in one_series.values)
