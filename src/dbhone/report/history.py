"""The history of a DBMS: where its throughput changed from version to version, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dbhone.analysis.change_points import LEAST_CHANGE, find_changes
from dbhone.analysis.history import Change, History, Lineage, Segment, VersionTrend
from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import Direction, Verdict
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.context import (
    EMPTY,
    Portion,
    ReportContext,
    group_name,
    heading,
    label,
    short_names,
)
from dbhone.report.table import Cell, Row, Table, columns, signed
from dbhone.report.wording import ends, figure, joined, margin, ratio
from dbhone.units import count_of

_MOST_TOLD = 3
"""How many changes the headline tells; the table has them all."""
_COLUMNS = 3


def history_of(run: Run, samples: SampleArray, lineage: Lineage) -> History | None:
    """Return the changes of a history, None if it is none or too little was measured."""
    if len(lineage.versions) < 2 or not samples.has(THROUGHPUT):
        return None
    changes = find_changes(samples, lineage, steps=run.steps)
    return changes if len(changes.versions) > 1 else None


def arrows(history: History) -> dict[tuple[str, str], str]:
    """Return the signs of the steps' changes, by version and step."""
    return {
        (change.after, trend.step): _arrow(change)
        for trend in history.steps
        for change in trend.changes
        if trend.step is not None
    }


def group_table(context: ReportContext, history: History, portion: Portion) -> Table:
    """Return one portion by group: groups down, versions across."""
    rows = []
    for trend in history.groups:
        if trend.in_sample is portion.in_sample:
            signs = {change.after: _arrow(change) for change in trend.changes}
            figures = (
                signed(figure(context.find(other, portion, trend.group)), signs.get(other.name, ""))
                for other in context.others
            )
            rows.append(Row(cells=(Cell(text=group_name(trend.group)), *figures)))
    return Table(
        title=f"{portion.title} by group",
        caption=f"{portion.words} Geometric means of the ratios to {context.base}, "
        "with their interval. ↓ and ↑ stand where a change begins.",
        columns=columns("Group", map(label, context.others)),
        rows=tuple(rows),
        drawn=True,
    )


def _arrow(change: Change) -> str:
    return "↓" if change.ratio < 1 else "↑"


def _change_words(change: Change, trend: VersionTrend, *, alone: bool = False) -> str:
    """Return a change in words: ``fell to 0.55 between 5.7.22 and 8.0.12``.

    The figures are the versions' own, to the oldest. The former is added where the new one alone
    would mislead, and for a later change that stands ``alone``. The place of a change from end to
    end is worded as a guess.
    """
    verb = "fell" if change.ratio < 1 else "rose"
    words = f"to {_figure(change.end.ratio)}"
    if change is trend.overall:
        how = f"seemingly with {trend.likely_cause}" if trend.likely_cause else "little by little"
        return f"{verb} {words} in all, {how}"
    contrary = (change.ratio < 1) is not (change.end.ratio < 1)
    first = change is trend.changes[0]
    if contrary or _has_moved(change.start) if first else alone:
        words = f"from {_figure(change.start.ratio)} {words}"
    return f"{verb} {words} between {change.before} and {change.after}"


def _has_moved(part: Segment) -> bool:
    """Return whether the version is off the oldest, though no change on the way was found."""
    return abs(math.log(part.ratio)) > math.log1p(LEAST_CHANGE)


def _figure(value: float) -> str:
    return f"{value:.3f}" if abs(value - 1) < 0.02 else f"{value:.2f}"


def changes_sentence(history: History, run: Run) -> str | None:
    """Return the largest changes, or how large a change could be that was not found.

    Return None if there is not enough data. The headline before it names the first and the last
    version.
    """
    known = [step for step in history.steps if step.findable is not None]
    changed = sorted(
        changed_steps(history),
        key=lambda trend: -max(change.size for change in trend.shown_changes),
    )
    if not changed:
        if not known:
            return None
        return (
            f"no change was found in {count_of(len(known), 'step')} "
            f"(half of such runs would have found one of {_findable(known)})."
        )
    short = short_names(run)
    texts = []
    for trend in changed[:_MOST_TOLD]:
        words = joined([_change_words(change, trend) for change in trend.shown_changes])
        texts.append(f"{short[trend.step or '']} {words}")
    more = len(changed) - len(texts)
    if more:
        texts.append(f"and {more} more")
    count = f"{len(changed)} of {count_of(len(history.steps), 'step')}"
    return f"{count} changed: {'; '.join(texts)}."


