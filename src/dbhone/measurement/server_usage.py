"""What a server has used so far, with all its processes and threads.

A server may be one process with many threads, or many processes: PostgreSQL has one for each
client, which ends with it. What processes used that ended is in the books of the parent that
waited for them, so that it is counted from then on. All comes from /proc (proc(5)); reading it
takes 2 to 3 ms of CPU for a server with 300 threads, 0.1 ms for each process besides. Without
the context switches, which each thread tells for itself, threads cost nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dbhone.files import opened_folder
from dbhone.measurement.perf_events import Counter
from dbhone.measurement.process_stats import cpu_seconds, read_all, read_whole

_Part = TypeVar("_Part")
_Whole = TypeVar("_Whole")
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_KILOBYTES = re.compile(rb"^(Rss(?:Anon|File|Shmem)|VmRSS|VmHWM):\s+(\d+) kB", re.MULTILINE)
_SWITCHES = re.compile(rb"^(?:non)?voluntary_ctxt_switches:\s+(\d+)", re.MULTILINE)
_BYTES = re.compile(rb"^(read|write)_bytes: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUsage:
    """What a server has used since it was started; None where that cannot be read.

    ``cpu_seconds`` is user and system time, ``system_seconds`` the latter alone, in the kernel's
    ticks of 10 ms. ``switches`` are the context switches of each thread that lives, by its id;
    ``counted_switches`` those that a counter has seen: of the first thread, and of all that it has
    started since the counter was opened. ``reaped`` grows whenever a process ended. ``bytes_read``
    and ``bytes_written`` went from and to disks; what the page cache served or still holds is not
    among them. ``memory_bytes`` is held now: the private memory of all processes, and once
    what they share, as the process sees it that has used most of it. ``peak_memory_bytes``
    adds to it what each process has given back since its own peak: exact for one process, for
    many the most that it can have been.
    """

    cpu_seconds: float
    system_seconds: float
    switches: Mapping[int, int] | None
    counted_switches: int | None
    reaped: int
    bytes_read: int | None
    bytes_written: int | None
    memory_bytes: int | None
    peak_memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedBetween:
    """What a server used between two moments; None where that cannot be known. Never negative.

    With a counter ``context_switches`` are those of what serves clients: threads that worked in the
    background before the counter was opened are not among them. Without one they are those of all
    threads but the ones that ended in between, and None if whole processes did, as PostgreSQL's do
    with their clients: too much would be missing. ``peak_memory_bytes`` is the most since the
    server was started by those processes that lived at one of the two moments: a server whose
    processes end with their clients must be read while it is asked.
    """

    cpu_seconds: float
    system_seconds: float
    context_switches: int | None
    bytes_read: int | None
    bytes_written: int | None
    peak_memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """The memory of one process, in bytes; ``own`` is private, the others may be shared."""

    own: int
    files: int
    shared: int
    returned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    """One process; CPU time and bytes with those of the children that it waited for."""

    cpu_seconds: float
    system_seconds: float
    switches: Mapping[int, int] | None
    reaped: int
    bytes_read: int | None
    bytes_written: int | None
    memory: _Memory | None
    children: tuple[int, ...]


def read_usage(
    root_pid: int, *, counter: Counter | None = None, switches: bool = True, proc: Path = _PROC
) -> ServerUsage | None:
    """Return what the process and all its descendants used so far, None if it is gone.

    It is None too where the kernel does not tell the children of a process. Of processes of
    another account only root may read the bytes. ``counter`` is one of CONTEXT_SWITCHES that
    was opened for the process when it was ready. Without ``switches`` the threads are not
    looked at.
    """
    usages = []
    waiting = [root_pid]
    while waiting:
        pid = waiting.pop()
        process = _read_process(pid, proc, switches=switches)
        if process is not None:
            usages.append(process)
            waiting.extend(process.children)
        elif pid == root_pid:
            return None
    memory = [usage.memory for usage in usages]
    return ServerUsage(
        cpu_seconds=sum(usage.cpu_seconds for usage in usages),
        system_seconds=sum(usage.system_seconds for usage in usages),
        switches=_if_all((usage.switches for usage in usages), _merged),
        counted_switches=counter.read() if counter else None,
        reaped=sum(usage.reaped for usage in usages),
        bytes_read=_if_all((usage.bytes_read for usage in usages), sum),
        bytes_written=_if_all((usage.bytes_written for usage in usages), sum),
        memory_bytes=_if_all(memory, _held),
        peak_memory_bytes=_if_all(memory, _peak),
    )


def used_between(before: ServerUsage | None, after: ServerUsage | None) -> UsedBetween | None:
    """Return what a server used from one moment to a later one, None if one could not be read.

    A thread that had fewer context switches after than before is another one of the same id.
    """
    if before is None or after is None:
        return None
    return UsedBetween(
        # A child that ended was counted in nanoseconds and is now in ticks: it may seem less.
        cpu_seconds=max(0.0, after.cpu_seconds - before.cpu_seconds),
        system_seconds=max(0.0, after.system_seconds - before.system_seconds),
        context_switches=_switches_between(before, after),
        bytes_read=_more(before.bytes_read, after.bytes_read),
        bytes_written=_more(before.bytes_written, after.bytes_written),
        peak_memory_bytes=_if_all((before.peak_memory_bytes, after.peak_memory_bytes), max),
    )


def _switches_between(before: ServerUsage, after: ServerUsage) -> int | None:
    if before.counted_switches is not None and after.counted_switches is not None:
        return after.counted_switches - before.counted_switches
    if before.reaped != after.reaped:
        return None
    return _switched(before.switches, after.switches)


def _switched(before: Mapping[int, int] | None, after: Mapping[int, int] | None) -> int | None:
    if before is None or after is None:
        return None
    total = 0
    for thread, now in after.items():
        then = before.get(thread, 0)
        total += now - then if now >= then else now
    return total


def _more(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


def _if_all(parts: Iterable[_Part | None], whole: Callable[[list[_Part]], _Whole]) -> _Whole | None:
    """Return what becomes of all parts, None if one of them is not known."""
    known = list[_Part]()
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return whole(known)


def _merged(parts: Iterable[Mapping[int, int]]) -> Mapping[int, int]:
    return {thread: count for part in parts for thread, count in part.items()}


def _held(parts: Sequence[_Memory]) -> int:
    # Resident sizes cannot be added: they count a shared page in each process that has
    # touched it. Pss could, but to know it the kernel walks through all page tables, which
    # for a large cache takes tens of milliseconds and holds the server up.
    own = sum(part.own for part in parts)
    return own + max(part.files for part in parts) + max(part.shared for part in parts)


def _peak(parts: Sequence[_Memory]) -> int:
    return _held(parts) + sum(part.returned for part in parts)


def _read_process(pid: int, proc: Path, *, switches: bool) -> _Process | None:
    """Return what a process used, None if it is gone or its children are not told."""
    folder = f"{proc}/{pid}"
    stat = read_whole(f"{folder}/stat")
    status = read_whole(f"{folder}/status")
    children = read_all(f"{folder}/task/{pid}/children")
    own = cpu_seconds(pid, proc=proc)
    disk = read_whole(f"{folder}/io")
    if disk is None and read_whole(f"{folder}/stat") is None:
        return None  # it has just ended: not that its bytes may not be read
    if stat is None or status is None or children is None or own is None:
        return None
    # The program's name, in parentheses, may hold anything. After it: state, …, the page
    # faults of the children that were waited for as 9th, …, its own time in user and
    # system mode as 12th and 13th, theirs as 14th and 15th, …, the number of threads as 18th.
    # No process is without a fault.
    words = stat.rpartition(b")")[2].split()
    read, written = _disk_bytes(disk)
    return _Process(
        cpu_seconds=own + (int(words[13]) + int(words[14])) / _TICKS,
        system_seconds=(int(words[12]) + int(words[14])) / _TICKS,
        reaped=int(words[8]),
        switches=_switches(pid, folder, status, alone=int(words[17]) <= 1) if switches else None,
        bytes_read=read,
        bytes_written=written,
        memory=_memory(status),
        children=tuple(int(word) for word in children.split()),
    )


def _disk_bytes(text: bytes | None) -> tuple[int | None, int | None]:
    counts = {name: int(count) for name, count in _BYTES.findall(text or b"")}
    return counts.get(b"read"), counts.get(b"write")


def _memory(status: bytes) -> _Memory | None:
    sizes = {name: int(count) * 1024 for name, count in _KILOBYTES.findall(status)}
    if not sizes:  # it is ending, and has given its memory back
        return _Memory(own=0, files=0, shared=0, returned=0)
    if len(sizes) < 5:
        return None
    return _Memory(
        own=sizes[b"RssAnon"],
        files=sizes[b"RssFile"],
        shared=sizes[b"RssShmem"],
        returned=max(0, sizes[b"VmHWM"] - sizes[b"VmRSS"]),
    )


def _switches(pid: int, folder: str, status: bytes, *, alone: bool) -> Mapping[int, int] | None:
    """Return the context switches of each of a process's threads.

    ``schedstat`` tells how often a thread was given a core, which is one more or as often as
    it was switched away from. The kernel writes it in a third of the time that ``status``
    takes, which matters with hundreds of threads; a kernel without such statistics has zeros.
    """
    if alone:
        own = _switches_of_status(status)
        return None if own is None else {pid: own}
    quick = _of_threads(folder, "schedstat", _times_on_core)
    if quick is not None and quick.get(pid):
        return quick
    return _of_threads(folder, "status", _switches_of_status)


def _of_threads(
    folder: str, file: str, count: Callable[[bytes], int | None]
) -> Mapping[int, int] | None:
    """Return a figure of each thread that lives; None if the kernel does not tell it."""
    counts = {}
    with contextlib.suppress(OSError), opened_folder(f"{folder}/task") as tasks:
        for name in os.listdir(tasks):  # noqa: PTH208 - pathlib lists no descriptor
            text = read_whole(f"{name}/{file}", folder=tasks)
            if text is None:  # the thread ended just now, or there is no such file
                continue
            counted = count(text)
            if counted is None:
                return None
            counts[int(name)] = counted
    return counts or None


def _times_on_core(schedstat: bytes) -> int | None:
    words = schedstat.split()
    return int(words[2]) if len(words) == 3 else None


def _switches_of_status(status: bytes) -> int | None:
    counts = _SWITCHES.findall(status)
    return sum(map(int, counts)) if len(counts) == 2 else None
