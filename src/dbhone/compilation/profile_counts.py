"""Counters: what instrumented programs write when they end, and what can be read out of it.

There is a class for each kind of instrumentation. gcc's counters are .gcda files, which
gcov-dump(1) prints; clang's are .profraw files, which llvm-profdata(1) merges and prints. Both grow
from run to run, because a program adds to the counters that it finds. BOLT's are .fdata files, one
for each process, whose text hone reads itself. Counters also tell whether more training would
change anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dbhone.compilation.bolt import BoltTool, find_usable_bolt
from dbhone.compilation.counter_tool import CounterTool
from dbhone.compilation.manifest import Build
from dbhone.compilation.printed_counts import (
    Functions,
    bolt_branches,
    clang_functions,
    gcc_functions,
)
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import SYMBOLIC_PROFILE, CompilerFamily
from dbhone.errors import ToolError
from dbhone.session import Session
from dbhone.untrusted_files import open_untrusted, remove_tree, walk

_BATCH = 200
"""How many files one gcov-dump reads; a command line has no room for all files of a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileCounts:
    """What a set of counters has counted.

    ``functions`` are those that were instrumented and whose file has counters;
    ``functions_executed`` those with a counter that is not zero. ``totals`` has the sum of the
    counters of each function that was executed.
    """

    functions: int
    functions_executed: int
    totals: Mapping[str, int]


def total_variation(before: ProfileCounts, after: ProfileCounts) -> float:
    """Return how much the distribution of counts over functions changed, from 0 to 1.

    The total variation distance is the share of the counts that would have to move from one
    function to another. It is 1 if one of the two has counted nothing.
    """
    total_before, total_after = sum(before.totals.values()), sum(after.totals.values())
    if not total_before or not total_after:
        return 1.0
    names = before.totals.keys() | after.totals.keys()
    differences = (
        abs(before.totals.get(name, 0) / total_before - after.totals.get(name, 0) / total_after)
        for name in names
    )
    return min(1.0, sum(differences) / 2)


def newly_executed(before: ProfileCounts, after: ProfileCounts) -> float:
    """Return the share of all functions that are executed in ``after`` but not in ``before``."""
    new = len(after.totals.keys() - before.totals.keys())
    return new / after.functions if after.functions else 0.0


class Counters(ABC):
    """The counters that instrumented programs write below ``folder``.

    They are strangers' programs, which may leave links there under any name. So hone writes nothing
    to this folder: what it makes of the counters lies in folders of the ``session``.
    """

    suffix: ClassVar[str]
    """How the names of their files end."""

    def __init__(self, folder: Path, session: Session) -> None:
        self.folder = folder
        self._session = session

    @property
    @abstractmethod
    def environment(self) -> dict[str, str]:
        """The variables that make an instrumented program write its counters to the folder."""

    @abstractmethod
    def merge(self) -> Path:
        """Return what a compiler reads: a file in a new folder, or the folder of the counters.

        Raises ToolError and ProfileError.
        """

    def gather(self) -> None:  # noqa: B027 - most kinds add to the files that they find
        """Secure what the programs that ended have counted, before others overwrite it."""

    @abstractmethod
    def functions(self) -> Functions:
        """Yield the functions that were instrumented and whose file has counters."""

    def files(self) -> tuple[Path, ...]:
        """Return the files of counters, sorted.

        Raises UntrustedFileError if one is not a regular file: the trained server made them.
        """
        paths = (parent / name for parent, _, names in walk(self.folder) for name in names)
        files = sorted(path for path in paths if path.name.endswith(self.suffix))
        for path in files:
            open_untrusted(path).close()
        return tuple(files)

    def read(self) -> ProfileCounts:
        """Return what the counters have counted; without counters, nothing.

        No program may write to them meanwhile. Raises ToolError if the program that reads them is
        missing, and ProfileError if it fails.
        """
        functions = executed = 0
        totals = {}
        for name, counts in self.functions():
            functions += 1
            if any(counts):
                executed += 1
                totals[name] = sum(counts)
        return ProfileCounts(functions=functions, functions_executed=executed, totals=totals)

    def _tool(self, program: Path, *given: Path) -> CounterTool:
        """Return a program to read them, and the files or folders ``given`` besides."""
        return CounterTool(program=program, folder=self.folder, session=self._session, given=given)


class GccCounters(Counters):
    """gcc's: a file for each object, which gcc reads where they are."""

    suffix = ".gcda"

    def __init__(self, folder: Path, session: Session, compiler: Compiler) -> None:
        super().__init__(folder, session)
        self._compiler = compiler

    @property
    def environment(self) -> dict[str, str]:
        """The variables that replace the folder that was compiled in."""
        return training_environment(CompilerFamily.GCC, self.folder)

    def merge(self) -> Path:
        """Return the folder."""
        return self.folder

    def functions(self) -> Functions:
        """Yield what gcov-dump prints of them."""
        files = self.files()
        if not files:
            return
        dump = self._tool(_program(self._compiler, "gcov-dump"))
        for start in range(0, len(files), _BATCH):
            batch = files[start : start + _BATCH]
            names = (f"./{path.relative_to(self.folder)}" for path in batch)
            yield from gcc_functions(dump.printed("-l", *names))