def changed_steps(history: History) -> list[VersionTrend]:
    """Return the steps with changes that are shown."""
    return [step for step in history.steps if step.shown_changes]


def _findable(known: Sequence[VersionTrend]) -> str:
    """Return how large a change would have been found: ``5 %``, ``5 to 16 %``."""
    sizes = [step.findable for step in known if step.findable is not None]
    low, high = (f"{size * 100:.0f}" for size in (min(sizes), max(sizes)))
    return f"{high} %" if low == high else f"{low} to {high} %"


def changes_table(context: ReportContext, history: History) -> Table:
    """Return all changes in words: groups first, then steps, in the order of the versions."""
    groups = [group for group in history.groups if group.versions]
    rows = [heading("groups of steps", _COLUMNS)] if groups else []
    rows += [row for group in groups for row in _group_rows(context, group)]
    rows += [heading("steps", _COLUMNS), *_step_rows(history, short_names(context.run))]
    return Table(
        title="Where it changed",
        caption=f"Each version is compared with the one before it, in the same blocks. A change is "
        f"of {LEAST_CHANGE:.0%} or more, of more than the A/A control shows, and so certain that "
        "chance would hardly bring one in the whole run (Holm, over all neighbours and steps; "
        "groups are a family of their own). The ratio is the "
        f"later version's own, to {history.versions[0]}'s throughput. Where no change was found, "
        "the last column says how large it would have had to be.",
        columns=columns("What was found", (f"Ratio to {history.versions[0]}", "Later ÷ earlier")),
        rows=tuple(rows),
    )


def _group_rows(context: ReportContext, trend: VersionTrend) -> Iterator[Row]:
    several = len(context.portions) > 1
    portion = f"{'in-sample' if trend.in_sample else 'held-out'} " if several else ""
    name = f"{group_name(trend.group)} {portion}steps{' together' if trend.group is None else ''}"
    for change in trend.shown_changes:
        yield _change_row(name, change, trend)
    if not trend.shown_changes:
        yield _unchanged_row(name, [trend])


def _step_rows(history: History, short: Mapping[str, str]) -> Iterator[Row]:
    place = {name: at for at, name in enumerate(history.versions)}
    changes = sorted(
        ((change, trend) for trend in history.steps for change in trend.shown_changes),
        key=lambda pair: (pair[1].overall is pair[0], place[pair[0].after], -pair[0].size),
    )
    for change, trend in changes:
        yield _change_row(short[trend.step or ""], change, trend)
    others = [step for step in history.steps if not step.shown_changes]
    if others:
        yield _unchanged_row(count_of(len(others), "other step" if changes else "step"), others)


def _unchanged_row(name: str, trends: Sequence[VersionTrend]) -> Row:
    known = [step for step in trends if step.findable is not None]
    text = f"no change found in {name}" if known else f"{name}: {Verdict.NOT_ENOUGH_DATA.value}"
    least = Cell(text=f"from {_findable(known)}") if known else EMPTY
    return Row(cells=(Cell(text=text), EMPTY, least))


def _change_row(name: str, change: Change, trend: VersionTrend) -> Row:
    falls = change.ratio < 1
    verdict, direction = (
        (Verdict.SLOWER, Direction.WORSE) if falls else (Verdict.FASTER, Direction.BETTER)
    )
    return Row(
        cells=(
            Cell(text=f"{name} {_change_words(change, trend, alone=True)}"),
            # How far it is from the oldest is not a verdict: only the change is tested.
            _ratio_cell(change.end),
            replace(_ratio_cell(change), verdict=verdict.value, direction=direction),
        )
    )


def _ratio_cell(part: Segment | Change) -> Cell:
    return Cell(text=ratio(part.ratio), margin=margin(half_width(part)), detail=ends(part))
