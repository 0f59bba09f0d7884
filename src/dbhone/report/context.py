"""What tables are made of: a run, and what was found in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbhone.analysis.levels import Level
from dbhone.analysis.verdict import Analysis, Effect, Summary, overall
from dbhone.measurement.metric import THROUGHPUT, Metric
from dbhone.measurement.record import Group, Role, Run, Step, Subject, wholes
from dbhone.report.table import Cell, Row
from dbhone.report.wording import joined
from dbhone.units import count_of

EMPTY = Cell(text="")
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """The held-out steps of a run, or its in-sample ones, in the run's order.

    ``steps`` are those without the parts of steps. ``title`` is the portion's name at the start of
    a line.
    """

    in_sample: bool
    title: str
    steps: tuple[Step, ...]
    steps_with_parts: tuple[Step, ...]

    @property
    def name(self) -> str:
        """Its name within a line."""
        return self.title.lower()

    @property
    def words(self) -> str:
        """What it consists of, as a sentence."""
        kind = " (trained on)" if self.in_sample else ""
        return f"{self.title}: {_counted(self.steps)}{kind}."

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups that have steps in it."""
        return tuple(group for group in Group if self.of(group))

    def of(self, group: Group | None) -> tuple[Step, ...]:
        """Return the steps of a group, all of them for None."""
        return tuple(step for step in self.steps if group in (None, step.group))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """What tables are made from. ``subjects`` are in the order in which they are shown.

    ``portions`` are those that have steps, held-out before in-sample; there are none where nothing
    was measured. ``effects`` and ``levels`` are by subject, step and metric. ``arrows`` are the
    signs of a history's changes, by subject and step.
    """

    run: Run
    analysis: Analysis
    subjects: tuple[Subject, ...]
    portions: tuple[Portion, ...]
    effects: Mapping[tuple[str, str, str], Effect]
    levels: Mapping[tuple[str, str, str], Level]
    arrows: Mapping[tuple[str, str], str]

    @property
    def base(self) -> str:
        """The base's name, empty without one."""
        return self.analysis.base

    @property
    def others(self) -> list[Subject]:
        """All subjects but the base."""
        return [subject for subject in self.subjects if subject.role is not Role.BASE]

    def find(
        self,
        subject: Subject,
        portion: Portion,
        group: Group | None = None,
        metric: Metric = THROUGHPUT,
    ) -> Summary | None:
        """Return a summary over a group of a portion's steps, without a group over all of them."""
        return self.analysis.summary(
            subject.name, in_sample=portion.in_sample, group=group, metric=metric.name
        )

    def effect(self, subject: Subject, step: Step, metric: Metric) -> Effect | None:
        """Return what was found for one subject on one step."""
        return self.effects.get((subject.name, step.name, metric.name))

    def level(self, subject: Subject | str, step: Step, metric: Metric) -> float | None:
        """Return the typical value of one subject on one step, None if it was not measured."""
        name = subject if isinstance(subject, str) else subject.name
        level = self.levels.get((name, step.name, metric.name))
        return level.value if level is not None else None


def report_context(
    run: Run,
    analysis: Analysis,
    levels: Iterable[Level],
    *,
    order: Sequence[str],
    arrows: Mapping[tuple[str, str], str],
) -> ReportContext:
    """Return what a run's tables are made from, with its subjects in order.

    The base comes first, then the candidates from the best to the worst, then the controls. The
    versions of a history, whose ``order`` is given, stay in it.
    """

    def rank(subject: Subject) -> tuple[int, bool, float]:
        score = overall(analysis, subject.name)
        role = (Role.BASE, Role.CANDIDATE, Role.CONTROL).index(subject.role)
        if subject.name in order:
            return role, False, order.index(subject.name)
        return role, score is None, -score.ratio if score is not None else 0.0

    known = {(level.subject, level.step, level.metric): level for level in levels}
    return ReportContext(
        run=run,
        analysis=analysis,
        subjects=tuple(sorted(run.subjects, key=rank)),
        portions=_portions(run) if known else (),
        effects={
            (effect.subject, effect.step, effect.metric): effect for effect in analysis.effects
        },
        levels=known,
        arrows=arrows,
    )


