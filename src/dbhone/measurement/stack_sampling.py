"""Samples the stacks of a running server by perf(1), a fixed number of times a second of CPU.

Where the machine has hardware counters, a sample is taken at every N-th cycle, else by the
kernel's clock of the CPU. Stacks are unwound by the call-frame information that compilers write
into every program, so that a build needs neither frame pointers nor debugging information. A
program without a symbol table names only the functions that it exports.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant
from dbhone.command import Command
from dbhone.errors import MachineError, ToolError
from dbhone.files import open_to_all
from dbhone.measurement import perf_events
from dbhone.process import Process
from dbhone.requirements import Requirement, missing
from dbhone.sandbox import Sandbox

FREQUENCY = 499
"""Samples in a second of CPU time; a prime, so as not to fall in step with what recurs."""
_PROGRAM = "perf"
_STACK_BYTES = "8192"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_MOST_PARANOID = 1
"""What lets an account that is not root sample the kernel's own functions, too (perf(1))."""
_KERNEL_SYMBOLS = Path("/proc/kallsyms")
_ENDING = 60.0
_READING = 600.0
_LOGGED = 200
_HEAD = re.compile(r"^\s*(\d+\.\d+):")
_FRAME = re.compile(r"^\s+[0-9a-f]+ (.*?) \(([/\[].*)\)$")
_UNKNOWN = "[unknown]"


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A function on a stack, and the program, library or kernel that it is of."""

    function: str
    file: str


@dataclass(frozen=True, slots=True)
class StackSample:
    """What one CPU did at a moment of monotonic time, in seconds; the innermost frame is first."""

    at: float
    frames: tuple[StackFrame, ...]


def check_sampling() -> None:
    """Raise ToolError without perf, MachineError where this account may not sample the kernel."""
    if shutil.which(_PROGRAM) is None:
        need = Requirement(name=_PROGRAM, package="linux-perf")
        raise ToolError(
            "perf is not installed: it samples the servers' stacks",
            hint=missing((need,)).advice(),
        )
    paranoid = int(_PARANOID.read_text(encoding="ascii")) if _PARANOID.exists() else None
    if paranoid is None:
        raise MachineError("this kernel has no performance events: nothing can be sampled")
    if os.geteuid() != 0 and paranoid > _MOST_PARANOID:
        raise MachineError(
            f"kernel.perf_event_paranoid is {paranoid}: only root may sample the kernel",
            hint=f"sysctl kernel.perf_event_paranoid={_MOST_PARANOID}, or run hone as root",
        )


def clock() -> str:
    """Return perf's event by which samples are taken here."""
    return "cpu-clock" if perf_events.why_not_counted() else "cycles"


class StackSampler:
    """Samples processes with their threads and descendants. Leaving it ends the sampling.

    ``folder`` gets the samples, which are the kernel's word and perf's own.
    """

    def __init__(self, pids: Sequence[int], folder: Path) -> None:
        self._folder = folder
        self._data = folder / "perf.data"
        log = folder / "perf.log"
        argv = (
            *(_PROGRAM, "record", "--quiet", "--no-buildid", "--clockid", "CLOCK_MONOTONIC"),
            *("--event", clock(), "--freq", str(FREQUENCY)),
            *("--call-graph", f"dwarf,{_STACK_BYTES}"),
            *("--pid", ",".join(map(str, pids)), "--output", str(self._data)),
        )
        self._process = Process(Command(argv=argv, cwd=folder, log=log), capture=False)
        self._log = log

    def __enter__(self) -> StackSampler:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()

    def stop(self) -> None:
        """End the sampling. Raises ToolError if perf failed, or did not end by itself."""
        self._process.signal(signal.SIGINT)
        if not self._process.wait(_ENDING):
            self._process.time_out()
        finished = self._process.finish()
        if finished.timed_out:  # what it wrote is cut off
            raise ToolError(f"perf could not sample the server: it {finished.ending()}")
        if not self._data.exists() or not self._data.stat().st_size:
            logged = self._logged()
            raise ToolError(f"perf could not sample the server: {logged or finished.ending()}")

    def samples(self, readable: Sequence[Path], tenant: Tenant | None) -> Iterator[StackSample]:
        """Yield the samples, whose functions are looked up in the ``readable`` programs.

        perf reads strangers' programs for that: it is shut in, and runs for their ``tenant``.
        """
        symbols = self._folder / "kallsyms"
        symbols.write_bytes(_KERNEL_SYMBOLS.read_bytes())
        open_to_all(self._folder)
        command = Command(
            argv=(
                *(_PROGRAM, "script", "--no-inline", "--input", str(self._data)),
                *("--kallsyms", str(symbols), "--fields", "time,ip,sym,dso"),
            ),
            cwd=self._folder,
            isolated=True,
            log=self._log,
            env={"LC_ALL": "C"},
            timeout=_READING,
            sandbox=Sandbox(readable=(self._folder, *readable)),
            tenant=tenant,
        )
        yield from parsed(self._printed(command))

    def _printed(self, command: Command) -> Iterator[str]:
        """Yield the lines that perf prints. Raises ToolError if these are not all of them."""
        finished = yield from process.lines(command)
        if not finished.ok:
            logged = f" ({text[-_LOGGED:]})" if (text := self._logged()) else ""
            raise ToolError(f"perf could not read its samples: it {finished.ending()}{logged}")

    def _logged(self) -> str:
        return self._log.read_text("utf-8", "replace").strip() if self._log.exists() else ""


def parsed(lines: Iterator[str]) -> Iterator[StackSample]:
    """Yield the samples in what ``perf script`` printed of time, address, symbol and file."""
    at, frames = 0.0, list[StackFrame]()
    for line in lines:
        head, frame = _HEAD.match(line), _FRAME.match(line)
        if frame is not None:
            frames.append(StackFrame(_function(frame[1]), frame[2]))
        elif head is not None:
            if frames:
                yield StackSample(at, tuple(frames))
            at, frames = float(head[1]), []
    if frames:
        yield StackSample(at, tuple(frames))


def _function(text: str) -> str:
    """Return a function's name, without the offset in it."""
    name = text.rpartition("+0x")[0] or text
    return "" if name == _UNKNOWN else name
