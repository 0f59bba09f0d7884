"""Published ratios beside a run's own: matched by step, group and threads, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dbhone.analysis.indirect import Links
from dbhone.analysis.levels import average_ratio
from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import Analysis
from dbhone.errors import UsageError
from dbhone.measurement.metric import BY_NAME, THROUGHPUT
from dbhone.measurement.record import Run, Step, Subject, wholes
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.context import EMPTY, heading
from dbhone.report.publication import (
    GroupFigures,
    Pair,
    Publication,
    PublishedChoice,
    Spread,
    fits,
    pairs,
)
from dbhone.report.table import Cell, Column, Row, Table, columns
from dbhone.report.wording import margin, ratio
from dbhone.units import count_of

BUILD_TIME = "build time"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A published ratio and one's own, of the same quantity.

    ``what`` is a step, or a group with the figure of its steps' ratios; ``metric`` is that of the
    ratio, or a build's time. ``threads`` are those of the run, ``in_sample`` tells of the run
    whether it trained on the step; both are None for builds. ``low`` to ``high`` is one's own
    interval, None where there is none.
    """

    what: str
    metric: str
    threads: int | None = None
    in_sample: bool | None = None
    published: float
    ratio: float
    low: float | None = None
    high: float | None = None

    @property
    def lies(self) -> str | None:
        """Where the published ratio lies: within one's own interval, above or below it."""
        if self.low is None or self.high is None:
            return None
        if self.published > self.high:
            return "above"
        return "below" if self.published < self.low else "within"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedComparison:
    """One published subject beside one of the run's.

    ``unmatched`` counts the published ratios that have no like in the run, ``alone`` the run's
    steps that have none in the publication.
    """

    publication: Publication
    pair: Pair
    base: Subject
    rows: tuple[PublishedRow, ...]
    unmatched: int
    alone: int


def compare_with_published(
    run: Run, samples: SampleArray, analysis: Analysis, links: Links, request: PublishedChoice
) -> tuple[PublishedComparison, ...]:
    """Compare a run with a publication, once for each pair of subjects.

    ``links`` are those of joined runs. Raises UsageError if the run has no base to compare with, or
    no subject that is meant.
    """
    base = run.base
    if base is None:
        raise UsageError(
            f"run {run.id} has no base, and so no ratios beside which those of"
            f" {request.publication.name} could stand"
        )
    return tuple(
        _Side(run, base, samples, analysis, links, request.publication, pair).comparison()
        for pair in pairs(request, run, base)
    )


class _Side:
    """One pair, and all that its rows are made of."""

    def __init__(
        self,
        run: Run,
        base: Subject,
        samples: SampleArray,
        analysis: Analysis,
        links: Links,
        publication: Publication,
        pair: Pair,
    ) -> None:
        self.run = run
        self.base = base
        self.samples = samples
        self.links = links
        self.of = publication
        self.pair = pair
        self.effects = {
            (effect.step, effect.metric): effect
            for effect in analysis.effects
            if effect.subject == pair.mine.name
        }
        self.unmatched = 0
        self.used: set[str] = set()

    def comparison(self) -> PublishedComparison:
        rows = (*self.of_steps(), *self.of_groups(), *self.of_builds())
        return PublishedComparison(
            publication=self.of,
            pair=self.pair,
            base=self.base,
            # Held-out and in-sample rows stand apart, and so do metrics.
            rows=tuple(sorted(rows, key=lambda row: (bool(row.in_sample), _place(row.metric)))),
            unmatched=self.unmatched,
            alone=len({step.name for step in wholes(self.run.steps)} - self.used),
        )

    def of_steps(self) -> Iterator[PublishedRow]:
        same_suite = self.run.suite == self.of.suite
        steps = [step for step in self.run.steps if same_suite and not step.key]
        known = {(step.suite_set, step.threads): step for step in steps}
        for figures in self.of.steps:
            mine, base = figures.values[self.pair.theirs], figures.values[self.of.base]
            for threads, own, other in zip(figures.threads, mine, base, strict=True):
                step = known.get((figures.step, threads))
                effect = self.effects.get((step.name, figures.metric)) if step else None
                if step is None or effect is None:
                    self.unmatched += 1
                    continue
                self.used.add(step.name)
                yield PublishedRow(
                    what=figures.step,
                    metric=figures.metric,
                    threads=threads,
                    in_sample=step.in_sample,
                    published=own / other,
                    ratio=effect.ratio,
                    low=effect.low,
                    high=effect.high,
                )

    def of_groups(self) -> Iterator[PublishedRow]:
        for figures in self.of.groups:
            rows = [
                row
                for in_sample in (False, True)
                for row in self._group(figures, self._steps(figures, in_sample=in_sample))
            ]
            self.unmatched += len(Spread.model_fields) - len({row.what for row in rows})
            yield from rows

    def _steps(self, figures: GroupFigures, *, in_sample: bool) -> list[Step]:
        """Return the steps of a group at the published number of threads, or at the run's only."""
        at = {step.threads for step in self.run.steps}
        threads = figures.threads if figures.threads in at or len(at) > 1 else next(iter(at), None)
        return [
            step
            for step in wholes(self.run.steps)
            if step.group.value in figures.groups
            and step.in_sample is in_sample
            and step.threads == threads
        ]

    def _group(self, figures: GroupFigures, steps: Sequence[Step]) -> Iterator[PublishedRow]:
        own = average_ratio(
            self.samples,
            self.pair.mine.name,
            self.base.name,
            [step.name for step in steps],
            steps=self.run.steps,
            controls=self.run.controls,
            links=self.links,
        )
        if own is None:
            return
        self.used.update(step.name for step in steps)
        published = figures.values[self.pair.theirs]
        for line in Spread.model_fields:
            mine = getattr(own, line)
            if mine is not None:
                yield PublishedRow(
                    what=f"{' and '.join(figures.groups)}: {line}",
                    metric=THROUGHPUT.name,
                    threads=steps[0].threads,
                    in_sample=steps[0].in_sample,
                    published=getattr(published, line),
                    ratio=mine,
                    low=own.low if line == "average" else None,
                    high=own.high if line == "average" else None,
                )

    def of_builds(self) -> Iterator[PublishedRow]:
        """Yield the compilers' CPU time: the published builds made one thing at a time."""
        if not self.of.build_seconds:
            return
        seconds = self.of.build_seconds
        mine, other = self.pair.mine.timings, self.base.timings
        if mine is None or other is None or not other.cpu_seconds:
            self.unmatched += 1
            return
        yield PublishedRow(
            what=BUILD_TIME,
            metric=BUILD_TIME,
            published=seconds[self.pair.theirs] / seconds[self.of.base],
            ratio=mine.cpu_seconds / other.cpu_seconds,
        )


