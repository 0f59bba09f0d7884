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
    found = [timings(build, slowest=slowest) for build in builds]
    table.add_row("wall time", *(duration(each.seconds) for each in found))
    for phase in _phases(found):
        table.add_row(f"  {phase}", *(_phase(each, phase) for each in found))
    table.add_row("compilers' CPU time", *(duration(each.cpu_seconds) for each in found))
    table.add_row("most at once", *(str(each.jobs) for each in found))
    table.add_row("parallel efficiency", *(_efficiency(each) for each in found))
    table.add_row("files compiled", *(f"{each.targets:,}" for each in found))
    for rank, targets in enumerate(zip_longest(*(each.slowest for each in found))):
        table.add_row("" if rank else "slowest targets", *(_target(each) for each in targets))
    return table


def _phases(found: Sequence[BuildTimings]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phase for each in found for phase in each.phases))


def _phase(found: BuildTimings, phase: str) -> str:
    return duration(found.phases[phase]) if phase in found.phases else "-"


def _efficiency(found: BuildTimings) -> str:
    share = efficiency(found)
    return "-" if share is None else f"{share:.0%}"


def _target(target: tuple[str, float] | None) -> str:
    return "" if target is None else f"{duration(target[1])}  {target[0]}"
