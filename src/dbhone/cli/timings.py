"""Shows where the time of builds went, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.table import Table

from dbhone.compilation.manifest import Build
from dbhone.compilation.timings import efficiency, timings
from dbhone.measurement.record import BuildTimings
from dbhone.units import duration


def side_by_side(builds: Sequence[Build], slowest: int) -> Table:
    """Return a table with a column for each build; ``slowest`` is how many targets to list."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for build in builds:
        manifest = build.manifest
        table.add_column(
            f"{manifest.dbms} {manifest.version}\n{manifest.variant}, {manifest.compiler}",
            overflow="fold",
        )
    timings_of = [timings(build, slowest=slowest) for build in builds]
    table.add_row("wall time", *(duration(build.seconds) for build in timings_of))
    for phase in _phases(timings_of):
        table.add_row(f"  {phase}", *(_phase(build, phase) for build in timings_of))
    table.add_row("compilers' CPU time", *(duration(build.cpu_seconds) for build in timings_of))
    table.add_row("most at once", *(str(build.jobs) for build in timings_of))
    table.add_row("parallel efficiency", *(_efficiency(build) for build in timings_of))
    table.add_row("files compiled", *(f"{build.targets:,}" for build in timings_of))
    for rank, targets in enumerate(zip_longest(*(build.slowest for build in timings_of))):
        table.add_row("" if rank else "slowest targets", *(_target(target) for target in targets))
    return table


def _phases(timings: Sequence[BuildTimings]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phase for build in timings for phase in build.phases))


def _phase(timings: BuildTimings, phase: str) -> str:
    return duration(timings.phases[phase]) if phase in timings.phases else "-"


def _efficiency(timings: BuildTimings) -> str:
    share = efficiency(timings)
    return "-" if share is None else f"{share:.0%}"


def _target(target: tuple[str, float] | None) -> str:
    return "" if target is None else f"{duration(target[1])}  {target[0]}"
