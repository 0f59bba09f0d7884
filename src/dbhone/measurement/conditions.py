"""What the machine did while something was measured: who else was busy, what was taken away.

A snapshot before and one after tell what happened between them. Taking one reads a few small
files of /proc and /sys, in well under a millisecond. What a machine does not tell is absent.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from dbhone import cgroup
from dbhone.files import text_if_there

_ROOT = Path("/")
_CPUS = Path("sys/devices/system/cpu")
_FIELDS = 8
"""Of a line ``cpu`` in /proc/stat. Guests' time, which follows, is in the user time already."""


class Condition(StrEnum):
    """The conditions that ``between`` returns."""

    STEAL = "steal"
    """Share of all cores' time that the hypervisor gave to others while we wanted it."""
    OTHERS = "others_cores"
    """Cores that other processes kept busy, on average."""
    THROTTLED = "throttled_seconds"
    """Time that our control group's quota kept us from the CPU."""
    THERMAL = "thermal_seconds"
    """Time that the CPU was slowed down because it was hot."""
    PRESSURE_MEMORY = "pressure_memory"
    """Share of the time in which something waited for memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTimes:
    """Time of all cores together since the machine started, in seconds."""

    busy: float
    steal: float
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The machine at a moment; times in seconds since it started, None if they are unknown.

    ``at`` is on the monotonic clock. ``memory_pressure`` is the time in which something waited for
    memory.
    """

    at: float
    cpu: CpuTimes | None
    throttled: float | None
    thermal: float | None
    memory_pressure: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """Where to read, found once."""

    stat: Path
    throttled: tuple[Path, ...]
    thermal: Path
    memory_pressure: Path


def read_conditions(root: Path = _ROOT) -> Snapshot:
    """Return the conditions now."""
    files = _files(root)
    thermal = text_if_there(files.thermal)
    return Snapshot(
        at=time.monotonic(),
        cpu=parse_cpu_times(text_if_there(files.stat)),
        throttled=_sum([parse_throttled(text_if_there(path)) for path in files.throttled]),
        thermal=int(thermal) / 1e3 if thermal else None,
        memory_pressure=parse_pressure(text_if_there(files.memory_pressure)),
    )


def between(before: Snapshot, after: Snapshot, *, own_cpu_seconds: float) -> dict[str, float]:
    """Return what happened from ``before`` to ``after``, by the names of ``Condition``.

    ``own_cpu_seconds`` is what the measured programs and hone used meanwhile.
    """
    seconds = max(after.at - before.at, 1e-9)
    waited = _growth(before.memory_pressure, after.memory_pressure)
    rates: dict[Condition, float | None] = {
        Condition.THROTTLED: _growth(before.throttled, after.throttled),
        Condition.THERMAL: _growth(before.thermal, after.thermal),
        Condition.PRESSURE_MEMORY: None if waited is None else min(waited / seconds, 1.0),
    }
    if before.cpu is not None and after.cpu is not None:
        total = after.cpu.total - before.cpu.total
        rates[Condition.STEAL] = _share(after.cpu.steal - before.cpu.steal, total)
        others = after.cpu.busy - before.cpu.busy - own_cpu_seconds
        rates[Condition.OTHERS] = max(0.0, others / seconds)
    return {str(resource): value for resource, value in rates.items() if value is not None}


def parse_cpu_times(stat: str) -> CpuTimes | None:
    """Return the times that /proc/stat tells."""
    if not stat.startswith("cpu "):
        return None
    ticks = [int(word) for word in stat.partition("\n")[0].split()[1 : 1 + _FIELDS]]
    user, nice, system, idle, iowait, hard, soft, steal = (
        tick / os.sysconf("SC_CLK_TCK") for tick in ticks
    )
    busy = user + nice + system + hard + soft
    return CpuTimes(busy=busy, steal=steal, total=busy + idle + iowait + steal)


def parse_pressure(text: str) -> float | None:
    """Return the seconds in which something waited, from a file of /proc/pressure."""
    if not text.startswith("some "):
        return None
    return int(text.partition("\n")[0].rpartition("total=")[2]) / 1e6


def parse_throttled(cpu_stat: str) -> float | None:
    """Return the seconds that a group's quota took, from its ``cpu.stat`` of either version."""
    for line in cpu_stat.splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_usec":
            return int(value) / 1e6
        if name == "throttled_time":
            return int(value) / 1e9
    return None


@cache
def _files(root: Path) -> _Files:
    proc = root / "proc"
    cpu = root / _CPUS / f"cpu{min(os.sched_getaffinity(0))}"
    throttled = [folder / "cpu.stat" for folder in cgroup.folders(root, "cpu")]
    return _Files(
        stat=proc / "stat",
        throttled=tuple(path for path in throttled if path.exists()),
        thermal=cpu / "thermal_throttle/package_throttle_total_time_ms",
        memory_pressure=proc / "pressure/memory",
    )


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _growth(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def _share(part: float, whole: float) -> float:
    """Counters of the kernel may go back by a tick; a share never does."""
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
