"""BOLT, LLVM's post-link optimiser: which one is used, what it needs, and what it says it did.

BOLT changes a linked program or library. It adds counters, or it reads what they counted and lays
the code out again. The text that it prints is the only account of what it did.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from dbhone import process
from dbhone.cgroup import usable_memory
from dbhone.errors import MachineError, ToolError
from dbhone.requirements import Requirement, RequirementKind
from dbhone.units import size

OLDEST = 19
"""The oldest version that was seen to work."""
_LLVM = Path("/usr/lib")
_LLVM_FOLDER = re.compile(r"llvm-(\d{1,9})")
_PACKAGE = re.compile(r"^bolt-(\d{1,4})$", re.MULTILINE)
_REMEDY = "'hone setup bolt' installs it"
_VERSION = re.compile(r"LLVM version (\d{1,18})(\.[\d.]+)")
_MEMORY_PER_BYTE = 300
"""Bytes of memory for each byte of code: instrumenting PostgreSQL 15 (5.0 MB) took 1.37 GB."""
_INSTRUMENTED = re.compile(r"Number of function descriptors: (\d{1,18})")
_PROFILED = re.compile(
    r"(\d{1,18}) out of (\d{1,18}) functions in the binary .* have non-empty execution"
)
_MOVED = re.compile(r"basic block reordering modified layout of (\d{1,18}) functions")
_UNMOVABLE = re.compile(r"(\d{1,18}) functions? with profile could not be optimized")
_TAKEN = re.compile(r"^\s*(\d{1,18}) : taken branches", re.MULTILINE)
_STUCK = re.compile(r"in function ([^\s./(]+)\S*\. Consider adding this function to --skip-funcs")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoltTool:
    """An installed BOLT. ``version`` is a part of digests."""

    path: Path
    version: str

    @property
    def label(self) -> str:
        """Name and version, for people."""
        return f"BOLT {self.version}"

    @property
    def merge_program(self) -> Path:
        """The program that adds up the profiles of several processes."""
        return self.path.parent / "merge-fdata"


def find_usable_bolt() -> BoltTool:
    """Return the newest installed BOLT. Raises ToolError if there is none that hone can use."""
    path = find_bolt()
    if path is None:
        raise ToolError(
            "post-link optimisation needs BOLT, which is not installed",
            hint=_REMEDY,
        )
    match = _VERSION.search(process.output_of((str(path), "--version")) or "")
    if match is None:
        raise ToolError(
            f"{path} does not report its version", hint="check that it is a working BOLT"
        )
    if int(match[1]) < OLDEST:
        raise ToolError(
            f"BOLT {match[1]} is too old: hone needs {OLDEST} or newer",
            hint=_REMEDY,
        )
    return BoltTool(path=path, version=match[1] + match[2])


def find_bolt() -> Path | None:
    """Return the newest llvm-bolt, None if none is installed.

    LLVM's own folders are searched first. BOLT up to 19 does not find its runtime library if it is
    called by its link in /usr/bin (llvm-project issue 170722).
    """
    versions = {
        int(match[1]): path
        for path in _LLVM.glob("llvm-*/bin/llvm-bolt")
        if (match := _LLVM_FOLDER.fullmatch(path.parents[1].name))
    }
    if versions:
        return versions[max(versions)]
    path = shutil.which("llvm-bolt")
    return Path(path) if path else None


def requirements() -> tuple[Requirement, ...]:
    """Return what must be installed to use BOLT: nothing, or the newest package that is known."""
    try:
        find_usable_bolt()
    except ToolError:
        known = process.output_of(("apt-cache", "pkgnames", "bolt-")) or ""
        newest = max((OLDEST, *map(int, _PACKAGE.findall(known))))
        return (
            Requirement(
                name=f"usr/lib/llvm-{newest}/bin/llvm-bolt",
                package=f"bolt-{newest}",
                kind=RequirementKind.FILE,
            ),
        )
    return ()


def check_memory(text_bytes: int) -> None:
    """Raise MachineError if the free memory is too small for BOLT on this many bytes of code.

    Without the check the kernel would kill BOLT, which then cannot say why.
    """
    needed = text_bytes * _MEMORY_PER_BYTE
    free = min(psutil.virtual_memory().available, usable_memory())
    if free < needed:
        raise MachineError(
            f"BOLT needs about {size(needed)} of memory here, and {size(free)} are free",
            hint="end other programs, or leave bolt out of the variant",
        )


def read_report(printed: str, *, counts: bool) -> dict[str, int]:
    """Return what BOLT said that it did, as the figures of a PostLinkRecord.

    What it did not mention is 0. It says other things if it adds code that ``counts``.
    """
    if counts:
        return {"functions": _number(_INSTRUMENTED, printed)}
    profiled = _PROFILED.search(printed)
    taken = [int(count) for count in _TAKEN.findall(printed)] or [0]
    return {
        "functions": int(profiled[2]) if profiled else 0,
        "profiled": int(profiled[1]) if profiled else 0,
        "moved": _number(_MOVED, printed),
        "unmovable": _number(_UNMOVABLE, printed),
        "taken_before": taken[0],
        "taken_after": taken[-1],
    }


def stuck_function(printed: str) -> str | None:
    """Return the function over which BOLT failed and which it proposes to skip, None if none."""
    match = _STUCK.search(printed)
    return match[1] if match else None


def skipping(functions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options that make BOLT leave functions as they are.

    BOLT adds a slash and a number to a function that only its own file sees, and gcc a dot and a
    word to parts and copies.
    """
    patterns = ",".join(f"{name}([./].*)?" for name in functions)
    return (f"-skip-funcs={patterns}",) if functions else ()


def _number(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0
