"""What one running process has used so far; cheap enough to be asked at every step.

The CPU time comes from the process's own clock (clock_getcpuclockid(3)): one system call, in
nanoseconds, with all threads, those that ended too. That of a process that is stopped is exact;
that of one that runs just then is as of its last tick, 1 to 10 ms ago. ``/proc/PID/schedstat``
has neither the ended threads nor, with several of them, one file to read it from. Kernels
that lack such clocks (gVisor) answer from ``/proc/PID/stat``, in ticks of 10 ms.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

_PROC = Path("/proc")
_SCHED = 2
"""CPUCLOCK_SCHED of linux/posix-timers.h: user and system time, of the whole process."""

_INNER = re.compile(rb"^NSpid:.*\t(\d+)$", re.MULTILINE)
"""The last is that of the innermost namespace (proc_pid_status(5))."""
_STOPPED = (b"T", b"t")
"""The states of proc_pid_stat(5) of a process that a signal or a tracer stopped."""
_ENDED = (b"Z", b"X")


def cpu_seconds(pid: int, *, proc: Path = _PROC) -> float | None:
    """Return the user and system time of a process and all its threads, None if it is gone.

    The time of a process that ended is known until its parent has waited for it.
    """
    try:
        return time.clock_gettime_ns(_clock(pid)) / 1e9
    except OSError:
        return cpu_seconds_by_ticks(pid, proc=proc)


def _clock(pid: int) -> int:
    """Return the id of the process's clock (MAKE_PROCESS_CPUCLOCK of linux/posix-timers.h)."""
    return (~pid << 3) | _SCHED


def cpu_seconds_by_ticks(pid: int, *, proc: Path = _PROC) -> float | None:
    """Return the same from ``/proc/PID/stat``, to the tick."""
    text = read_whole(proc / str(pid) / "stat")
    if text is None:
        return None
    # The program's name, in parentheses, may hold anything; user and system time follow as
    # the 12th and 13th words after it (proc_pid_stat(5) counts them 14 and 15).
    words = text.rpartition(b")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def inner_pid(pid: int, *, proc: Path = _PROC) -> int | None:
    """Return the id that a process has for itself, in its sandbox; None if the process is gone."""
    ids = _INNER.search(read_whole(proc / str(pid) / "status") or b"")
    return int(ids[1]) if ids else None


def is_running(pid: int) -> bool:
    """Return whether a process is running: it is neither stopped nor ended."""
    return _state(pid) not in (*_STOPPED, *_ENDED, None)


def is_stopped(pid: int) -> bool:
    """Return whether a process is there and a signal has stopped it."""
    return _state(pid) in _STOPPED


def _state(pid: int) -> bytes | None:
    text = read_whole(_PROC / str(pid) / "stat")
    return None if text is None else text.rpartition(b")")[2].split()[0]


def peak_memory(pid: int, *, proc: Path = _PROC) -> int | None:
    """Return the most bytes of memory that a process held so far, None if it is gone."""
    text = read_whole(proc / str(pid) / "status")
    if text is None:
        return None
    _, separator, rest = text.partition(b"\nVmHWM:")
    return int(rest.split(None, 1)[0]) * 1024 if separator else None


def read_all(path: str | Path) -> bytes | None:
    """Return a file of /proc that may be longer than a page; otherwise as ``read_whole``."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def read_whole(path: str | Path, *, folder: int | None = None) -> bytes | None:
    """Return a file of /proc of at most a page, None if its process is gone, be it while reading.

    It is None too for a file that may not be read. ``folder`` is the descriptor of the folder
    that a relative path starts from: with many files in one folder that is faster.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        return os.read(descriptor, 8192)
    except OSError:
        return None
    finally:
        os.close(descriptor)
