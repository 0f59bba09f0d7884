"""SQLite's own shell, which runs statements of a script and times the ones that it is told to.

The shell is a thin client: what takes the time is the library of the build, with which it is
linked. ``.timer`` prints what a statement took, and the CPU time of the process meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dbhone.errors import DriverError
from dbhone.workload.drivers.base import (
    Chunk,
    DriverReport,
    DriverRequest,
    EmbeddedDriver,
    Latency,
    StepResult,
    text_of,
)

_SCRIPTS = Path(__file__).resolve().parents[1] / "suites" / "batch" / "scripts"
_NUMBER = r"\d{1,15}(?:\.\d+)?"
_VERSION = re.compile(r"version\|(\d+\.\d+\.\d+)")
_STEP = re.compile(r"step\|([\w-]+)\|(.+)")
_TIMER = re.compile(rf"Run Time: real ({_NUMBER}) user ({_NUMBER}) sys ({_NUMBER})")
_ROWS = re.compile(r"rows\|(\d{1,15})")
_ANSWER = re.compile(r"answer\|\S+")
_END = "end"
_SHORTEST = 0.0001
"""A statement that the shell says to take no time took less than it can tell."""


class SqliteShell(EmbeddedDriver):
    """Runs the script of a set on a new database file, without waiting for the disk."""

    name = "sqlite-shell"
    artifact = "shell"

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the shell, without the user's own start-up file, and its script."""
        task = request.task
        if task.seed is None:
            raise DriverError(f"{self.name} needs a seed for the values of {task.set}")
        script = _SCRIPTS / f"{task.suite_set}.sql"
        options = ("-batch", "-bail", "-init", "/dev/null", "-list", "-separator", "|")
        query = f"SELECT {task.size} AS row_count, {task.seed} AS seed"
        return (
            *(str(request.program), *options, str(request.database)),
            f"CREATE TEMPORARY TABLE asked AS {query};",
            # What stands on the command line itself is not timed.
            f".read {_quoted(script)}",
        )

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return the timed statements as steps: an operation is a row."""
        text = text_of(transcript)
        lines = [line for line in text.splitlines() if line.strip()]
        version = _VERSION.fullmatch(lines[0]) if lines else None
        if version is None or lines[-1] != _END:
            raise DriverError("SQLite's shell ended before the script did")
        answers = [line for line in lines if _ANSWER.fullmatch(line)]
        peak = transcript[-1].peak_memory_bytes
        body = iter(line for line in lines[1:-1] if line not in answers)
        steps = tuple(_steps(body, peak))
        if not steps:
            raise DriverError("SQLite's shell timed no statement")
        verification = "\n".join(answers) if request.verify else None
        return DriverReport(version=version[1], steps=steps, verification=verification)


def _quoted(path: Path) -> str:
    """Return a path as an argument of one of the shell's own commands."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _steps(lines: Iterator[str], peak: float | None) -> Iterator[StepResult]:
    """Yield what each statement took, and how many rows it wrote, as a step."""
    for line in lines:
        step = _STEP.fullmatch(line)
        timer = _TIMER.fullmatch(next(lines, ""))
        rows = _ROWS.fullmatch(next(lines, ""))
        if step is None or timer is None or rows is None:
            raise DriverError(f"SQLite's shell printed unexpected output: {line[:120]!r}")
        real, user, system = (float(seconds) for seconds in timer.groups())
        if int(rows[1]) == 0:
            raise DriverError(f"{step[1]} did nothing: it was given no rows")
        took = max(real, _SHORTEST)
        yield StepResult(
            key=step[1],
            title=step[2],
            seconds=took,
            cpu_seconds=min(user + system, took),
            peak_memory_bytes=peak,
            operations=float(rows[1]),
            latency=Latency(p50=took, p95=took, p99=took),
        )


PLUGIN = SqliteShell()
