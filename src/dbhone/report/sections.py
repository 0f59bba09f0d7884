"""The tables of a page, made from a run and its analysis."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dbhone.analysis.verdict import Analysis, Effect, Summary
from dbhone.analysis.winner import overall
from dbhone.measurement.metric import METRICS, THROUGHPUT, Metric
from dbhone.measurement.record import Group, Role, Run, Step, Subject
from dbhone.report.table import Cell, Column, Row, Table
from dbhone.report.wording import compiler, figure, joined
from dbhone.units import duration, size

_EMPTY = Cell(text="")
_BASE = Cell(text="1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What tables are made of. ``subjects`` are in the order in which they are shown."""

    run: Run
    analysis: Analysis
    subjects: tuple[Subject, ...]

    def steps(self, *, in_sample: bool) -> list[Step]:
        """Return the steps of one part, in the run's order."""
        return [step for step in self.run.steps if step.in_sample is in_sample]

    def parts(self) -> list[bool]:
        """Return the parts that have steps: held-out (False) first, in-sample (True) last."""
        return [part for part in (False, True) if self.steps(in_sample=part)]

    def part_title(self, in_sample: bool) -> str:
        """Return a part's name; where nothing was trained there is but one."""
        if self.parts() == [False]:
            return "All sets"
        return "In-sample" if in_sample else "Held-out"

    def find(self, subject: Subject, in_sample: bool, group: Group | None) -> Summary | None:
        """Return a throughput summary."""
        return self.analysis.summary(
            subject.name, in_sample=in_sample, group=group, metric=THROUGHPUT.name
        )


def material(run: Run, analysis: Analysis) -> Material:
    """Order the subjects: the base, the candidates from the best to the worst, the controls."""

    def rank(subject: Subject) -> tuple[int, bool, float]:
        score = overall(analysis, subject.name)
        place = (Role.BASE, Role.CANDIDATE, Role.CONTROL).index(subject.role)
        return place, score is None, -score.ratio if score is not None else 0.0

    return Material(run=run, analysis=analysis, subjects=tuple(sorted(run.subjects, key=rank)))


def label(subject: Subject) -> str:
    """Return a subject's name with what it is, if it is not a sound candidate."""
    notes = {Role.BASE: ["base"], Role.CONTROL: ["A/A"], Role.CANDIDATE: []}[subject.role]
    if subject.broken is not None:
        notes = [*notes, "broken"]
    return f"{subject.name} ({', '.join(notes)})" if notes else subject.name


def _row(subject: Subject, cells: Iterable[Cell]) -> Row:
    name = Cell(text=label(subject), detail=subject.broken or "")
    return Row(cells=(name, *cells), control=subject.role is Role.CONTROL)


def _score(subject: Subject, found: Summary | None) -> Cell:
    return _BASE if subject.role is Role.BASE else figure(found)


def summary_table(of: Material) -> Table:
    """Return the table that answers the question."""
    parts = of.parts()
    rows = [
        _row(
            subject,
            (
                *(_score(subject, of.find(subject, part, None)) for part in parts),
                Cell(text=duration(subject.build_seconds)),
                Cell(text=size(subject.binary_bytes)),
            ),
        )
        for subject in of.subjects
    ]
    titles = [*(of.part_title(part) for part in parts), "Build time", "Binary"]
    return Table(
        title="Summary",
        caption=" ".join([_against(of), *(_part_words(of, part) for part in parts)]),
        columns=(Column(title="Subject", numeric=False), *(Column(title=each) for each in titles)),
        rows=tuple(rows),
    )


def _against(of: Material) -> str:
    if not of.analysis.base:
        return "Nothing could be compared."
    return f"Throughput as a ratio to {of.analysis.base}'s: above 1 is faster."


def _part_words(of: Material, in_sample: bool) -> str:
    steps = of.steps(in_sample=in_sample)
    sets = joined(list(dict.fromkeys(step.set for step in steps)))
    kind = " (trained on)" if in_sample else ""
    count = f"{len(steps)} step{'s' if len(steps) != 1 else ''}"
    return f"{of.part_title(in_sample)}: {count} of {sets}{kind}."


def part_table(of: Material, in_sample: bool) -> Table:
    """Return one part by group, and how the ratios of its steps lie."""
    groups = [
        group
        for group in Group
        if any(step.group is group for step in of.steps(in_sample=in_sample))
    ]
    rows = []
    for subject in of.subjects:
        if subject.role is Role.BASE:
            continue
        whole = of.find(subject, in_sample, None)
        figures = [figure(of.find(subject, in_sample, group)) for group in (None, *groups)]
        rows.append(_row(subject, (*figures, *_spread(whole))))
    titles = ["all", *groups, "min", "median", "mean", "max", "sd"]
    columns = (Column(title=each, opens=each == "min") for each in titles)
    return Table(
        title=f"{of.part_title(in_sample)} by group",
        caption=f"{_part_words(of, in_sample)} Groups as geometric means with their interval; "
        "then how the single steps' ratios lie.",
        columns=(Column(title="Subject", numeric=False), *columns),
        rows=tuple(rows),
    )


