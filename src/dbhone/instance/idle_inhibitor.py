"""Keeps CPUs awake while something is measured, so that nothing waits for one to wake up.

A CPU with nothing to do halts. A virtual one is taken off its processor then, and to get it
back takes tens of microseconds: as long as a server needs for a small query. So each CPU gets a
program that computes nothing for ever, of the class SCHED_IDLE of sched(7), which runs only where
nothing else wants to. It is stopped while nothing is measured, and ends with hone, however that
ends.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from dbhone.measurement import cgroup
from dbhone.measurement.process_stats import cpu_seconds
from dbhone.process import Command, Process
from dbhone.units import count_of

_SPIN = (sys.executable, "-I", "-S", "-c", "while True: pass")


class IdleInhibitor:
    """Keeps some CPUs awake, when it watches; none at all if there are none.

    Use it as a context manager. Raises ToolError if the kernel does not allow a program to be
    of that class or on that CPU.
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
            # To end takes a program some time, which on a busy machine it would long wait for.
            with contextlib.suppress(OSError):
                os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        self._spinners.clear()
        self._stack.close()

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Keep the CPUs awake meanwhile."""
        try:
            self._signal(signal.SIGCONT)
            yield
        finally:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        for each in self._spinners:
            each.signal(number)

    @property
    def pids(self) -> tuple[int, ...]:
        """The programs that keep the CPUs awake."""
        return tuple(each.pid for each in self._spinners)

    def cpu_seconds(self) -> float:
        """Return the CPU time that it has used so far, which nobody else wanted."""
        return sum(cpu_seconds(pid) or 0.0 for pid in self.pids)


def refusal(root: Path = Path("/")) -> str | None:
    """Say why CPUs cannot be kept awake here, None if they can. ``root`` is ``/``."""
    limit = cgroup.cpu_limit(root)
    if math.isinf(limit):
        return None
    return (
        f"the control group may use the time of {count_of(limit, 'CPU')}, which keeping CPUs"
        " awake would use up"
    )
