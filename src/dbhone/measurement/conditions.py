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
_FREQUENCIES = 8
"""Each costs a file; that many cores tell whether the clock is low."""
_FIELDS = 8
"""Of a line ``cpu`` in /proc/stat. Guests' time, which follows, is in the user time already."""


class Condition(StrEnum):
    """The conditions that ``between`` returns."""

    STEAL = "steal"
    """Share of all cores' time that the hypervisor gave to others while we wanted it."""
    IOWAIT = "iowait"
    """Share of all cores' time spent idle waiting for a disk."""
    OTHERS = "others_cores"
    """Cores that other processes kept busy, on average."""
    LOAD = "load"
    """Processes that ran or wanted to, ourselves included, over the last minute."""
    SWITCHES = "context_switches"
    """Of all processes, in a second."""
    THROTTLED = "throttled_seconds"
    """Time that our control group's quota kept us from the CPU."""
    THERMAL = "thermal_seconds"
    """Time that the CPU was slowed down because it was hot."""
    MEGAHERTZ = "megahertz"
    """The cores' clock, the mean of before and after."""
    PRESSURE_CPU = "pressure_cpu"
    """Share of the time in which something waited for a core."""
    PRESSURE_IO = "pressure_io"
    """Share of the time in which something waited for a disk."""
    PRESSURE_MEMORY = "pressure_memory"
    """Share of the time in which something waited for memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTimes:
    """Time of all cores together since the machine started, in seconds."""

    busy: float
    iowait: float
    steal: float
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The machine at a moment; times in seconds since it started, None if they are unknown.

    ``at`` is on the monotonic clock. ``pressure`` has the time of waiting by condition.
    """

    at: float
    cpu: CpuTimes | None
    switches: int | None
    load: float | None
    throttled: float | None
    thermal: float | None
    megahertz: float | None
    pressure: dict[Condition, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """Where to read, found once."""

    stat: Path
    load: Path
    throttled: tuple[Path, ...]
    thermal: Path
    frequencies: tuple[Path, ...]
    pressure: dict[Condition, Path]


def read_conditions(root: Path = _ROOT) -> Snapshot:
    """Return the conditions now."""
    files = _files(root)
    stat = text_if_there(files.stat)
    load = text_if_there(files.load)
    thermal = text_if_there(files.thermal)
    pressure = {
        resource: parse_pressure(text_if_there(path)) for resource, path in files.pressure.items()
    }
    return Snapshot(
        at=time.monotonic(),
        cpu=parse_cpu_times(stat),
        switches=parse_switches(stat),
        load=float(load.split()[0]) if load else None,
        throttled=_sum([parse_throttled(text_if_there(path)) for path in files.throttled]),
        thermal=int(thermal) / 1e3 if thermal else None,
        megahertz=parse_megahertz([text_if_there(path) for path in files.frequencies]),
        pressure={
            resource: seconds for resource, seconds in pressure.items() if seconds is not None
        },
    )


def between(before: Snapshot, after: Snapshot, *, own_cpu_seconds: float) -> dict[str, float]:
    """Return what happened from ``before`` to ``after``, by the names of ``Condition``.

    ``own_cpu_seconds`` is what the measured programs and hone used meanwhile.
    """
    seconds = max(after.at - before.at, 1e-9)
    rates: dict[Condition, float | None] = {
        Condition.LOAD: after.load,
        Condition.SWITCHES: _rate(before.switches, after.switches, seconds),
        Condition.THROTTLED: _growth(before.throttled, after.throttled),
        Condition.THERMAL: _growth(before.thermal, after.thermal),
        Condition.MEGAHERTZ: _mean(before.megahertz, after.megahertz),
    }
    for resource, start in before.pressure.items():
        share = _rate(start, after.pressure.get(resource), seconds)
        rates[resource] = None if share is None else min(share, 1.0)
    if before.cpu is not None and after.cpu is not None:
        total = after.cpu.total - before.cpu.total
        rates[Condition.STEAL] = _share(after.cpu.steal - before.cpu.steal, total)
        rates[Condition.IOWAIT] = _share(after.cpu.iowait - before.cpu.iowait, total)
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
    return CpuTimes(busy=busy, iowait=iowait, steal=steal, total=busy + idle + iowait + steal)


def parse_switches(stat: str) -> int | None:
    """Return the context switches that /proc/stat tells."""
    _, separator, rest = stat.partition("\nctxt ")
    return int(rest.split(None, 1)[0]) if separator else None


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


def parse_megahertz(kilohertz: list[str]) -> float | None:
    """Return the mean of the cores' frequencies, from their files ``scaling_cur_freq``."""
    known = [int(text) / 1e3 for text in kilohertz if text.strip().isdigit()]
    return sum(known) / len(known) if known else None


@cache
def _files(root: Path) -> _Files:
    proc = root / "proc"
    cpus = [root / _CPUS / f"cpu{number}" for number in sorted(os.sched_getaffinity(0))]
    frequencies = [cpu / "cpufreq/scaling_cur_freq" for cpu in cpus[:_FREQUENCIES]]
    throttled = [folder / "cpu.stat" for folder in cgroup.folders(root, "cpu")]
    return _Files(
        stat=proc / "stat",
        load=proc / "loadavg",
        throttled=tuple(path for path in throttled if path.exists()),
        thermal=cpus[0] / "thermal_throttle/package_throttle_total_time_ms",
        frequencies=tuple(path for path in frequencies if path.exists()),
        pressure={
            Condition.PRESSURE_CPU: proc / "pressure/cpu",
            Condition.PRESSURE_IO: proc / "pressure/io",
            Condition.PRESSURE_MEMORY: proc / "pressure/memory",
        },
    )


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _growth(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def _rate(before: float | None, after: float | None, seconds: float) -> float | None:
    growth = _growth(before, after)
    return None if growth is None else growth / seconds


def _mean(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else (before + after) / 2


def _share(part: float, whole: float) -> float:
    """Counters of the kernel may go back by a tick; a share never does."""
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
