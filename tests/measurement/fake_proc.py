"""A pretended /proc for the tests: what processes have used, written as the kernel writes it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
FIRST_PID = 2**23
"""Beyond what any kernel gives: no real process has such a number."""


@dataclass
class FakeProcess:
    """A process and what it has used: ticks, bytes, kB; ``switches`` by thread."""

    pid: int
    parent: int | None = None
    ticks: int = 0
    system_ticks: int = 0
    reaped_ticks: int = 0
    reaped_faults: int = 0
    read: int = 0
    written: int = 0
    anonymous: int = 0
    file: int = 0
    shared: int = 0
    peak: int = 0
    switches: dict[int, int] = field(default_factory=dict)


class FakeProc:
    """A tree of processes that work, start children, and wait for those that end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.processes: dict[int, FakeProcess] = {}
        self._next = FIRST_PID

    def start(self, parent: int | None = None) -> FakeProcess:
        process = FakeProcess(pid=self._next, parent=parent)
        process.switches[process.pid] = 0
        self.processes[process.pid] = process
        self._next += 1
        return process

    def start_thread(self, process: FakeProcess) -> int:
        process.switches[self._next] = 0
        self._next += 1
        return self._next - 1

    def end(self, process: FakeProcess) -> None:
        """End a process that has no children; its parent waits for it."""
        assert process.parent is not None
        parent = self.processes[process.parent]
        parent.reaped_ticks += process.ticks + process.reaped_ticks
        parent.reaped_faults += 1 + process.reaped_faults
        parent.read += process.read
        parent.written += process.written
        del self.processes[process.pid]

    def write(self) -> None:
        """Write all files anew."""
        shutil.rmtree(self.root, ignore_errors=True)
        for process in self.processes.values():
            self._write(process)

    def folder(self, process: FakeProcess) -> Path:
        return self.root / str(process.pid)

    def _write(self, process: FakeProcess) -> None:
        folder = self.folder(process)
        children = [each.pid for each in self.processes.values() if each.parent == process.pid]
        for thread, count in process.switches.items():
            task = folder / "task" / str(thread)
            task.mkdir(parents=True)
            (task / "children").write_text(
                "".join(f"{pid} " for pid in children) if thread == process.pid else ""
            )
            (task / "schedstat").write_text(f"123456 789 {count}\n")
            (task / "status").write_text(_status(process, count))
        (folder / "status").write_text(_status(process, process.switches[process.pid]))
        (folder / "io").write_text(
            "rchar: 999\nwchar: 999\nsyscr: 9\nsyscw: 9\n"
            f"read_bytes: {process.read}\nwrite_bytes: {process.written}\n"
            "cancelled_write_bytes: 7\n"
        )
        (folder / "stat").write_text(
            f"{process.pid} (a) S (b) S {process.parent or 1} 77 77 0 -1 4194560"
            f" 1 {process.reaped_faults} 3 4"
            f" {process.ticks} {process.system_ticks} {process.reaped_ticks} 0"
            f" 20 0 {len(process.switches)} 0 12345\n"
        )


def _status(process: FakeProcess, count: int) -> str:
    held = process.anonymous + process.file + process.shared
    return (
        f"Name:\ta\nVmHWM:\t{max(held, process.peak)} kB\nVmRSS:\t{held} kB\n"
        f"RssAnon:\t{process.anonymous} kB\nRssFile:\t{process.file} kB\n"
        f"RssShmem:\t{process.shared} kB\n"
        f"voluntary_ctxt_switches:\t{count - count // 3}\n"
        f"nonvoluntary_ctxt_switches:\t{count // 3}\n"
    )
