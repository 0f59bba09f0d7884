"""Profiles: the counters of a training run, checked before a compiler may use them.

An instrumented program writes counters. gcc's are .gcda files, which gcov-dump(1) prints; clang's
are .profraw files, which llvm-profdata(1) merges and prints. Both grow from run to run, because a
program adds to the counters that it finds. They also tell whether more training would change
anything.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dbhone import process
from dbhone.compilation.manifest import Build
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import SYMBOLIC_PROFILE, Family
from dbhone.errors import ProfileError, ToolError
from dbhone.files import digest_of, digest_of_tree, open_to_all, publish, write_whole
from dbhone.home import Home, Session
from dbhone.untrusted_files import open_untrusted, walk

_DATA = "data"
_MERGED = "merged.profdata"
_SUFFIXES = {Family.GCC: ".gcda", Family.CLANG: ".profraw"}
_BATCH = 200
"""How many files one gcov-dump reads; a command line has no room for all files of a server."""
_TIMEOUT = 600.0
_GCC_FILE = re.compile(r"(.*):data:magic ")
_GCC_FUNCTION = re.compile(r"FUNCTION ident=(\d+)")
_GCC_ARCS = re.compile(r"COUNTERS arcs (\d+) counts")
_GCC_ROW = re.compile(r":\s+\d+: ([\d\s-]+)$")
_CLANG_FUNCTION = re.compile(r"^  (\S.*):$")
_CLANG_COUNTS = re.compile(r"^    Block counts: \[(.*)\]$")


class ProfileFacts(BaseModel):
    """The record beside a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    family: Family
    compiler_identity: str
    source_digest: str
    instrumented_build: str
    instrumented_seconds: float = 0.0
    trained_on: tuple[str, ...]
    training_seconds: float
    training_rounds: int = 1
    files: int
    functions: int
    functions_executed: int


@dataclass(frozen=True, slots=True)
class Profile:
    """A checked profile in its folder, named by the digest of its content."""

    folder: Path
    facts: ProfileFacts

    @property
    def digest(self) -> str:
        """The digest of the counters."""
        return self.facts.digest

    @property
    def input_path(self) -> Path:
        """The path that is given to the compiler."""
        data = self.folder / _DATA
        return data / _MERGED if self.facts.family is Family.CLANG else data

    @property
    def coverage(self) -> float:
        """The share of the functions that the training executed."""
        return self.facts.functions_executed / self.facts.functions

    def check_fits(self, *, source_digest: str, compiler_identity: str) -> None:
        """Raise ProfileError if it was made from another source or by another compiler."""
        if self.facts.source_digest != source_digest:
            raise ProfileError("the profile belongs to another source", hint="train again")
        if self.facts.compiler_identity != compiler_identity:
            raise ProfileError(
                f"the profile was made by another compiler ({self.facts.compiler_identity})",
                hint="train again with this one",
            )


def training_environment(family: Family, folder: Path) -> dict[str, str]:
    """Return the variables that make an instrumented program write its counters to ``folder``."""
    if family is Family.GCC:
        strip = len(SYMBOLIC_PROFILE.parts) - 1
        return {"GCOV_PREFIX": str(folder), "GCOV_PREFIX_STRIP": str(strip)}
    # %m: one file for each instrumented binary; a number before it makes processes share files.
    return {"LLVM_PROFILE_FILE": str(folder / "counters-%4m.profraw")}


def training_key(build: Build, workload: object) -> str:
    """Return the digest that names a training.

    Its parts are the instrumented build, the folder where it was compiled (``builder.find`` tells
    why), and the workload.
    """
    inputs = {"build": build.digest, "folder": build.manifest.folder, "workload": workload}
    return digest_of(inputs)


def find(session: Session, key: str) -> Profile | None:
    """Return the profile of an earlier training with the same key, None if there is none."""
    try:
        digest = (session.home.profiles / f"{key}.training").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return find_kept(session.home, digest)


