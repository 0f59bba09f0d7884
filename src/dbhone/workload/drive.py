"""Starts a driver once and returns what it measured."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant
from dbhone.command import Command
from dbhone.errors import DriverError, HoneError, NoSpaceError, database_says_disk_full
from dbhone.measurement import perf_events, process_stats
from dbhone.sandbox import Sandbox
from dbhone.workload.drivers.base import Chunk, Driver, DriverReport, DriverRequest

_STOPPING = 0.0001
"""Seconds between two looks whether a driver has stopped."""
_RESUMING = 0.00001
"""Seconds between two looks whether it goes on: until then nothing of its time is counted."""
_LIMITED = "choose a smaller size: --size; or a machine that has more"
_IO_ERROR = "disk I/O error"
"""SQLite's word, which a full disk often causes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverResult:
    """What a driver did: the ``outcome`` is its report, or why there is none."""

    argv: tuple[str, ...]
    output: bytes
    seconds: float
    cpu_seconds: float
    outcome: DriverReport | HoneError

    @property
    def report(self) -> DriverReport | None:
        """The report, None if there is none."""
        return self.outcome if isinstance(self.outcome, DriverReport) else None

    @property
    def error(self) -> HoneError | None:
        """Why there is no report, None if there is one."""
        return self.outcome if isinstance(self.outcome, HoneError) else None

    @property
    def failure(self) -> str | None:
        """The error in words."""
        return None if self.error is None else self.error.text_with_log

    def require_report(self) -> DriverReport:
        """Return the report; raise what stands in its place."""
        if isinstance(self.outcome, HoneError):
            raise self.outcome
        return self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCommand:
    """How to start a driver: for which request, where, and for how long.

    ``version`` is what the DBMS must say it is, if it says. ``folder`` is where the driver runs.
    ``timeout`` is in seconds; ``env`` is added to the little environment that it gets. ``cpus`` are
    the only ones that it may run on. It runs in the ``sandbox`` and for the ``tenant``, as
    ``Command`` says.
    """

    driver: Driver
    request: DriverRequest
    folder: Path
    version: str
    timeout: float
    env: tuple[tuple[str, str], ...] = ()
    cpus: frozenset[int] | None = None
    sandbox: Sandbox | None = None
    tenant: Tenant | None = None

    def process_command(
        self, argv: tuple[str, ...] | None = None, *, log: Path | None = None
    ) -> Command:
        """Return the command line with its environment; ``argv`` goes before the driver's usual.

        Without a ``log`` what it prints is captured.
        """
        return Command(
            argv=argv or self.driver.argv(self.request),
            cwd=self.folder,
            log=log,
            env={"LC_ALL": "C", **self.driver.environment, **dict(self.env)},
            isolated=True,
            timeout=self.timeout,
            cpus=self.cpus,
            sandbox=self.sandbox,
            tenant=self.tenant,
        )


def drive(command: DriverCommand) -> DriverResult:
    """Run the driver to its end. A driver that fails is a result, not an exception.

    Raises NoSpaceError when the disk is full: that is not a result of the subject.
    """
    process_command = command.process_command()
    with contextlib.closing(_UsageRecorder()) as recorder:
        finished = process.run(process_command, on_chunk=recorder.chunk)
        return recorder.result(command, process_command, finished, finished.seconds)


class PausableRun:
    """A run of an embedded driver that runs for a while at a time, and is paused in between.

    Use it as a context manager. Entering starts the driver and pauses it at once; leaving ends it.
    The pauses are in no figure of its result. ``steps_begun`` is how many steps it has begun.
    Raises ToolError if it cannot be started.
    """

    def __init__(self, command: DriverCommand) -> None:
        self.steps_begun = 0
        self._command = command
        self._process_command = dataclasses.replace(command.process_command(), timeout=None)
        self._usage = _UsageRecorder()
        self._output = bytearray()
        self._open_line = b""
        self._steps_of_lines = 0
        self._result: DriverResult | None = None
        self._paused_at = 0.0

    def __enter__(self) -> PausableRun:
        self._process = process.Process(self._process_command, capture=True)
        try:
            self._pause()
        except BaseException:
            self._process.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._usage.close()
        self._process.close()

    def proceed(self, seconds: float) -> DriverResult | None:
        """Let the driver run until it begins a step or ends, and for this many seconds at most.

        Return its result if it ended. Raises NoSpaceError when the disk is full.
        """
        if self._result is not None:
            return self._result
        self._resume()
        before = self.steps_begun
        ended = self._read_until(time.monotonic() + seconds, or_step=True) or self._pause()
        if ended:
            return self._result
        if self.steps_begun > before:
            self._usage.read_again(self._process.pid)
        if self._running_seconds() > self._command.timeout:
            self._process.signal(signal.SIGCONT)
            self._process.time_out()
            self._finish()
        return self._result

    def _running_seconds(self) -> float:
        return time.monotonic() - self._process.started - self._usage.paused

    def _resume(self) -> None:
        """Let it go on, and wait until it does, which takes some tenths of a millisecond."""
        self._process.signal(signal.SIGCONT)
        while process_stats.is_stopped(self._process.pid):
            time.sleep(_RESUMING)
        self._usage.paused += time.monotonic() - self._paused_at

    def _pause(self) -> bool:
        """Stop it, and wait until it has: no two subjects run at once. Return whether it ended."""
        self._process.signal(signal.SIGSTOP)
        while process_stats.is_running(self._process.pid):
            time.sleep(_STOPPING)
        self._paused_at = time.monotonic()
        return self._read_until(self._paused_at)

    def _read_until(self, deadline: float, *, or_step: bool = False) -> bool:
        """Read what it prints until then; return whether it has ended, and keep its result.

        With ``or_step`` stop reading when it begins a step.
        """
        while (chunk := self._process.read(max(0.0, deadline - time.monotonic()))) is not None:
            if not chunk:
                self._finish()
                return True
            # What is read after it stopped was printed before.
            self._usage.chunk(chunk, min(time.monotonic(), deadline), self._process.pid)
            self._output += chunk
            if len(self._output) > process.CAPTURE_LIMIT:
                self._process.end()
                self._finish(overflowed=True)
                return True
            if self._count_steps(chunk) and or_step:
                return False
        return False

    def _count_steps(self, chunk: bytes) -> bool:
        """Count the steps that have begun; return whether a piece of output tells of a new one."""
        before = self.steps_begun
        *ended, self._open_line = (self._open_line + chunk).split(b"\n")
        self._steps_of_lines += sum(map(self._begins_step, ended))
        self.steps_begun = self._steps_of_lines + self._begins_step(self._open_line)
        return self.steps_begun > before

    def _begins_step(self, line: bytes) -> bool:
        return self._command.driver.begins_step(line.decode("utf-8", "replace"))

    def _finish(self, *, overflowed: bool = False) -> None:
        running = self._running_seconds()
        finished = self._process.finish(output=bytes(self._output), overflowed=overflowed)
        self._result = self._usage.result(self._command, self._process_command, finished, running)


