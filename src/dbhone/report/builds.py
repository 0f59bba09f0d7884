"""Where the time of the builds went, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dbhone.measurement.build_facts import BuildTimings, CodeLayout
from dbhone.measurement.record import Subject
from dbhone.report.context import ReportContext
from dbhone.report.table import Column, Row, Table, columns, text_row
from dbhone.report.wording import number
from dbhone.units import duration, size

_MOST_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _BuiltSubjects:
    """One build and the subjects that share it. The first of them stands for all."""

    names: tuple[str, ...]
    subject: Subject
    timings: BuildTimings


def build_tables(context: ReportContext) -> tuple[Table, ...]:
    """Return the times of the builds, their slowest targets and files; nothing if unknown."""
    builds = _builds_of(context)
    if not builds:
        return ()
    base = next((build for build in builds if context.base in build.names), None)
    names = [", ".join(build.names) for build in builds]
    ratios = f"; ratios are to {context.base}'s" if base and len(builds) > 1 else ""
    times = Table(
        title="Build times",
        caption=f"What it took to make each build{ratios}. CPU time is the compilers' own, of all"
        " jobs together. An instrumented build that came before has a line of its own and is in no"
        " other.",
        columns=columns("Build", names),
        rows=tuple(_rows(builds, base)),
    )
    return (
        times,
        *_ranking(
            "Slowest build targets",
            "The compilers' CPU time for each target of CMake, of makefiles for each folder: "
            "seconds, and their share of the build's CPU time; empty where a target is not among "
            "a build's slowest.",
            columns("Build target", names),
            [_target_times(build.timings) for build in builds],
        ),
        *_ranking(
            "Slowest files",
            "What took longest to compile or link, in seconds; empty where a file is not among a "
            "build's slowest.",
            columns("File", names),
            [_file_times(build.timings) for build in builds],
        ),
    )


def _builds_of(context: ReportContext) -> list[_BuiltSubjects]:
    shared: dict[str, list[Subject]] = {}
    for subject in context.subjects:
        if subject.timings is not None:
            shared.setdefault(subject.build_digest, []).append(subject)
    return [
        _BuiltSubjects(
            names=tuple(subject.name for subject in subjects),
            subject=subjects[0],
            timings=subjects[0].timings,
        )
        for subjects in shared.values()
        if subjects[0].timings is not None
    ]


def _rows(builds: list[_BuiltSubjects], base: _BuiltSubjects | None) -> list[Row]:
    times = [build.timings for build in builds]
    compared = base if len(builds) > 1 else None
    lines = [("Wall time", [duration(time.seconds) for time in times])]
    if compared is not None:
        whole = compared.timings.seconds
        lines.append(("Wall time, ratio", [_ratio(time.seconds, whole) for time in times]))
    for phase in dict.fromkeys(phase for time in times for phase in time.phases):
        row = [_seconds(time.phases.get(phase)) for time in times]
        lines.append((f"of it {phase}", row))
    lines += [
        ("CPU time", [duration(time.cpu_seconds) for time in times]),
        ("Jobs at once", [str(time.jobs) for time in times]),
        ("Files compiled", [f"{time.files:,}" for time in times]),
    ]
    instrumented = [time.instrumented_seconds for time in times]
    if any(instrumented):
        lines.append(("Instrumented build", [_seconds(seconds) for seconds in instrumented]))
    training = [_seconds(build.subject.training_seconds) for build in builds]
    if any(training):
        lines.append(("Training", training))
    sizes = [build.subject.binary_bytes for build in builds]
    lines.append(("Binary", [size(binary_size) for binary_size in sizes]))
    if compared is not None:
        whole = compared.subject.binary_bytes
        lines.append(("Binary, ratio", [_ratio(binary_size, whole) for binary_size in sizes]))
    lines += _layout_lines([build.subject.layout for build in builds])
    return [text_row(name, *texts) for name, texts in lines]


def _layout_lines(layouts: list[CodeLayout | None]) -> Iterator[tuple[str, list[str]]]:
    """Yield what post-link optimisers did; nothing where there was none."""
    if not any(layouts):
        return
    shown: dict[str, Callable[[CodeLayout], str]] = {
        "Post-link optimiser": lambda layout: layout.tool,
        "Functions reached": lambda layout: f"{layout.profiled:,} of {layout.functions:,}",
        "of them rearranged": lambda layout: f"{layout.moved:,}",
        "of them not movable": lambda layout: f"{layout.unmovable:,}",
        "left alone": lambda layout: ", ".join(layout.skipped),
        "Hot code": lambda layout: f"{size(layout.hot_bytes)} of {size(layout.text_bytes)}",
        "Taken branches": lambda layout: _change(layout.taken_after, layout.taken_before),
    }
    for name, show in shown.items():
        yield name, ["" if layout is None else show(layout) for layout in layouts]


def _change(after: int, before: int) -> str:
    return f"{after / before - 1:+.0%}" if before else ""


def _ratio(value: float, base: float) -> str:
    return f"{value / base:.2f}" if base else ""


def _seconds(value: float | None) -> str:
    return "" if value is None else duration(value)


_Times: TypeAlias = dict[str, tuple[float, str]]
"""Seconds by name, and how they are shown."""


def _target_times(timings: BuildTimings) -> _Times:
    """Return the seconds of each build target; nothing where there is one only."""
    targets = timings.build_targets if len(timings.build_targets) > 1 else ()
    return {
        target.name: (
            target.cpu_seconds,
            f"{number(target.cpu_seconds)} ({timings.share(target):.0%})",
        )
        for target in targets
    }


def _file_times(timings: BuildTimings) -> _Times:
    # Of files with one name the slowest counts, which comes first.
    return {name: (seconds, number(seconds)) for name, seconds in reversed(timings.slowest)}


def _ranking(
    title: str, caption: str, titles: tuple[Column, ...], by_build: list[_Times]
) -> Iterator[Table]:
    """Yield what took longest in any of the builds, the longest first; nothing if none is known."""
    longest: dict[str, float] = {}
    for times in by_build:
        for name, (seconds, _) in times.items():
            longest[name] = max(seconds, longest.get(name, 0.0))
    rows = tuple(
        text_row(name, *(times[name][1] if name in times else "" for times in by_build))
        for name in sorted(longest, key=lambda name: (-longest[name], name))[:_MOST_ROWS]
    )
    if rows:
        yield Table(title=title, caption=caption, columns=titles, rows=rows)
