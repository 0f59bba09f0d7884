"""The tables that every run has, made from what was found in it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from dbhone.analysis.sample_size import blocks_for_verdict
from dbhone.analysis.verdict import MINIMUM_BLOCKS, Summary, Verdict, overall
from dbhone.measurement.metric import (
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    LATENCY_P95,
    METRICS,
    THROUGHPUT,
    Metric,
)
from dbhone.measurement.record import Code, Group, Role, Subject
from dbhone.report.context import (
    EMPTY,
    Portion,
    ReportContext,
    group_name,
    label,
    serves,
    subject_rows,
)
from dbhone.report.latencies import PERCENTILES, is_batch
from dbhone.report.table import Cell, Row, Table, columns, text_columns
from dbhone.report.wording import capital, compiler, figure, reach, short_flag
from dbhone.units import count_of, duration, listed, size

_BASE = Cell(text="1")
_SPREAD: dict[str, Callable[[Summary], float | None]] = {
    "average": lambda found: found.mean,
    "median": lambda found: found.median,
    "min": lambda found: found.minimum,
    "max": lambda found: found.maximum,
    "stddev": lambda found: found.standard_deviation,
}
_Shown = dict[str, Callable[[Subject], Cell]]
"""What the columns of a table of subjects show, by their titles."""
_OF_LEVERS = "The levers were applied when the server started, and their effect was verified."
_OF_PROFILES = "A profile's coverage is the share of its functions that the training executed."
_WOULD_FIND = (
    "Would find: where no difference was found, the one that half of such runs would have found; "
    "where there is not enough data, what a verdict needs."
)
_SHORT = {LATENCY_P95.name: "p95 latency"}

_ASPECTS: _Shown = {
    "DBMS": lambda it: Cell(text=f"{it.dbms} {it.version}"),
    "Source": lambda it: Cell(text=it.source),
    "Variant": lambda it: Cell(text=it.variant),
    "Compiler": lambda it: Cell(text=compiler(it.compiler), detail=it.compiler),
    "Levers": lambda it: Cell(text=", ".join(it.levers)),
}
"""What may tell subjects apart, in a few words."""
_OF_BUILDS: _Shown = {
    "Build": lambda it: Cell(text=it.build_digest[:12], detail=it.build_digest),
    "Training": lambda it: _optional(it.training_seconds, duration),
    "Profile": lambda it: _optional(it.profile_coverage, "{:.0%} covered".format),
}


def _score(context: ReportContext, portion: Portion, subject: Subject) -> Cell:
    return _BASE if subject.role is Role.BASE else figure(context.find(subject, portion))


def summary_table(context: ReportContext) -> Table:
    """Return the table that answers the question of the run."""
    portions = context.portions
    scores = {other.name: overall(context.analysis, other.name) for other in context.others}
    hidden = any(score is not None and _is_open(score) for score in scores.values())
    shown: _Shown = {it.title: partial(_score, context, it) for it in portions}
    if hidden:
        shown["Would find"] = lambda subject: _would_find(context, scores.get(subject.name))
    if not all(subject.ready_made for subject in context.subjects):
        shown["Build time"] = _build_time
    shown["Binary"] = lambda subject: Cell(text=size(subject.binary_bytes))
    return Table(
        title="Summary",
        caption=" ".join(
            [
                _against(context),
                *(portion.words for portion in portions),
                *([_WOULD_FIND] if hidden else []),
            ]
        ),
        columns=columns("Subject", shown),
        rows=subject_rows(context.subjects, shown),
        drawn=True,
    )


def _is_open(score: Summary) -> bool:
    """Return whether the verdict leaves a difference open."""
    return score.verdict in (Verdict.NO_DIFFERENCE, Verdict.NOT_ENOUGH_DATA)


def _would_find(context: ReportContext, score: Summary | None) -> Cell:
    """Return what would have been found where nothing was, or what a verdict lacks."""
    if score is None or not _is_open(score):
        return EMPTY
    if score.findable is not None:
        return Cell(text=f"{score.findable:.1%}")
    missing = blocks_for_verdict(context.run, context.analysis, score.blocks)
    return Cell(text=count_of(missing, "more block"))


def _against(context: ReportContext) -> str:
    if not context.portions:
        return "Nothing was measured: these subjects are ready."
    if not context.base:
        return "Nothing could be compared."
    return f"Throughput as a ratio to {context.base}'s: above 1 is faster."


def portion_table(context: ReportContext, portion: Portion) -> Table:
    """Return one portion by group: the groups' ratios, and how far its steps' ratios reach."""
    shown: _Shown = {
        group_name(group): partial(_found, context, portion=portion, group=group)
        for group in (None, *_groups(portion))
    }
    shown["steps"] = lambda subject: _range(context.find(subject, portion))
    return Table(
        title=f"{portion.title} by group",
        caption=f"{portion.words} Groups as geometric means with their interval; "
        "then from which to which the single steps' ratios reach.",
        columns=columns("Subject", shown),
        rows=subject_rows(context.others, shown),
        drawn=True,
    )


def _found(
    context: ReportContext,
    subject: Subject,
    *,
    portion: Portion,
    group: Group | None = None,
    metric: Metric = THROUGHPUT,
) -> Cell:
    return figure(context.find(subject, portion, group, metric))


def _range(summary: Summary | None) -> Cell:
    return EMPTY if summary is None else Cell(text=f"{summary.minimum:.2f}–{summary.maximum:.2f}")


def _groups(portion: Portion) -> tuple[Group, ...]:
    """Return the groups of a portion, if it has several."""
    return portion.groups if len(portion.groups) > 1 else ()


def spread_table(context: ReportContext, portion: Portion) -> Table | None:
    """Return how the ratios of the steps lie in each group, as Mark Callaghan tabulates them.

    Return None for a portion of one step.
    """
    if len(portion.steps) < 2:
        return None
    rows: list[Row] = []
    for group in (None, *_groups(portion)):
        scores = [context.find(subject, portion, group) for subject in context.others]
        rows += _spread_rows(group, scores)
    return Table(
        title=f"Spread over steps, {portion.name}",
        caption=f"How the ratios of the single steps to {context.base}'s lie, and the interval of "
        "their geometric mean.",
        columns=columns("Group", map(label, context.others)),
        rows=tuple(rows),
        folded=True,
    )


def _spread_rows(group: Group | None, summaries: Sequence[Summary | None]) -> list[Row]:
    name = group_name(group)
    several = any(score is not None and score.steps > 1 for score in summaries)
    lines = _SPREAD if several else {"average": _SPREAD["average"]}
    rows = [
        Row(cells=(Cell(text=f"{name}: {line}"), *(_decimal(score, take) for score in summaries)))
        for line, take in lines.items()
    ]
    reaches = (Cell(text=reach(score) if score is not None else "") for score in summaries)
    return [*rows, Row(cells=(Cell(text=f"{name}: interval"), *reaches))]


def _decimal(summary: Summary | None, take: Callable[[Summary], float | None]) -> Cell:
    value = take(summary) if summary is not None else None
    return EMPTY if value is None else Cell(text=f"{value:.3f}")


def metrics_table(context: ReportContext) -> Table | None:
    """Return the metrics that no other table has, None if none was measured.

    What a server needs for an operation has a table of its own.
    """
    elsewhere = [THROUGHPUT, *(PERCENTILES if is_batch(context.run) else ())]
    if serves(context.run.steps):
        elsewhere += [CPU_SECONDS, CONTEXT_SWITCHES]
    known = {(summary.metric, summary.in_sample) for summary in context.analysis.summaries}
    shown: _Shown = {
        f"{capital(_SHORT.get(metric.name, metric.title))}, {portion.name}": (
            partial(_found, context, portion=portion, metric=metric)
        )
        for metric in METRICS
        for portion in context.portions
        if metric not in elsewhere and (metric.name, portion.in_sample) in known
    }
    if not shown:
        return None
    return Table(
        title="Other metrics",
        caption=f"As ratios to {context.base}'s, geometric means over all steps: "
        "below 1 is less, which is better for each of these.",
        columns=columns("Subject", shown),
        rows=subject_rows(context.others, shown),
    )


def subject_table(context: ReportContext) -> Table | None:
    """Return what tells the subjects apart and what their builds are, None without subjects.

    Settings have a table of their own. The caption has what all subjects share.
    """
    subjects = context.subjects
    if not subjects:
        return None
    shared = _shared_flags(subjects)
    wide = _wide_aspects(shared)
    shown: _Shown = {
        **_telling(_ASPECTS, subjects),
        **{title: cell for title, cell in _OF_BUILDS.items() if _is_said(cell, subjects)},
        **_telling(wide, subjects),
    }
    alike = dict.fromkeys(
        cell(subjects[0]).text
        for title, cell in (*_ASPECTS.items(), *wide.items())
        if title not in shown
    )
    words = [*alike, " ".join(map(short_flag, shared))]
    several = len(subjects) > 1
    sentences = [
        "What tells the subjects apart, and their builds." if several else "The subject's build.",
        f"All have alike: {', '.join(filter(None, words))}." if any(words) else "",
        _OF_PROFILES if "Profile" in shown else "",
        _OF_LEVERS if any(subject.levers for subject in subjects) else "",
    ]
    return Table(
        title="Subjects",
        caption=" ".join(filter(None, sentences)),
        columns=text_columns(("Subject", *shown)),
        rows=subject_rows(subjects, shown),
    )


def _wide_aspects(shared: tuple[str, ...]) -> _Shown:
    """Return what may tell subjects apart in more words; of flags those that are not ``shared``."""
    return {
        "Trained on": lambda it: Cell(text=", ".join(it.trained_on)),
        "Flags": lambda it: Cell(
            text=" ".join(short_flag(flag) for flag in it.flags if flag not in shared)
        ),
    }


def _shared_flags(subjects: tuple[Subject, ...]) -> tuple[str, ...]:
    """Return the flags that all of several subjects share."""
    first, *others = subjects
    if not others:
        return ()
    return tuple(flag for flag in first.flags if all(flag in other.flags for other in others))


def _telling(aspects: _Shown, subjects: Sequence[Subject]) -> _Shown:
    """Return the aspects that tell subjects apart, if only in detail, or that a single one has."""
    least = min(len(subjects), 2)
    return {
        title: cell
        for title, cell in aspects.items()
        if len({(it.text, it.detail) for it in map(cell, subjects)}) >= least
        and _is_said(cell, subjects)
    }


def _is_said(cell: Callable[[Subject], Cell], subjects: Iterable[Subject]) -> bool:
    return any(cell(subject).text for subject in subjects)


def _build_time(subject: Subject) -> Cell:
    return EMPTY if subject.ready_made else Cell(text=duration(subject.build_seconds))


def _optional(value: float | None, show: Callable[[float], str]) -> Cell:
    return EMPTY if value is None else Cell(text=show(value))


def control_note(context: ReportContext) -> str | None:
    """Return what the A/A control shows of the noise, None without a control."""
    notes = []
    for subject in context.subjects:
        if subject.role is not Role.CONTROL:
            continue
        ratios = [
            effect.ratio
            for effect in context.analysis.throughput_effects
            if effect.subject == subject.name
        ]
        if len(ratios) > 1:
            notes.append(
                f"{subject.name} is {context.base} once more (A/A): "
                f"its steps' ratios lie between {min(ratios):.3f} and {max(ratios):.3f} "
                f"(standard deviation {statistics.stdev(ratios):.3f}); "
                "differences like these can be noise."
            )
    return " ".join(notes) or None


def method_note(context: ReportContext) -> str | None:
    """Return what a reader must know of how it was measured, None if there is nothing."""
    if not context.portions:
        return None
    return " ".join((*_of_starts(context), *_of_layout(context))) or None


def _of_layout(context: ReportContext) -> Iterator[str]:
    built = {subject.build_digest for subject in context.subjects if not subject.ready_made}
    layouts = context.run.layouts
    if layouts:
        yield (
            f"The programs were linked in {layouts} random orders of their functions, and each "
            "block takes another of them: where the linker places the code is part of the spread "
            "from block to block."
        )
        if context.analysis.blocks > layouts:
            yield (
                f"There were more blocks than layouts: those in the same layouts count as one, so "
                f"that intervals are of {layouts} values."
            )
        ordered = [subject.name for subject in context.subjects if _is_ordered(subject)]
        if ordered:
            yield (
                f"In {listed(ordered)} the functions whose calls the profile counted keep one "
                "order, whose effect is not part of the spread."
            )
        fixed = [subject.name for subject in context.subjects if not subject.layouts]
        if fixed:
            yield f"The code of {listed(fixed)} has one layout only."
    elif len(built) > 1:
        yield (
            "The figures are of these very binaries: where the linker placed the code is part of "
            "each ratio, and the same build linked in another order may differ a little."
        )


def _is_ordered(subject: Subject) -> bool:
    """Return whether lld ordered the functions of the subject's layouts by clang's profile."""
    trained = subject.layouts > 0 and subject.training_seconds is not None
    return trained and "clang" in subject.compiler and subject.inputs.get("linker") != "mold"


def _of_starts(context: ReportContext) -> Iterator[str]:
    if not serves(context.run.steps):
        return
    if any(warning.code == Code.COLD for warning in context.run.warnings):
        yield (
            "Every single measurement has a server of its own, just started on a fresh copy of "
            "the same data, which is on the disk only. Nothing is warmed up."
        )
        return
    data = (
        "data with random values of the block's own" if is_batch(context.run) else "the same data"
    )
    yield (
        f"Every block starts each subject's server again, on a fresh copy of {data}, and "
        "warms it up; the steps of one block share that start. So what a start happens to bring "
        "is part of the spread from block to block, which the intervals are made of."
    )
    yield from _of_rare_starts(context.analysis.blocks)


def _of_rare_starts(blocks: int) -> Iterator[str]:
    """Yield what may happen to starts and yet to none of so many, by the rule of three.

    A thing that happens to none of n starts happens to fewer than 3 in n, with a confidence of
    95 % (J. A. Hanley and A. Lippman-Hand, JAMA 249 (1983) 1743-1745).
    """
    if blocks >= MINIMUM_BLOCKS:
        yield (
            f"What happens to fewer than one start in {blocks // 3} may have happened to none of "
            f"these {blocks}, and then no interval knows of it."
        )