def _spread(whole: Summary | None) -> list[Cell]:
    if whole is None:
        return [_EMPTY] * 5
    figures = (whole.minimum, whole.median, whole.mean, whole.maximum, whole.standard_deviation)
    return [_EMPTY if each is None else Cell(text=f"{each:.3f}") for each in figures]


def metrics_table(of: Material) -> Table | None:
    """Return the metrics other than throughput, None if none was measured."""
    pairs: list[tuple[Metric, bool]] = [
        (metric, part)
        for metric in METRICS
        for part in of.parts()
        if metric is not THROUGHPUT
        and any(
            each.metric == metric.name and each.in_sample is part for each in of.analysis.summaries
        )
    ]
    if not pairs:
        return None
    rows = []
    for subject in of.subjects:
        found = [
            of.analysis.summary(subject.name, in_sample=part, metric=metric.name)
            for metric, part in pairs
        ]
        if subject.role is not Role.BASE:
            rows.append(_row(subject, (figure(each) for each in found)))
    titles = [f"{_capital(metric.title)}, {of.part_title(part).lower()}" for metric, part in pairs]
    return Table(
        title="Other metrics",
        caption=f"As ratios to {of.analysis.base}'s, geometric means over all steps: "
        "below 1 is less, which is better for each of these.",
        columns=(Column(title="Subject", numeric=False), *(Column(title=each) for each in titles)),
        rows=tuple(rows),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def step_table(of: Material, in_sample: bool) -> Table:
    """Return the throughput ratio of each step and subject of one part."""
    effects: dict[tuple[str, str], Effect] = {
        (each.subject, each.step): each
        for each in of.analysis.effects
        if each.metric == THROUGHPUT.name
    }
    shown = [each for each in of.subjects if each.role is not Role.BASE]
    rows = [
        Row(
            cells=(
                Cell(text=step.name, detail=step.title),
                Cell(text=step.group),
                *(figure(effects.get((subject.name, step.name))) for subject in shown),
            )
        )
        for step in of.steps(in_sample=in_sample)
    ]
    return Table(
        title=f"Steps, {of.part_title(in_sample).lower()}",
        caption=f"Throughput of each step as a ratio to {of.analysis.base}'s.",
        columns=(
            Column(title="Step", numeric=False),
            Column(title="Group", numeric=False),
            *(Column(title=label(each)) for each in shown),
        ),
        rows=tuple(rows),
    )


def subject_table(of: Material) -> Table:
    """Return what each subject is and what it cost."""
    titles = ["Variant", "Compiler", "Build", "Build time", "Trained on", "Training", "Profile"]
    rows = [
        _row(
            subject,
            (
                Cell(text=subject.variant),
                Cell(text=compiler(subject.compiler), detail=subject.compiler),
                Cell(text=subject.build_digest[:12], detail=subject.build_digest),
                Cell(text=duration(subject.build_seconds)),
                Cell(text=", ".join(subject.trained_on)),
                Cell(text=_optional(subject.training_seconds, duration)),
                Cell(text=_optional(subject.profile_coverage, "{:.0%} covered".format)),
            ),
        )
        for subject in of.subjects
    ]
    return Table(
        title="Subjects",
        caption="What was compared. A profile's coverage is the share of its functions that the "
        "training executed.",
        columns=tuple(Column(title=each, numeric=False) for each in ["Subject", *titles]),
        rows=tuple(rows),
    )


def _optional(value: float | None, show: Callable[[float], str]) -> str:
    return "" if value is None else show(value)


def control_note(of: Material) -> str | None:
    """Return what the A/A control says of the noise, None without a control."""
    notes = []
    for subject in of.subjects:
        if subject.role is not Role.CONTROL:
            continue
        ratios = [
            each.ratio
            for each in of.analysis.effects
            if each.subject == subject.name and each.metric == THROUGHPUT.name
        ]
        if len(ratios) > 1:
            notes.append(
                f"{subject.name} is {of.analysis.base} once more (A/A): "
                f"its steps' ratios lie between {min(ratios):.3f} and {max(ratios):.3f} "
                f"(standard deviation {statistics.stdev(ratios):.3f}); "
                "differences like these can be noise."
            )
    return " ".join(notes) or None
