"""A driver whose clients count what they do, in slices between which they are paused, or in one.

A paused driver gets no CPU time and sends its server no requests. The server still finishes a
request that was under way, and the client takes the answer when it resumes. That is at most one
event for each client, and it is not counted. A slice counts after a short while, when those events
and the work of the subject before are over (``slice_client.py``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from dbhone.account import own
from dbhone.command import Command
from dbhone.errors import DriverError, HoneError
from dbhone.measurement import process_stats
from dbhone.process import Finished, Process
from dbhone.units import count_of
from dbhone.untrusted_files import read_untrusted
from dbhone.workload.counting import CountFile, Counts
from dbhone.workload.drive import DriverCommand, DriverResult, failure
from dbhone.workload.drivers.base import (
    INTERVAL,
    SHORTEST_WITH_INTERVALS,
    DriverReport,
)

ENDING = 60.0
"""Seconds that clients have at least to end by themselves."""
_POLL = 0.005
_EVENT_POLL = 0.001
_MOST_PRINTED = 1 << 20


def drive_counting(command: DriverCommand, folder: Path) -> DriverResult:
    """Drive a server for the seconds of a task by clients that count what they do.

    The seconds begin when all clients are connected, and last until the events that are under way
    after them have ended. ``folder`` gets the files of the client. A driver that fails is a result,
    not an exception. Raises NoSpaceError when the disk is full: that is not a result of the
    subject.
    """
    began = time.monotonic()
    outcome: DriverReport | HoneError
    with PausableClient(command, folder) as client:
        try:
            outcome = _counted(client, command)
        except DriverError as error:
            outcome = error
        return DriverResult(
            argv=client.argv,
            output=client.printed(),
            seconds=time.monotonic() - began,
            cpu_seconds=client.total_cpu_seconds,
            outcome=outcome,
        )


def _counted(client: PausableClient, command: DriverCommand) -> DriverReport:
    """Let the clients work, and end; return what they counted."""
    run, deadline = command.request.run, time.monotonic() + command.timeout
    client.await_ready(command.timeout)
    with client.running():
        before = client.counts()
        rates = _interval_rates(client, run.seconds)
        client.end_events(max(ENDING, deadline - time.monotonic()))
        counts = client.counts().since(before)
    client.end(max(ENDING, deadline - time.monotonic()))
    if counts.refused and not counts.finished:
        raise DriverError(
            f"no operation ended well in {counts.seconds:.1f} s: the server refused"
            f" {count_of(counts.refused, 'operation')}"
        )
    if not counts.finished:
        raise DriverError(
            f"not one operation ended in {counts.seconds:.1f} s",
            hint="give the slices more seconds, or the data fewer rows",
        )
    report = counts.report(command.request.task.set, run.parts)
    whole, *parts = report.steps
    whole = dataclasses.replace(whole, interval_rates=rates, intervals_began=before.at)
    return dataclasses.replace(report, steps=(whole, *parts))


def _interval_rates(client: PausableClient, seconds: float) -> tuple[float, ...]:
    """Let the clients work for these seconds; return their events per second in each interval."""
    began, rates = time.monotonic(), list[float]()

    def pass_until(passed: float) -> None:
        client.pass_time(max(0.0, began + passed - time.monotonic()))

    for number in range(int(seconds // INTERVAL) if seconds >= SHORTEST_WITH_INTERVALS else 0):
        finished = client.finished_events()
        pass_until((number + 1) * INTERVAL)
        rates.append((client.finished_events() - finished) / INTERVAL)
    pass_until(seconds)
    return tuple(rates)


class PausableClient:
    """A driver on one server. Use it as a context manager: leaving it ends the driver.

    Entering starts the driver, which connects its clients; they send no requests before they run.
    ``folder`` gets its file of counts and what it prints. Raises ToolError if it cannot be
    started.
    """

    def __init__(self, command: DriverCommand, folder: Path) -> None:
        self._command = command
        self._log = folder / "printed"
        run = command.request.run
        self.parts = run.parts
        """The keys of the parts of events that are counted."""
        self._counts = CountFile(folder / "counts", run.threads, len(self.parts))
        argv = command.driver.counting_argv(command.request, self._counts.path)
        self._process_command = self._admitted(
            dataclasses.replace(command.process_command(argv, log=self._log), timeout=None)
        )
        self._process: Process | None = None
        self._used = 0.0

    def _admitted(self, command: Command) -> Command:
        """Let the driver write its counts, and nothing else that is in the folder."""
        own(self._counts.path, command.account)
        if command.sandbox is None:
            return command
        return dataclasses.replace(
            command, sandbox=command.sandbox.with_writable(self._counts.path)
        )

    def __enter__(self) -> PausableClient:
        self._process = Process(self._process_command, capture=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.close()
        self._counts.remove()

    @property
    def argv(self) -> tuple[str, ...]:
        """The driver's command line."""
        return self._process_command.argv

    @property
    def cpu_seconds(self) -> float:
        """The CPU time that the driver has used so far, in seconds."""
        return process_stats.cpu_seconds(self._started.pid) or 0.0

    @property
    def total_cpu_seconds(self) -> float:
        """The CPU time that it has used from its start to its end, or so far."""
        return self._used or self.cpu_seconds

    @property
    def _started(self) -> Process:
        if self._process is None:
            raise DriverError(f"{self._command.driver.name} was not started")
        return self._process

    def await_ready(self, timeout: float) -> None:
        """Wait until all clients are connected. Raises DriverError if they are late."""
        deadline = time.monotonic() + timeout
        while self._counts.ready < self._counts.clients:
            self.pass_time(_POLL)
            if time.monotonic() > deadline:
                raise DriverError(
                    f"{self._counts.ready} of {self._counts.clients} clients of"
                    f" {self._command.driver.name} were connected after {timeout:.0f} s"
                )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let the clients send requests meanwhile."""
        try:
            self._counts.begin()
            self._started.signal(signal.SIGCONT)
            yield
        finally:
            self.pause()

    def pause(self) -> None:
        """Stop the driver, with all its threads, where it is."""
        self._started.signal(signal.SIGSTOP)

    def pass_time(self, seconds: float) -> None:
        """Let time pass. Raises DriverError at once when the driver ends."""
        if self._started.wait(seconds):
            raise failure(self._command, self._finish())

    def await_event(self, timeout: float) -> None:
        """Let time pass until an event ends, at most so long. Raises DriverError as above."""
        ended, deadline = self._counts.ended(), time.monotonic() + timeout
        while self._counts.ended() == ended and time.monotonic() < deadline:
            self.pass_time(_EVENT_POLL)

    def end_events(self, timeout: float) -> None:
        """Let the events that are under way end, at most so long, and no others begin."""
        self._counts.end()
        deadline = time.monotonic() + timeout
        while self._counts.under_way() and time.monotonic() < deadline:
            if self._started.wait(_EVENT_POLL):
                break  # Whether it ended well is told by ``end``.

    def finished_events(self) -> int:
        """Return how many events were finished so far."""
        return self._counts.finished()

    def executed_events(self) -> int:
        """Return how many events were executed so far, those that a pause cut included."""
        return self._counts.executed()

    def counts(self) -> Counts:
        """Return what was counted so far."""
        return self._counts.read()

    def end(self, timeout: float) -> None:
        """Let the driver end by itself. Raises DriverError if it failed, or does not end."""
        self._counts.end()
        self._started.signal(signal.SIGCONT)
        if not self._started.wait(timeout):
            name = self._command.driver.name
            raise DriverError(f"{name} did not end within {timeout:.0f} s of being told to")
        finished = self._finish()
        if not finished.ok:
            raise failure(self._command, finished)

    def printed(self) -> bytes:
        """Return what the driver printed, without the middle of more than a megabyte."""
        try:
            return read_untrusted(self._log, limit=_MOST_PRINTED)
        except FileNotFoundError:
            return b""

    def _finish(self) -> Finished:
        finished = self._started.finish()
        self._used = finished.cpu_seconds
        return dataclasses.replace(finished, output=self.printed())
