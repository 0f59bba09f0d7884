"""Where the time of the builds went, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbhone.measurement.record import BuildTimings, Subject
from dbhone.report.context import EMPTY, ReportContext
from dbhone.report.table import Cell, Column, Row, Table
from dbhone.report.wording import number
from dbhone.units import duration, size

_MOST_TARGETS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """One build, whichever subjects share it. The first of them speaks for all."""

    names: tuple[str, ...]
    subject: Subject
    timings: BuildTimings


def build_tables(of: ReportContext) -> tuple[Table, ...]:
    """Return what the builds took, and their slowest targets; nothing where it is not known."""
    made = _made(of)
    if not made:
        return ()
    base = next((each for each in made if of.base in each.names), None)
    columns = (Column(title="Build", numeric=False), *_columns(made))
    times = Table(
        title="Build times",
        caption=f"What it took to make each build; ratios are to {of.base}'s. CPU time is the "
        "compilers' own, of all jobs together. An instrumented build that came before has a line "
        "of its own and is in no other.",
        columns=columns,
        rows=tuple(_rows(made, base)),
    )
    targets = tuple(_target_rows(made))
    if not targets:
        return (times,)
    slowest = Table(
        title="Slowest targets",
        caption="What took longest to compile or link, in seconds; empty where a target is not "
        "among a build's slowest.",
        columns=(Column(title="Target", numeric=False), *_columns(made)),
        rows=targets,
    )
    return times, slowest


def _columns(made: list[_Made]) -> Iterator[Column]:
    return (Column(title=", ".join(each.names)) for each in made)


def _made(of: ReportContext) -> list[_Made]:
    shared: dict[str, list[Subject]] = {}
    for subject in of.subjects:
        if subject.timings is not None:
            shared.setdefault(subject.build_digest, []).append(subject)
    return [
        _Made(
            names=tuple(each.name for each in subjects),
            subject=subjects[0],
            timings=subjects[0].timings,
        )
        for subjects in shared.values()
        if subjects[0].timings is not None
    ]


def _rows(made: list[_Made], base: _Made | None) -> list[Row]:
    times = [each.timings for each in made]
    compared = base if len(made) > 1 else None
    lines = [("Wall time", [duration(each.seconds) for each in times])]
    if compared is not None:
        whole = compared.timings.seconds
        lines.append(("Wall time, ratio", [_ratio(each.seconds, whole) for each in times]))
    for phase in dict.fromkeys(phase for each in times for phase in each.phases):
        found = [_seconds(each.phases.get(phase)) for each in times]
        lines.append((f"of it {phase}", found))
    lines += [
        ("CPU time", [duration(each.cpu_seconds) for each in times]),
        ("Jobs at once", [str(each.jobs) for each in times]),
        ("Targets", [f"{each.targets:,}" for each in times]),
    ]
    instrumented = [each.instrumented_seconds for each in times]
    if any(instrumented):
        lines.append(("Instrumented build", [_seconds(each) for each in instrumented]))
    training = [_seconds(each.subject.training_seconds) for each in made]
    if any(training):
        lines.append(("Training", training))
    sizes = [each.subject.binary_bytes for each in made]
    lines.append(("Binary", [size(each) for each in sizes]))
    if compared is not None:
        whole = compared.subject.binary_bytes
        lines.append(("Binary, ratio", [_ratio(each, whole) for each in sizes]))
    return [Row(cells=tuple(Cell(text=text) for text in (name, *texts))) for name, texts in lines]


def _ratio(value: float, base: float) -> str:
    return f"{value / base:.2f}" if base else ""


def _seconds(value: float | None) -> str:
    return "" if value is None else duration(value)


def _target_rows(made: list[_Made]) -> Iterator[Row]:
    # Of targets with one name the slowest counts, which comes first.
    by_build = [dict(reversed(each.timings.slowest)) for each in made]
    longest: dict[str, float] = {}
    for times in by_build:
        for target, seconds in times.items():
            longest[target] = max(seconds, longest.get(target, 0.0))
    for target in sorted(longest, key=lambda each: (-longest[each], each))[:_MOST_TARGETS]:
        cells = (Cell(text=number(t[target])) if target in t else EMPTY for t in by_build)
        yield Row(cells=(Cell(text=target), *cells))