def _place(metric: str) -> int:
    return list(BY_NAME).index(metric) if metric in BY_NAME else len(BY_NAME)


_WIDTH = 5
_CACHED = "cached"


def published_table(comparison: PublishedComparison, run: Run) -> Table:
    """Return the ratios, theirs and one's own, part by part and metric by metric."""
    theirs, mine = comparison.pair.theirs, comparison.pair.mine.name
    published = f"{comparison.publication.author}: {theirs} ÷ {comparison.publication.base}"
    return Table(
        title=f"Beside {comparison.publication.name}: {theirs}, and {mine} here",
        caption=" ".join(_caption(comparison, run)),
        columns=(
            *columns("Step", ("Threads", published, f"here: {mine} ÷ {comparison.base.name}")),
            Column(title="published is", numeric=False),
        ),
        rows=tuple(_rows(comparison, run)),
    )


def _caption(comparison: PublishedComparison, run: Run) -> Iterator[str]:
    publication, pair = comparison.publication, comparison.pair
    dated = "" if publication.date == "not told" else f", {publication.date}"
    yield f"{publication.title}: {publication.author}, {publication.source}{dated}."
    yield f"Theirs is {publication.what} on {publication.machine}; {publication.note}."
    yield (
        f"Ratios only: {pair.theirs} ÷ {publication.base} there, {pair.mine.name} ÷"
        f" {comparison.base.name} here ({pair.mine.name} stands for {pair.theirs} {pair.why})."
    )
    yield from _differences(comparison, run)
    matched = count_of(len(comparison.rows), "row")
    yield (
        f"{matched}; not shown, as they have no counterpart:"
        f" {count_of(comparison.unmatched, 'published ratio')} and"
        f" {count_of(comparison.alone, 'step')} of this run."
    )
    yield "The last column says whether the published ratio is within the interval found here."
    if any(row.metric != THROUGHPUT.name for row in comparison.rows):
        yield "Of everything but throughput less is better."


def _differences(comparison: PublishedComparison, run: Run) -> Iterator[str]:
    """Yield why the two cannot be compared fully."""
    publication, base = comparison.publication, comparison.base
    if not fits(publication, publication.base, base):
        yield f"The bases differ: here it is {getattr(base, publication.by.value)}."
    yield f"Here it was {base.dbms} {base.version}."
    if publication.build_seconds:
        yield _built(comparison.pair.mine, base)
    if publication.suite not in (None, run.suite):
        yield f"Theirs are steps of the suite {publication.suite}, here it is {run.suite_name}."
    threads = {group.threads for group in publication.groups}
    here = {row.threads for row in comparison.rows if row.threads is not None}
    if threads and here and threads != here:
        yield f"Theirs was at {_numbers(threads)} threads, this at {_numbers(here)}."
    own_regime = run.declared.workload.get("regime", _CACHED)
    if publication.regime is not None and publication.regime != own_regime:
        yield f"Their regime was {publication.regime}, here it is {own_regime}."


def _built(mine: Subject, base: Subject) -> str:
    """Say whether whole trees were built here, as theirs were, or the servers alone."""
    alone = [each.name for each in (mine, base) if each.inputs.get("targets") != "all"]
    if not alone:
        return "Here, too, it is all that the configured trees have."
    return (
        f'Here, of {" and ".join(alone)}, it is the server alone: targets = "all" builds the rest.'
    )


def _numbers(numbers: set[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _rows(comparison: PublishedComparison, run: Run) -> Iterator[Row]:
    parts = len({step.in_sample for step in run.steps}) > 1
    for (in_sample, metric), rows in groupby(
        comparison.rows, key=lambda row: (row.in_sample, row.metric)
    ):
        title = _title(metric)
        part = "in-sample" if in_sample else "held-out"
        yield heading(f"{title}, {part}" if parts and in_sample is not None else title, _WIDTH)
        yield from (_row(row) for row in rows)


def _title(metric: str) -> str:
    known = BY_NAME.get(metric)
    return metric if known is None else known.title


def _row(row: PublishedRow) -> Row:
    return Row(
        cells=(
            Cell(text=row.what),
            EMPTY if row.threads is None else Cell(text=str(row.threads)),
            Cell(text=ratio(row.published)),
            Cell(text=ratio(row.ratio), margin=margin(half_width(row))),
            Cell(text=row.lies or ""),
        )
    )
