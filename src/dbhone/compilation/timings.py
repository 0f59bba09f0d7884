"""Where the time of builds went: in figures, and as a trace that a browser draws.

Everything is computed from the recorded compile commands of the builds.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from dbhone.compilation.compile_commands import CompileCommand
from dbhone.compilation.manifest import Build
from dbhone.dbms.base import Phase
from dbhone.measurement.build_facts import BuildTarget, BuildTimings

SLOWEST = 20
"""How many of the slowest files and build targets are kept with a run."""

Event: TypeAlias = dict[str, Any]


def timings(build: Build, *, slowest: int = SLOWEST) -> BuildTimings:
    """Return where the time of a build went, without the linking of other layouts.

    ``jobs`` is the largest number of compile commands that ran at once. ``slowest`` includes link
    commands, which take most of the time with link-time optimisation.
    """
    commands = [command for command in build.commands() if command.phase != Phase.LAYOUTS]
    manifest = build.manifest
    phases = {name: took for name, took in manifest.phase_seconds.items() if name != Phase.LAYOUTS}
    by_time = sorted(commands, key=lambda command: (-command.seconds, command.output))
    return BuildTimings(
        seconds=manifest.seconds,
        cpu_seconds=sum(command.cpu for command in commands),
        jobs=len(lanes(commands)),
        files=sum(command.compiles for command in commands),
        phases=phases,
        slowest=tuple((command.output, command.seconds) for command in by_time[:slowest]),
        instrumented_seconds=sum(use.instrumented_seconds for use in manifest.trained) or None,
        build_targets=build_targets(commands)[:slowest],
    )


def build_targets(commands: Iterable[CompileCommand]) -> tuple[BuildTarget, ...]:
    """Return the CPU time of each build target, links too, the largest first."""
    of_target: dict[str, list[CompileCommand]] = {}
    for command in commands:
        of_target.setdefault(command.build_target, []).append(command)
    summed = (
        BuildTarget(
            name=name,
            cpu_seconds=sum(command.cpu for command in own),
            files=sum(command.compiles for command in own),
        )
        for name, own in of_target.items()
    )
    return tuple(sorted(summed, key=lambda target: (-target.cpu_seconds, target.name)))


def efficiency(times: BuildTimings) -> float | None:
    """Return the share of the jobs' time in which compilers worked, None for a build without jobs.

    1 is a build that kept all its jobs busy from start to end. Configuring makes it less, and so
    does waiting for a core, or for one slow file at the end.
    """
    available = times.seconds * times.jobs
    return min(1.0, times.cpu_seconds / available) if available else None


def lanes(commands: Iterable[CompileCommand]) -> tuple[tuple[CompileCommand, ...], ...]:
    """Return the commands in the fewest lanes, so that no two commands of a lane overlap.

    A command takes the lane that has been free for the longest time.
    """
    packed: list[list[CompileCommand]] = []
    free: list[tuple[float, int]] = []
    for command in sorted(commands, key=lambda command: (command.began, command.seconds)):
        if free and free[0][0] <= command.began:
            number = heapq.heappop(free)[1]
        else:
            number = len(packed)
            packed.append([])
        packed[number].append(command)
        heapq.heappush(free, (command.began + command.seconds, number))
    return tuple(tuple(lane) for lane in packed)


def trace(builds: Sequence[Build]) -> bytes:
    """Return the builds in Chrome's trace event format, for Perfetto or chrome://tracing.

    Each build is a process and each of its lanes a thread; all builds begin at time 0, so that
    they can be compared. Times are microseconds. The format is described in "Trace Event
    Format", which the Catapult project publishes.
    """
    events = [
        event for number, build in enumerate(builds, start=1) for event in _events(number, build)
    ]
    trace_file = {"traceEvents": events, "displayTimeUnit": "ms"}
    return (json.dumps(trace_file, separators=(",", ":")) + "\n").encode()


def _events(number: int, build: Build) -> Iterator[Event]:
    manifest = build.manifest
    commands = build.commands()
    yield _name("process", number, 0, f"{manifest.dbms} {manifest.version}, {build.label}")
    configured = manifest.phase_seconds.get(Phase.CONFIGURE, 0.0)
    if configured:
        yield _name("thread", number, 0, "configure")
        place = {"pid": number, "tid": 0, "ts": 0, "dur": round(configured * 1e6)}
        yield {"ph": "X", "name": "configure", "cat": Phase.CONFIGURE.value} | place
    # The start of a build is not recorded; compiling follows configuring.
    origin = min((command.began for command in commands), default=0.0) - configured
    for lane, packed in enumerate(lanes(commands), start=1):
        yield _name("thread", number, lane, f"job {lane}")
        for command in packed:
            place = {"pid": number, "tid": lane, "ts": round((command.began - origin) * 1e6)}
            yield _command(command) | place


def _command(command: CompileCommand) -> Event:
    links = command.phase == Phase.COMPILE and command.links
    return {
        "ph": "X",
        "name": command.output,
        "cat": "link" if links else command.phase,
        "dur": round(command.seconds * 1e6),
        "args": {
            "cpu_seconds": command.cpu,
            "memory_bytes": command.memory,
            "status": command.status,
        },
    }


def _name(what: str, number: int, lane: int, name: str) -> Event:
    arguments = {"name": name}
    return {"ph": "M", "name": f"{what}_name", "pid": number, "tid": lane, "args": arguments}