def find_kept(home: Home, digest: str) -> Profile | None:
    """Return the profile with this digest, None if the home does not hold it."""
    folder = home.profiles / digest
    try:
        text = (folder / "profile.json").read_text(encoding="utf-8")
        facts = ProfileFacts.model_validate_json(text)
    except (OSError, ValueError):
        return None
    return Profile(folder, facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A finished training of an instrumented build, whose counters lie in the folder ``counters``.

    ``began`` is in seconds since the epoch, ``seconds`` the duration. ``rounds`` is how often the
    whole training workload was run.
    """

    build: Build
    compiler: Compiler
    counters: Path
    key: str
    began: float
    trained_on: tuple[str, ...]
    seconds: float
    rounds: int = 1


def collect(training: Training, session: Session) -> Profile:
    """Check the counters that a training left, merge them if need be, and keep them.

    Raises ProfileError if there are none, if they are older than the training, or if no
    function was executed.
    """
    files = _fresh_files(training)
    counts = read_counts(training.compiler, training.counters)
    if counts.functions_executed == 0:
        raise ProfileError(
            "the training executed no instrumented function: the profile is empty",
            hint="does the driver run the instrumented build?",
        )
    data = merge(training.compiler, training.counters)
    if data.is_file():
        data = data.parent
    digest = digest_of_tree(data)
    manifest = training.build.manifest
    facts = ProfileFacts(
        digest=digest,
        family=training.compiler.family,
        compiler_identity=training.compiler.identity,
        source_digest=manifest.source_digest,
        instrumented_build=manifest.digest,
        instrumented_seconds=manifest.seconds,
        trained_on=training.trained_on,
        training_seconds=training.seconds,
        training_rounds=training.rounds,
        files=len(files),
        functions=counts.functions,
        functions_executed=counts.functions_executed,
    )
    return _keep(facts, data, training.key, session)


def _keep(facts: ProfileFacts, data: Path, key: str, session: Session) -> Profile:
    draft = session.workdir("profile")
    data.rename(draft / _DATA)
    open_to_all(draft)
    write_whole(draft / "profile.json", facts.model_dump_json(indent=2) + "\n")
    final = session.home.profiles / facts.digest
    publish(draft, final)
    write_whole(session.home.profiles / f"{key}.training", facts.digest + "\n")
    return Profile(final, facts)


def _fresh_files(training: Training) -> tuple[Path, ...]:
    files = counter_files(training.compiler, training.counters)
    if not files:
        raise ProfileError(
            "the training left no profile: there are no counters in its folder",
            hint="was the program killed before it could write, or could it not write there?",
        )
    # One second of slack: file systems keep coarser times than the clock.
    stale = [path for path in files if path.stat().st_mtime < training.began - 1]
    if stale:
        raise ProfileError(f"{len(stale)} profile files are older than the training")
    return files


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


def counter_files(compiler: Compiler, folder: Path) -> tuple[Path, ...]:
    """Return the files of counters below ``folder``, sorted.

    Raises UntrustedFileError if one is no regular file: the trained server made them.
    """
    suffix = _SUFFIXES[compiler.family]
    paths = (parent / name for parent, _, names in walk(folder) for name in names)
    files = sorted(path for path in paths if path.name.endswith(suffix))
    for path in files:
        open_untrusted(path).close()
    return tuple(files)


def read_counts(compiler: Compiler, folder: Path) -> ProfileCounts:
    """Return what the counters below ``folder`` have counted; without counters, nothing.

    No program may write to them meanwhile. Raises ToolError if the program that reads them is
    missing, and ProfileError if it fails.
    """
    files = counter_files(compiler, folder)
    gcc = compiler.family is Family.GCC
    read = _read_gcc if gcc else _read_clang
    functions = executed = counters = touched = 0
    totals = {}
    for name, counts in read(compiler, folder, files):
        functions += 1
        counters += len(counts)
        nonzero = sum(count != 0 for count in counts)
        touched += nonzero
        if nonzero:
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
    """Return the compiler's input: gcc's folder itself, or clang's files merged into one.

    The merged file lies in a new folder beside ``folder``. Raises ToolError and ProfileError.
    """
    if compiler.family is Family.GCC:
        return folder
    into = folder.with_name(f"{folder.name}-merged")
    into.mkdir()
    _merge_clang(compiler, folder, counter_files(compiler, folder), into / _MERGED)
    return into / _MERGED


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
    """Yield the lines that a program of the compiler's prints: gigabytes for a large server."""
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
