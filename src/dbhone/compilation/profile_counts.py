"""Reads the counters that an instrumented program wrote, and says how far training has come.

gcc's counters are .gcda files, which gcov-dump(1) prints; clang's are .profraw files, which
llvm-profdata(1) merges and prints. Both grow from run to run: a program adds to what it finds.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Family
from dbhone.errors import ProfileError, ToolError

MERGED = "merged.profdata"
_SUFFIXES = {Family.GCC: ".gcda", Family.CLANG: ".profraw"}
_BATCH = 200
"""How many files one gcov-dump is asked for; a command line has no room for all of a server's."""
_TIMEOUT = 600.0
_GCC_FILE = re.compile(r"(.*):data:magic ")
_GCC_FUNCTION = re.compile(r"FUNCTION ident=(\d+)")
_GCC_ARCS = re.compile(r"COUNTERS arcs (\d+) counts")
_GCC_ROW = re.compile(r":\s+\d+: ([\d\s-]+)$")
_CLANG_FUNCTION = re.compile(r"^  (\S.*):$")
_CLANG_COUNTS = re.compile(r"^    Block counts: \[(.*)\]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileCounts:
    """What a set of counters has counted.

    ``functions`` are those that were instrumented and whose file has counters;
    ``functions_executed`` those with a counter that is not zero. ``counters`` and
    ``counters_touched`` are the same for single counters. ``totals`` has the sum of the
    counters of each function that was executed.
    """

    functions: int
    functions_executed: int
    counters: int
    counters_touched: int
    totals: Mapping[str, int]


def change(before: ProfileCounts, after: ProfileCounts) -> float:
    """Return how much the distribution of counts over functions changed, from 0 to 1.

    It is the total variation distance: the share of the counts that would have to move from
    one function to another. From or to a tally that counted nothing it is 1.
    """
    was, now = sum(before.totals.values()), sum(after.totals.values())
    if not was or not now:
        return 1.0
    names = before.totals.keys() | after.totals.keys()
    gaps = (
        abs(before.totals.get(name, 0) / was - after.totals.get(name, 0) / now) for name in names
    )
    return min(1.0, sum(gaps) / 2)


def newly_executed(before: ProfileCounts, after: ProfileCounts) -> float:
    """Return the share of all functions that ``after`` saw executed and ``before`` did not."""
    fresh = len(after.totals.keys() - before.totals.keys())
    return fresh / after.functions if after.functions else 0.0


def counter_files(compiler: Compiler, folder: Path) -> tuple[Path, ...]:
    """Return the files of counters below ``folder``, sorted."""
    return tuple(sorted(folder.rglob(f"*{_SUFFIXES[compiler.family]}")))


def read_tally(compiler: Compiler, folder: Path) -> ProfileCounts:
    """Return what the counters below ``folder`` have counted; without any, nothing.

    No program may write to them meanwhile. Raises ToolError if the program that reads them is
    missing and ProfileError if it cannot.
    """
    files = counter_files(compiler, folder)
    gcc = compiler.family is Family.GCC
    found = _read_gcc(compiler, folder, files) if gcc else _read_clang(compiler, folder, files)
    functions = executed = counters = touched = 0
    totals = {}
    for name, counts in found:
        functions += 1
        counters += len(counts)
        moved = sum(count != 0 for count in counts)
        touched += moved
        if moved:
            executed += 1
            totals[name] = sum(counts)
    return ProfileCounts(
        functions=functions,
        functions_executed=executed,
        counters=counters,
        counters_touched=touched,
        totals=totals,
    )


def merge(compiler: Compiler, folder: Path) -> Path:
    """Return what the compiler is told to read: gcc's folder itself, clang's files merged.

    The merged file lies in a new folder beside ``folder``. Raises ToolError and ProfileError.
    """
    if compiler.family is Family.GCC:
        return folder
    into = folder.with_name(f"{folder.name}-merged")
    into.mkdir()
    _merge_clang(compiler, folder, counter_files(compiler, folder), into / MERGED)
    return into / MERGED


Functions = Iterator[tuple[str, list[int]]]
"""Functions by a name that is unique and stays the same, with their counters."""


def _read_gcc(compiler: Compiler, folder: Path, files: tuple[Path, ...]) -> Functions:
    for start in range(0, len(files), _BATCH):
        batch = (str(path.relative_to(folder)) for path in files[start : start + _BATCH])
        yield from _gcc_functions(_tool(compiler, "gcov-dump", ("-l", *batch), folder))


def _gcc_functions(lines: Iterator[str]) -> Functions:
    file, name, left = "", "", 0
    counts: list[int] = []
    for line in lines:
        if left:
            row = _GCC_ROW.search(line)
            counts += map(int, row.group(1).split()) if row else ()
            left -= 1
            if not left:
                yield name, counts
        elif (function := _GCC_FUNCTION.search(line)) is not None:
            name = f"{file}:{function.group(1)}"
        elif (arcs := _GCC_ARCS.search(line)) is not None:
            number = int(arcs.group(1))
            counts = []
            left = -(-number // 8)  # a line of gcov-dump has up to eight of them
            if line.endswith("(all zero)"):
                left = 0
                yield name, [0] * number
        elif (opened := _GCC_FILE.match(line)) is not None:
            file = opened.group(1)


def _read_clang(compiler: Compiler, folder: Path, files: tuple[Path, ...]) -> Functions:
    if not files:
        return
    merged = folder.with_name(f"{folder.name}.profdata")
    _merge_clang(compiler, folder, files, merged)
    words = ("show", "--all-functions", "--counts", str(merged))
    name = ""
    for line in _tool(compiler, "llvm-profdata", words, folder):
        if (counts := _CLANG_COUNTS.match(line)) is not None:
            yield name, [int(word) for word in counts.group(1).split(",") if word.strip()]
        elif (function := _CLANG_FUNCTION.match(line)) is not None:
            name = function.group(1)
    merged.unlink()


def _merge_clang(compiler: Compiler, folder: Path, files: tuple[Path, ...], merged: Path) -> None:
    words = ("merge", f"-output={merged}", *(str(path) for path in files))
    for _ in _tool(compiler, "llvm-profdata", words, folder):
        pass


def _tool(
    compiler: Compiler, program: str, arguments: tuple[str, ...], folder: Path
) -> Generator[str, None, None]:
    """Yield what a program of the compiler's prints, which of a large server is gigabytes."""
    path = compiler.find(program)
    if path is None:
        raise ToolError(
            f"{program} is missing: profiles of {compiler.label} cannot be read",
            hint="'hone doctor' tells what to install",
        )
    command = process.Command(
        argv=(str(path), *arguments), cwd=folder, env={"LC_ALL": "C"}, timeout=_TIMEOUT
    )
    finished = yield from process.lines(command)
    if not finished.ok:
        raise ProfileError(
            f"{program} cannot read the profile: it {finished.ending()}: {finished.text().strip()}"
        )
