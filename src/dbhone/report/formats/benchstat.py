"""Each subject's figures with their intervals, and what changed: tables as Go's benchstat has."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbhone.analysis.estimate import MINIMUM_FOR_INTERVAL
from dbhone.analysis.levels import Level
from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import MINIMUM_BLOCKS, Effect, Summary, Verdict
from dbhone.measurement.metric import METRICS, Metric
from dbhone.measurement.record import Step, Subject, wholes
from dbhone.report.figures import UNITS, configuration, scaled
from dbhone.report.formats.base import Format
from dbhone.report.page import Page
from dbhone.safe_text import flat

_GAP = "  "
_NO_INTERVAL = "¹"
_NO_VERDICT = "²"
_MEAN = "geomean"


class Benchstat(Format):
    """A table for each metric and part: steps down, subjects across, the geometric mean last.

    ``14.10k ± 2%`` is a figure with half of its interval, ``+4.20% ±1.7% (p=0.000 n=14)`` its
    change against the base with half of the change's own interval, p after Holm's correction and
    the blocks; ``~`` where no difference was found. Footnotes say why something is not there.
    """

    name = "benchstat"
    suffix = ".benchstat.txt"

    def render(self, page: Page) -> bytes:
        """Return the configuration and the tables; held-out and in-sample steps are apart."""
        return ("\n".join(_lines(page)) + "\n").encode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """One metric on the steps of one part."""

    page: Page
    metric: Metric
    in_sample: bool
    steps: Sequence[Step]
    levels: Mapping[tuple[str, str], Level]
    effects: Mapping[tuple[str, str], Effect]

    @property
    def unit(self) -> str:
        return UNITS[self.metric]

    @property
    def subjects(self) -> list[Subject]:
        """The subjects of which anything is known, the base first."""
        known = {name for name, _ in self.levels}
        return [subject for subject in self.page.ordered if subject.name in known]

    def summary(self, subject: Subject) -> Summary | None:
        return self.page.analysis.summary(
            subject.name, in_sample=self.in_sample, metric=self.metric.name
        )

    def mean(self, subject: Subject) -> str:
        """Return the geometric mean of a subject's figures; empty if not all are there.

        Steps that the summary leaves out for too few blocks are among them.
        """
        whole = wholes(self.steps)
        measurements = [self.levels.get((subject.name, step.name)) for step in whole]
        values = [
            measurement.value
            for measurement in measurements
            if measurement is not None and measurement.value > 0
        ]
        if len(values) < len(whole):
            return ""
        return scaled(statistics.geometric_mean(values), self.unit)


def _lines(page: Page) -> Iterator[str]:
    yield from configuration(page)
    for part in page.in_sample:
        if len(page.in_sample) > 1:
            yield f"part: {'in-sample' if part else 'held-out'}"
        for metric in METRICS:
            table = _table(page, metric, in_sample=part)
            if table.levels:
                yield from _laid_out(table)
                yield from _footnotes(table)
                yield ""
    yield flat(page.headline)


def _table(page: Page, metric: Metric, *, in_sample: bool) -> _Table:
    steps = page.steps_with_parts(in_sample)
    names = {step.name for step in steps}
    return _Table(
        page=page,
        metric=metric,
        in_sample=in_sample,
        steps=steps,
        levels={
            (level.subject, level.step): level
            for level in page.levels
            if level.metric == metric.name and level.step in names
        },
        effects={
            (effect.subject, effect.step): effect
            for effect in page.analysis.effects
            if effect.metric == metric.name and effect.step in names
        },
    )


def _laid_out(table: _Table) -> Iterator[str]:
    """Yield the lines: the subjects' names, the units, a line for each step, and the means."""
    columns = [
        _names(table),
        *(column for subject in table.subjects for column in _columns(table, subject)),
    ]
    widths = [max(len(cell) for cell in column[1:]) for column in columns]
    # A subject's name stands over all of its columns, which make room for it.
    heads = [column[0] for column in columns]
    for at, head in enumerate(heads):
        last = next((end for end in range(at + 1, len(heads)) if heads[end]), len(heads)) - 1
        room = sum(widths[at : last + 1]) + len(_GAP) * (last - at)
        widths[last] += max(0, len(head) - room) if head else 0
    yield _line([head and f"│ {head}" for head in heads], widths)
    for row in range(1, len(columns[0])):
        yield _line([column[row] for column in columns], widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return the cells side by side; a name may continue over the empty cells that follow it."""
    text = ""
    start = 0
    for cell, width in zip(cells, widths, strict=True):
        if cell:
            text = text.ljust(start) + cell
        start += width + len(_GAP)
    return text.rstrip()


def _names(table: _Table) -> list[str]:
    return ["", "", *(flat(step.name) for step in table.steps), _MEAN]


def _columns(table: _Table, subject: Subject) -> Iterator[list[str]]:
    """Yield a subject's columns: its figures and, unless it is the base, what changed."""
    figures = (_figure(table, table.levels.get((subject.name, step.name))) for step in table.steps)
    yield [flat(subject.name), f"│ {table.unit}", *figures, _indented(table.mean(subject))]
    if subject.name == table.page.analysis.base:
        return
    changes = (_change(table.effects.get((subject.name, step.name))) for step in table.steps)
    yield ["", "vs base", *changes, _change(table.summary(subject))]


def _figure(table: _Table, level: Level | None) -> str:
    if level is None:
        return ""
    half = half_width(level)
    margin = f"∞ {_NO_INTERVAL}" if half is None else f"{half:.0%}"
    return _indented(f"{scaled(level.value, table.unit)} ± {margin}")


def _indented(text: str) -> str:
    return text and f"  {text}"


def _change(effect: Effect | Summary | None) -> str:
    if effect is None:
        return ""
    if effect.verdict == Verdict.NOT_ENOUGH_DATA or effect.p_adjusted is None:
        return f"? (n={effect.blocks}) {_NO_VERDICT}"
    tested = f"(p={effect.p_adjusted:.3f} n={effect.blocks})"
    half = half_width(effect)
    if effect.verdict == Verdict.NO_DIFFERENCE or half is None:
        return f"~ {tested}"
    return f"{(effect.ratio - 1) * 100:+.2f}% ±{half:.1%} {tested}"


def _footnotes(table: _Table) -> Iterator[str]:
    """Yield what must be known of the table, and why something is not in it."""
    effects = list(table.effects.values())
    if any(half_width(level) is None for level in table.levels.values()):
        yield (
            f"{_NO_INTERVAL} need >= {MINIMUM_FOR_INTERVAL} blocks of figures above zero for an"
            " interval"
        )
    summaries = [table.summary(subject) for subject in table.subjects]
    told: list[Effect | Summary] = [*effects, *(one for one in summaries if one is not None)]
    if any(one.verdict == Verdict.NOT_ENOUGH_DATA for one in told):
        yield f"{_NO_VERDICT} need >= {MINIMUM_BLOCKS} blocks for a verdict"
    least = [effect.findable for effect in effects if effect.findable is not None]
    if least:
        low, high = (f"{end:.1%}" for end in (min(least), max(least)))
        sizes = low if low == high else f"{low} to {high}, by step"
        yield f"~ no difference found; half of such runs would have found one of {sizes}"
    if table.steps:
        yield (
            f"{_MEAN}: of unlike steps' figures, which have no interval as one; what changed has,"
            " over the blocks"
        )
    if len(wholes(table.steps)) < len(table.steps):
        yield f"SET/KEY is a part of SET, and not in the {_MEAN}"
    if effects:
        yield "p is corrected (Holm) for the number of comparisons"


PLUGIN = Benchstat()
