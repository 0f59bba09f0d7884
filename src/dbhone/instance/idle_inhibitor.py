"""Keeps CPUs awake while something is measured.

A CPU with nothing to do halts. The hypervisor then takes a virtual CPU off its processor, and to
get it back takes tens of microseconds: as long as a server needs for a small query. So each CPU
gets an endless loop of the class SCHED_IDLE of sched(7), which runs only where nothing else wants
to. The loop is stopped while nothing is measured, and it ends with hone.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from dbhone import cgroup
from dbhone.command import Command
from dbhone.measurement.process_stats import cpu_seconds
from dbhone.process import Process
from dbhone.units import count_of

_SPIN = (sys.executable, "-I", "-S", "-c", "while True: pass")


class IdleInhibitor:
    """Keeps ``cpus`` awake while it watches; the set may be empty.

    Use it as a context manager. Raises ToolError if the kernel does not allow a program of that
    class, or one on that CPU.
    """

    def __init__(self, cpus: frozenset[int]) -> None:
        self._cpus = cpus
        self._stack = contextlib.ExitStack()
        self._spinners: list[Process] = []

    def __enter__(self) -> IdleInhibitor:
        with contextlib.ExitStack() as stack:
            for cpu in sorted(self._cpus):
                command = Command(
                    argv=_SPIN, cwd=Path("/"), isolated=True, cpus=frozenset({cpu}), idle=True
                )
                spinner = stack.enter_context(Process(command, capture=False))
                spinner.signal(signal.SIGSTOP)
                self._spinners.append(spinner)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.pids:
            # An idle program would wait long for the CPU time that it needs to end.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        self._spinners.clear()
        self._stack.close()

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Keep the CPUs awake inside the context."""
        try:
            self._signal(signal.SIGCONT)
            yield
        finally:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        for spinner in self._spinners:
            spinner.signal(number)

    @property
    def pids(self) -> tuple[int, ...]:
        """The programs that keep the CPUs awake."""
        return tuple(spinner.pid for spinner in self._spinners)

    def cpu_seconds(self) -> float:
        """Return the CPU time in seconds that the loops have used so far."""
        return sum(cpu_seconds(pid) or 0.0 for pid in self.pids)


def refusal(root: Path = Path("/")) -> str | None:
    """Return why CPUs cannot be kept awake here, None if they can. ``root`` is ``/``."""
    limit = cgroup.cpu_limit(root)
    if math.isinf(limit):
        return None
    return (
        f"the control group may use the time of {count_of(limit, 'CPU')}, which keeping CPUs"
        " awake would use up"
    )