def _portions(run: Run) -> tuple[Portion, ...]:
    """Return a run's portions; where nothing was trained there is but one."""
    steps = wholes(run.steps)
    every = "All steps" if serves(run.steps) else "All sets"
    trained = any(step.in_sample for step in steps)
    titles = {False: "Held-out" if trained else every, True: "In-sample"}
    return tuple(
        Portion(
            in_sample=in_sample,
            title=titles[in_sample],
            steps=own,
            steps_with_parts=_of_portion(run.steps, in_sample),
        )
        for in_sample in (False, True)
        if (own := _of_portion(steps, in_sample))
    )


def _of_portion(steps: Iterable[Step], in_sample: bool) -> tuple[Step, ...]:
    return tuple(step for step in steps if step.in_sample is in_sample)


def serves(steps: Iterable[Step]) -> bool:
    """Return whether any of the steps is a server's."""
    return any(step.threads is not None for step in steps)


def short_names(run: Run) -> dict[str, str]:
    """Return the steps' names for sentences: ``update-index``, where that is unambiguous."""
    words = {step.name: step.suite_set.partition("_")[0] for step in run.steps if not step.key}
    sets = {step.suite_set: words[step.name] for step in run.steps if not step.key}
    plain = {word for word, count in Counter(sets.values()).items() if count == 1}
    return {
        step.name: step.name.replace(step.suite_set, word, 1) if word in plain else step.name
        for step in run.steps
        for word in (words.get(step.name, step.name),)
    }


def label(subject: Subject) -> str:
    """Return a subject's name, with its role or state if it is not a sound candidate."""
    notes = {Role.BASE: ["base"], Role.CONTROL: ["A/A"], Role.CANDIDATE: []}[subject.role]
    if subject.broken is not None:
        notes = [*notes, "broken"]
    return f"{subject.name} ({', '.join(notes)})" if notes else subject.name


def subject_row(subject: Subject, cells: Iterable[Cell]) -> Row:
    """Return a row that belongs to a subject."""
    name = Cell(text=label(subject), detail=subject.broken or "")
    return Row(cells=(name, *cells), control=subject.role is Role.CONTROL)


def subject_rows(
    subjects: Iterable[Subject], shown: Mapping[str, Callable[[Subject], Cell]]
) -> tuple[Row, ...]:
    """Return a row for each subject; ``shown`` has by the title of a column what it shows."""
    return tuple(
        subject_row(subject, (cell(subject) for cell in shown.values())) for subject in subjects
    )


def group_name(group: Group | None) -> str:
    """Return the name of a group of steps; all of them together are one, too."""
    return "all" if group is None else group.value


def heading(words: str, columns: int) -> Row:
    """Return a row that names the rows below it, as wide as a table of this many columns."""
    return Row(cells=(Cell(text=words), *[EMPTY] * (columns - 1)), heading=True)


def _counted(steps: Sequence[Step]) -> str:
    sets = list(dict.fromkeys(step.suite_set for step in steps))
    words = count_of(len(steps), "step")
    if not serves(steps):
        return f"{words} of {joined(sets)}"
    if len(sets) <= _MOST_NAMED:
        words = f"{words} of {joined(sets)}"
    else:
        counts = {group: sum(step.group is group for step in steps) for group in Group}
        listed_groups = ", ".join(f"{count} {group}" for group, count in counts.items() if count)
        words = f"{words} ({listed_groups})"
    threads = sorted({step.threads for step in steps if step.threads is not None})
    if len(threads) == 1:
        return f"{words}, {count_of(threads[0], 'thread')}"
    return (
        f"{words} at {len(threads)} numbers of threads, {threads[0]} to {threads[-1]}, "
        "which all count alike"
    )
