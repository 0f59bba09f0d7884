"""Where the time of builds went: in figures, and as a trace that a browser draws.

It computes from what the builds have on record; it measures nothing and starts nothing.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from dbhone.compilation.manifest import Build, CompileCommand
from dbhone.dbms.base import Phase
from dbhone.measurement.record import BuildTimings

SLOWEST = 20
"""How many of the slowest targets are kept with a run."""

Event: TypeAlias = dict[str, Any]


def timings(build: Build, *, slowest: int = SLOWEST) -> BuildTimings:
    """Return where the time of a build went.

    ``jobs`` is the most compile commands that ran at once. ``slowest`` has links too: with
    link-time optimisation that is where the time goes.
    """
    commands = build.commands()
    manifest = build.manifest
    by_time = sorted(commands, key=lambda each: (-each.seconds, each.target))
    return BuildTimings(
        seconds=manifest.seconds,
        cpu_seconds=sum(each.cpu for each in commands),
        jobs=len(lanes(commands)),
        targets=sum(each.compiles for each in commands),
        phases=dict(manifest.phase_seconds),
        slowest=tuple((each.target, each.seconds) for each in by_time[:slowest]),
        instrumented_seconds=(manifest.profile.instrumented_seconds or None)
        if manifest.profile
        else None,
    )


def efficiency(found: BuildTimings) -> float | None:
    """Return the share of the jobs' time in which compilers worked, None for a build of none.

    1 is a build that kept all its jobs busy from start to end. Configuring, and waiting for
    one slow target at the end, make it less; so does waiting for a core.
    """
    available = found.seconds * found.jobs
    return min(1.0, found.cpu_seconds / available) if available else None


def lanes(commands: Iterable[CompileCommand]) -> tuple[tuple[CompileCommand, ...], ...]:
    """Return the commands in as few lanes as can be, without overlap in any of them.

    A command takes the lane that has been free for the longest.
    """
    packed: list[list[CompileCommand]] = []
    free: list[tuple[float, int]] = []
    for each in sorted(commands, key=lambda command: (command.began, command.seconds)):
        if free and free[0][0] <= each.began:
            number = heapq.heappop(free)[1]
        else:
            number = len(packed)
            packed.append([])
        packed[number].append(each)
        heapq.heappush(free, (each.began + each.seconds, number))
    return tuple(tuple(each) for each in packed)


def trace(builds: Sequence[Build]) -> bytes:
    """Return the builds in Chrome's trace event format, for Perfetto or chrome://tracing.

    Each build is a process and each of its lanes a thread; all builds begin at time 0, so that
    they can be compared. Times are microseconds. The format is described in "Trace Event
    Format", which the Catapult project publishes.
    """
    events = [
        event for number, build in enumerate(builds, start=1) for event in _events(number, build)
    ]
    whole = {"traceEvents": events, "displayTimeUnit": "ms"}
    return (json.dumps(whole, separators=(",", ":")) + "\n").encode()


def _events(number: int, build: Build) -> Iterator[Event]:
    manifest = build.manifest
    commands = build.commands()
    yield _name("process", number, 0, f"{manifest.dbms} {manifest.version}, {build.label}")
    configured = manifest.phase_seconds.get(Phase.CONFIGURE, 0.0)
    if configured:
        yield _name("thread", number, 0, "configure")
        place = {"pid": number, "tid": 0, "ts": 0, "dur": round(configured * 1e6)}
        yield {"ph": "X", "name": "configure", "cat": Phase.CONFIGURE.value} | place
    # When a build began is not on record; compiling follows upon configuring.
    origin = min((each.began for each in commands), default=0.0) - configured
    for lane, packed in enumerate(lanes(commands), start=1):
        yield _name("thread", number, lane, f"job {lane}")
        for each in packed:
            place = {"pid": number, "tid": lane, "ts": round((each.began - origin) * 1e6)}
            yield _command(each) | place


def _command(each: CompileCommand) -> Event:
    links = each.phase == Phase.COMPILE and not each.compiles
    return {
        "ph": "X",
        "name": each.target,
        "cat": "link" if links else each.phase,
        "dur": round(each.seconds * 1e6),
        "args": {"cpu_seconds": each.cpu, "memory_bytes": each.memory, "status": each.status},
    }


def _name(what: str, number: int, lane: int, name: str) -> Event:
    arguments = {"name": name}
    return {"ph": "M", "name": f"{what}_name", "pid": number, "tid": lane, "args": arguments}