class _UsageRecorder:
    """Notes what the program had used whenever it printed."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.paused = 0.0
        self._counter: perf_events.Counter | None = None
        self._opened = False

    def chunk(self, data: bytes, at: float, pid: int) -> None:
        if not self._opened:
            self._opened = True
            self._counter = perf_events.open_counter(pid)
        cpu = process_stats.cpu_seconds(pid)
        memory = process_stats.peak_memory(pid)
        self.chunks.append(
            Chunk(
                data=data,
                at=at,
                cpu_seconds=cpu,
                instructions=self._counter.read() if self._counter else None,
                peak_memory_bytes=memory,
                paused=self.paused,
            )
        )

    def read_again(self, pid: int) -> None:
        """Take the CPU time of the last piece of output anew, from a process that has stopped.

        The kernel tells that of a running process as of its last tick, up to 10 ms ago.
        """
        cpu = process_stats.cpu_seconds(pid)
        self.chunks[-1] = dataclasses.replace(self.chunks[-1], cpu_seconds=cpu)

    def result(
        self,
        command: DriverCommand,
        process_command: Command,
        finished: process.Finished,
        seconds: float,
    ) -> DriverResult:
        """Return what a run measured that has finished, and ran for this many ``seconds``."""
        self._end(finished)
        outcome: DriverReport | HoneError
        try:
            outcome = _report(command, finished, tuple(self.chunks))
        except DriverError as error:
            outcome = error
        return DriverResult(
            argv=process_command.argv,
            output=finished.output,
            seconds=seconds,
            cpu_seconds=finished.cpu_seconds,
            outcome=outcome,
        )

    def _end(self, finished: process.Finished) -> None:
        """Note the end, as of which the last step's use is counted."""
        # What arrives as the program exits finds its memory gone: the last that was seen counts.
        peaks = [chunk.peak_memory_bytes for chunk in self.chunks if chunk.peak_memory_bytes]
        self.chunks.append(
            Chunk(
                data=b"",
                at=time.monotonic(),
                cpu_seconds=finished.cpu_seconds,
                peak_memory_bytes=peaks[-1] if peaks else None,
                paused=self.paused,
            )
        )

    def close(self) -> None:
        if self._counter is not None:
            self._counter.close()


def _report(
    command: DriverCommand, finished: process.Finished, chunks: tuple[Chunk, ...]
) -> DriverReport:
    """Return what the driver measured. Raises DriverError if it failed or makes no sense."""
    name = command.driver.name
    if not finished.ok:
        raise failure(command, finished)
    if not finished.output.strip():
        raise DriverError(f"{name} printed nothing")
    try:
        report = command.driver.read(command.request, chunks)
    except (ValueError, ArithmeticError) as error:
        raise DriverError(f"{name} printed unexpected output: {error}") from error
    if report.version not in (None, command.version):
        raise DriverError(f"{name} ran {report.version}, but {command.version} was built")
    return report


def failure(command: DriverCommand, finished: process.Finished) -> DriverError:
    """Return why a driver failed, by its own last words.

    Raises NoSpaceError when the disk is full.
    """
    name, tail = command.driver.name, finished.text().strip()[-2000:]
    if database_says_disk_full(tail) or _IO_ERROR in tail:
        raise NoSpaceError(f"no space left for the database of {name} in {command.folder}")
    last = tail.splitlines()[-1][:200] if tail else "it printed nothing"
    exceeded = None if command.tenant is None else command.tenant.exceeded()
    if exceeded:
        return DriverError(f"{name} {finished.ending()}, and {exceeded}", hint=_LIMITED)
    known = command.driver.error_in_output(finished.text())
    return known or DriverError(f"{name} {finished.ending()}: {last}")
