"""speedtest1, SQLite's own benchmark (test/speedtest1.c in its source tree).

It prints and flushes a step's name when the step begins, and the seconds, to the
millisecond, when it ends. A millisecond is too coarse for steps of ten, so a step is timed
by when its name and the next one arrive here, bounded by what speedtest1 itself says: its
figure is the difference of two clocks cut to milliseconds, so the truth lies within one
millisecond of it. A step during which speedtest1 was paused is timed by the arrivals alone, without
the pauses: its own clock may or may not have gone on.

To a pipe the C library writes in blocks, and the last step's result would come when the program
exits, after it has closed the database. So coreutils' library for ``stdbuf`` has every line written
at once, where it is installed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import DriverError
from dbhone.workload.drivers.base import (
    Chunk,
    DriverReport,
    DriverRequest,
    EmbeddedDriver,
    StepResult,
    difference,
    source_text,
    text_of,
)
from dbhone.workload.task import Task

_STDBUF = tuple(
    Path(folder) / "coreutils" / "libstdbuf.so"
    for folder in ("/usr/libexec", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu")
)
_RESOLUTION = 0.001
_SHORTEST = 0.00001
_HEADER = re.compile(r"-- Speedtest1 for SQLite (\S+) ")
_STEP = re.compile(r" {0,3}(\d{1,4}) - (.*?)\.* +(\d{1,15}\.\d{3})s")
_NAME = re.compile(r" {0,3}\d{1,4} - .*\.* ")
_TOTAL = re.compile(r" +TOTAL\.+ +(\d{1,15}\.\d{3})s")
_HASH = re.compile(r"Verification Hash: (\d+ [0-9a-f]+)")
_NOISE = re.compile(r' +Begin testset "\w+"')
_SETS = re.compile(r'strcmp\(\s*zThisTest\s*,\s*"(\w+)"\s*\)\s*==\s*0')


class Speedtest1(EmbeddedDriver):
    """Runs one test set on a new database file, without waiting for the disk."""

    name = "speedtest1"
    artifact = "speedtest1"
    single_threaded = True

    @property
    def environment(self) -> Mapping[str, str]:
        """What has the C library write every line at once."""
        library = next((path for path in _STDBUF if path.is_file()), None)
        return {} if library is None else {"LD_PRELOAD": str(library), "_STDBUF_O": "L"}

    def sets(self, suite: tuple[str, ...], tree: Path) -> tuple[str, ...]:
        """Return the suite's test sets that this version's source knows."""
        text = source_text(tree / "test" / "speedtest1.c")
        known = frozenset(_SETS.findall(text))
        return tuple(name for name in suite if name in known)

    def can_pause(self, task: Task) -> bool:
        """Return True: steps are timed by when their names arrive."""
        del task
        return True

    def begins_step(self, line: str) -> bool:
        """Return whether a line has a step's name: what it took follows on the same line."""
        return bool(_NAME.fullmatch(line) or _STEP.fullmatch(line))

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command: without fsync, whose time belongs to the disk."""
        task = request.task
        options = ("--nosync", "--size", str(task.size), "--testset", task.set)
        verifying = ("--verify",) if request.verify else ()
        return (str(request.program), *options, *verifying, str(request.database))

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return the steps; every line must be one that speedtest1 prints."""
        del request
        text = text_of(transcript)
        lines = text.splitlines()
        header = _HEADER.match(lines[0]) if lines else None
        if header is None:
            raise DriverError(_nonsense("first line", lines[0] if lines else ""))
        steps, verification = _read_lines(lines[1:])
        begins, printed = _arrivals(transcript)
        return DriverReport(
            version=header.group(1),
            steps=tuple(
                _result(step, begins.get(at), begins.get(at + 1), printed.get(at))
                for at, step in enumerate(steps)
            ),
            verification=verification,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    key: str
    title: str
    seconds: float


def _read_lines(lines: list[str]) -> tuple[list[_Line], str | None]:
    steps: list[_Line] = []
    seen: dict[str, int] = {}
    ended, verification = False, None
    for line in lines:
        if not line.strip() or _NOISE.fullmatch(line):
            continue
        step = _STEP.fullmatch(line)
        verified = _HASH.fullmatch(line.rstrip())
        if step is not None and not ended:
            number = step.group(1)
            seen[number] = seen.get(number, 0) + 1
            key = number if seen[number] == 1 else f"{number}.{seen[number]}"
            steps.append(_Line(key=key, title=step.group(2), seconds=float(step.group(3))))
        elif _TOTAL.fullmatch(line):
            ended = True
        elif verified is not None:
            verification = verified.group(1)
        else:
            raise DriverError(_nonsense("line", line))
    if not ended or not steps:
        raise DriverError("speedtest1 ended before its TOTAL line")
    return steps, verification


def _arrivals(transcript: tuple[Chunk, ...]) -> tuple[dict[int, Chunk], dict[int, Chunk]]:
    """Return, by the step's index, the chunks with which it began, and those that had its result.

    Only a chunk that ends in a step's name tells when that step began, and the one before ended; of
    steps so short that their output arrived in one piece nothing is known but what speedtest1 says.
    """
    begins: dict[int, Chunk] = {}
    printed: dict[int, Chunk] = {}
    open_line = ""
    for chunk in transcript:
        *lines, open_line = (open_line + chunk.data.decode("utf-8", "replace")).split("\n")
        for line in lines:
            if _STEP.fullmatch(line):
                printed[len(printed)] = chunk
        if _NAME.fullmatch(open_line):
            begins[len(printed)] = chunk
    if printed and not transcript[-1].data:
        begins[len(printed)] = _end_of_last(printed[len(printed) - 1], transcript[-1])
    return begins, printed


def _end_of_last(result: Chunk, exit_: Chunk) -> Chunk:
    """Return when the last step ended, which is when its result came.

    What the program used is known at its exit, when it has closed the database, too.
    """
    return dataclasses.replace(exit_, at=result.at, paused=result.paused)


def _result(
    line: _Line, begin: Chunk | None, end: Chunk | None, printed: Chunk | None
) -> StepResult:
    if begin is None or end is None:
        return StepResult(
            key=line.key,
            title=line.title,
            seconds=_roughly(line, begin, printed),
            cpu_seconds=None,
            instructions=None,
            peak_memory_bytes=begin.peak_memory_bytes if begin else None,
        )
    seconds = end.at - begin.at
    if end.paused == begin.paused:
        earliest = max(line.seconds - _RESOLUTION, _SHORTEST)
        seconds = min(max(seconds, earliest), line.seconds + _RESOLUTION)
    else:
        # A pause may lie between a step's name and the moment at which its clock starts.
        seconds = max(seconds - (end.paused - begin.paused), _SHORTEST)
    cpu = difference(end.cpu_seconds, begin.cpu_seconds)
    return StepResult(
        key=line.key,
        title=line.title,
        seconds=seconds,
        # What comes after the last step, closing the database, is not the step's.
        cpu_seconds=cpu if cpu is None else min(cpu, seconds),
        instructions=difference(end.instructions, begin.instructions),
        peak_memory_bytes=end.peak_memory_bytes,
    )


def _roughly(line: _Line, begin: Chunk | None, printed: Chunk | None) -> float:
    """Return the time of a step whose beginning or end was not seen.

    speedtest1's own clock tells it, unless the step was paused: then that clock has counted the
    pauses, and the arrival of the result is the nearest to the step's end that is known.
    """
    paused = printed.paused - begin.paused if begin and printed else 0.0
    if begin is None or printed is None or not paused:
        return max(line.seconds, _RESOLUTION / 2)
    return max(printed.at - begin.at - paused, _SHORTEST)


def _nonsense(what: str, line: str) -> str:
    return f"speedtest1 printed an unexpected {what}: {line[:120]!r}"


PLUGIN = Speedtest1()
