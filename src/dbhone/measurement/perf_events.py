"""Counts the instructions of a process with the CPU's own counters, and what the kernel counts.

It asks the kernel directly (perf_event_open(2)); the perf program is not needed. Of
instructions only those in user mode are counted: that is what a compiler can change, it hardly
varies, and it needs no privilege. There are no counters in most virtual machines and many
containers; ``why_not_counted`` says why.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
from enum import Enum
from pathlib import Path

_SYSCALLS = {"x86_64": 298, "aarch64": 241}
"""The number of perf_event_open, by machine."""
_ATTRIBUTES = struct.Struct("=IIQQQQQ64x")
"""perf_event_attr as of PERF_ATTR_SIZE_VER5: type, size, config, period, what a sample has,
what a read gives, flags; the rest is zero."""
_TIME_ENABLED, _TIME_RUNNING = 1 << 0, 1 << 1
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 1 << 3
_ANY_CPU, _NO_GROUP = -1, -1
_READING = struct.Struct("=QQQ")
_PARANOID = Path("proc/sys/kernel/perf_event_paranoid")
_DEVICES = Path("sys/bus/event_source/devices")
_ROOT = Path("/")


class Event(Enum):
    """What is counted: its type and number in linux/perf_event.h."""

    INSTRUCTIONS = (0, 1)
    CONTEXT_SWITCHES = (1, 3)
    """Counted by the kernel, of which they are events: that needs root's rights, or a
    kernel.perf_event_paranoid of 1 or less."""


class Counter:
    """A counter at work on a process, its threads and children to come. Close it when done."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> int | None:
        """Return the count since the counter was opened, also after the process has ended.

        When other users of the counters left it a part of the time only, the count is scaled
        up to the whole. It is None when the process ran and was never counted.
        """
        return scaled(*_READING.unpack(os.read(self._descriptor, _READING.size)))

    def close(self) -> None:
        """Stop counting."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def scaled(count: int, enabled: int, running: int) -> int | None:
    """Return the count for all of the time that a process ran (``enabled``, in nanoseconds).

    ``running`` is the part of it during which the process was counted; None if there is none.
    """
    if running >= enabled:
        return count
    return round(count * enabled / running) if running else None


def open_counter(pid: int, event: Event = Event.INSTRUCTIONS) -> Counter | None:
    """Begin to count for a process, None if this machine cannot or the process is gone.

    Only the thread whose id is ``pid``, and whatever it starts from now on, are counted: open
    it before the process has other threads.
    """
    if event is Event.INSTRUCTIONS and _mixed_cores(_ROOT):
        return None
    try:
        return Counter(_open(pid, event))
    except OSError:
        return None


def why_not_counted(*, root: Path = _ROOT) -> str | None:
    """Try to count the instructions of this process itself; return why not, None if it worked."""
    if _mixed_cores(root):
        return "the cores of this CPU are of different kinds, whose counts do not add up"
    try:
        with Counter(_open(0, Event.INSTRUCTIONS)) as counter:
            counted = counter.read()
    except OSError as error:
        return why_not(error, root)
    if counted is None:
        return "the CPU's counters are all taken, for example by the kernel's NMI watchdog"
    return None


def why_not(error: OSError, root: Path = _ROOT) -> str:
    """Say in words why the kernel refused to count."""
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "the CPU exposes no counters here, as is usual in a virtual machine"
    if error.errno == errno.ENOSYS:
        return "the kernel has no perf_event_open, or this hone does not know it on this CPU"
    if error.errno not in (errno.EACCES, errno.EPERM):
        return f"the kernel refuses to count: {os.strerror(error.errno or 0)}"
    with contextlib.suppress(OSError, ValueError):
        level = int((root / _PARANOID).read_text())
        if level > 2:
            return (
                f"kernel.perf_event_paranoid is {level}; 'sudo sysctl"
                " kernel.perf_event_paranoid=2' allows counting one's own processes"
            )
    return "the kernel forbids it, as is usual in a container (its seccomp profile)"


def _mixed_cores(root: Path) -> bool:
    """Tell whether there is more than one kind of core: each has a device with a list of CPUs."""
    return len(list((root / _DEVICES).glob("*/cpus"))) > 1


def _open(pid: int, event: Event) -> int:
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    kind, config = event.value
    flags = _INHERIT | _EXCLUDE_HYPERVISOR
    if event is not Event.CONTEXT_SWITCHES:
        flags |= _EXCLUDE_KERNEL
    reads = _TIME_ENABLED | _TIME_RUNNING
    attributes = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, config, 0, 0, reads, flags)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    descriptor: int = libc.syscall(
        ctypes.c_long(number),
        attributes,
        ctypes.c_int(pid),
        ctypes.c_int(_ANY_CPU),
        ctypes.c_int(_NO_GROUP),
        ctypes.c_ulong(_CLOSE_ON_EXEC),
    )
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return descriptor