class ClangCounters(Counters):
    """clang's: a file for each instrumented binary, merged into one.

    A program that was compiled with an ``earlier`` profile counts context-sensitively; both
    profiles are merged, and the compiler takes each in its turn.
    """

    suffix = ".profraw"

    def __init__(
        self, folder: Path, session: Session, compiler: Compiler, earlier: Path | None = None
    ) -> None:
        super().__init__(folder, session)
        self._compiler = compiler
        self._earlier = () if earlier is None else (earlier,)

    @property
    def environment(self) -> dict[str, str]:
        """The variable that names the files."""
        return training_environment(CompilerFamily.CLANG, self.folder)

    def merge(self) -> Path:
        """Return the file that llvm-profdata makes of them."""
        return self._merged(*self._earlier)

    def functions(self) -> Functions:
        """Yield what llvm-profdata prints of them."""
        if not self.files():
            return
        merged = self._merged()
        which = ("--showcs",) if self._earlier else ()
        words = ("show", "--all-functions", "--counts", *which, str(merged))
        yield from clang_functions(self._profdata(merged).printed(*words))
        remove_tree(merged.parent)

    def _merged(self, *more: Path) -> Path:
        words = map(str, (*more, *self.files()))
        return self._profdata(*more).merged("profdata", "merge", *words)

    def _profdata(self, *given: Path) -> CounterTool:
        return self._tool(_program(self._compiler, "llvm-profdata"), *given)


class BoltCounters(Counters):
    """BOLT's: a file for each process, whose place is written into the instrumented program.

    A process writes its file when it exits. A forked one also has what its parent had counted until
    then: the start of a server is counted once for each connection, which is little beside what
    the connection does. The alternative is one file for all, which a process of BOLT's own writes
    from time to time and once more at the end; but a sandbox ends with the server in it. Process
    ids come again, so the files are gathered after each end. ``functions_in_all`` is how many
    functions have counters; the files name only those that were executed.
    """

    suffix = ".fdata"

    def __init__(
        self, folder: Path, session: Session, bolt: BoltTool, functions_in_all: int
    ) -> None:
        super().__init__(folder, session)
        self._bolt = bolt
        self._functions_in_all = functions_in_all
        self._gathered: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """No variables: the program knows the place."""
        return {}

    def gather(self) -> None:
        """Add up all files in one, and let the next programs find an empty folder."""
        if not super().files():
            return
        before = self._gathered
        self._gathered = self.merge()
        if before is not None:
            remove_tree(before.parent)
        remove_tree(self.folder)
        self.folder.mkdir(mode=0o700)

    def files(self) -> tuple[Path, ...]:
        """Return the files of counters: what was gathered, and what came since then."""
        gathered = () if self._gathered is None else (self._gathered,)
        return (*gathered, *super().files())

    def merge(self) -> Path:
        """Return the file that merge-fdata makes of them."""
        given = () if self._gathered is None else (self._gathered,)
        tool = self._tool(self._bolt.merge_program, *given)
        return tool.merged("fdata", *map(str, self.files()))

    def functions(self) -> Functions:
        """Yield the functions that were executed, with the counts of their branches and calls."""
        counts: dict[str, list[int]] = {}
        for path in self.files():
            with open_untrusted(path) as file:
                for name, count in bolt_branches(file):
                    counts.setdefault(name, []).append(count)
        yield from counts.items()
        for number in range(self._functions_in_all - len(counts)):
            yield f"never executed {number}", [0]


def counters_of_build(
    build: Build, compiler: Compiler, folder: Path, session: Session, earlier: Path | None = None
) -> Counters:
    """Return the counters that an instrumented build writes below ``folder``.

    ``earlier`` is the profile that it was compiled with, if it was. Raises ToolError if the program
    that reads them is missing.
    """
    post_link = build.manifest.post_link
    if post_link is None:
        return counters_of(compiler, folder, session, earlier)
    return BoltCounters(folder, session, find_usable_bolt(), post_link.functions)


def counters_of(
    compiler: Compiler, folder: Path, session: Session, earlier: Path | None = None
) -> Counters:
    """Return the counters that what this compiler instrumented writes below ``folder``."""
    if compiler.family is CompilerFamily.GCC:
        return GccCounters(folder, session, compiler)
    return ClangCounters(folder, session, compiler, earlier)


def training_environment(family: CompilerFamily, folder: Path) -> dict[str, str]:
    """Return the variables that make an instrumented program write its counters to ``folder``."""
    if family is CompilerFamily.GCC:
        strip = len(SYMBOLIC_PROFILE.parts) - 1
        return {"GCOV_PREFIX": str(folder), "GCOV_PREFIX_STRIP": str(strip)}
    # %m: one file for each instrumented binary; a number before it makes processes share files.
    return {"LLVM_PROFILE_FILE": str(folder / "counters-%4m.profraw")}


def _program(compiler: Compiler, program: str) -> Path:
    """Return a program of the compiler's. Raises ToolError if it is missing."""
    path = compiler.find(program)
    if path is None:
        raise ToolError(
            f"{program} is missing: profiles of {compiler.label} cannot be read",
            hint="'hone doctor' says what to install",
        )
    return path
