"""Finds compilers and the programs that belong to them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.errors import ToolError, UsageError
from dbhone.files import digest_of, digest_of_file
from dbhone.requirements import Requirement, RequirementKind, distribution, missing
from dbhone.source.elf import read_links

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_NAME = re.compile(r"(gcc|clang)(?:-(\d+))?")
_PATH = re.compile(r"/(?:[^/]+/)*(?:[\w.]+-)*(gcc|clang)(?:-[\d.]+)?")
"""A path to a compiler, whose name may begin with its target: ``x86_64-linux-gnu-gcc-12``."""
_CXX = re.compile(r"gcc|clang")
_BINARY_TOOLS = {CompilerFamily.GCC: "gcc", CompilerFamily.CLANG: "llvm"}
_HEADERS = Requirement(name="stdio.h", package="libc6-dev", kind=RequirementKind.HEADER)
_RUNTIME = "usr/lib/{}/lib/clang/*/lib/*/libclang_rt.profile*.a"
"""Where Debian keeps the library that clang's instrumented programs are linked with."""
_WITHOUT_RUNTIME = ("ubuntu22.04",)
"""Distributions where clang brings that library itself."""
_LLVM_FOLDER = re.compile(r"/usr/lib/(llvm-\d+)/")
_DISTRIBUTION, _LOCAL = Path("/usr"), Path("/usr/local")
"""Below the first a distribution has its programs; below the second are the machine's owner's."""
_PARTS = {CompilerFamily.GCC: ("cc1", "cc1plus", "lto1"), CompilerFamily.CLANG: ()}
"""The programs that a compiler calls to compile C, to compile C++ and to optimise at link time."""
_SHOWN_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A C compiler. ``identity`` tells it from others and is a part of digests.

    So are ``assembler`` and ``linker``, which tell from others those that it calls unless it is
    told otherwise. The assembler is None for a compiler that is its own.
    """

    family: CompilerFamily
    path: Path
    version: str
    identity: str
    assembler: str | None = None
    linker: str | None = None

    @property
    def major(self) -> int:
        """The first number of the version."""
        return int(self.version.split(".", 1)[0])

    @property
    def label(self) -> str:
        """Name and version, for people: ``gcc 12.2.0``."""
        return f"{self.family.value} {self.version}"

    def find(self, program: str) -> Path | None:
        """Return a program that belongs to this compiler, such as gcov-dump or llvm-profdata.

        One of the compiler's own version is preferred, because other versions cannot read its
        profiles.
        """
        beside = self.path.resolve().parent / program
        for name in (f"{program}-{self.major}", str(beside), program):
            path = shutil.which(name)
            if path is not None:
                return Path(path)
        return None

    @property
    def cxx_name(self) -> str:
        """The name of the C++ compiler that belongs to it: ``g++-12``, ``clang++``."""
        return _CXX.sub(_partner, self.path.name)

    def find_cxx(self) -> Path | None:
        """Return the C++ compiler that belongs to it, beside it or by its name."""
        beside = str(self.path.parent / self.cxx_name)
        path = shutil.which(beside) or shutil.which(self.cxx_name)
        return Path(path) if path else None

    def find_binary_tool(self, name: str) -> Path:
        """Return the ``ar``, ``ranlib`` or ``nm`` that reads this compiler's LTO objects.

        Where it is missing, the system's own is returned, which serves all other objects.
        """
        return self.find(f"{_BINARY_TOOLS[self.family]}-{name}") or Path(name)


def find_compiler(name: str) -> Compiler:
    """Return the compiler ``name``: ``gcc``, ``clang``, with a version, ``gcc-12``, or its path.

    Raises UsageError for another name and ToolError when it is not installed.
    """
    family = check_name(name)
    path = shutil.which(name)
    if path is None:
        raise ToolError(
            f"the compiler {name} is not installed",
            hint="check that the path is right and may be executed"
            if "/" in name
            else missing(requirements_of(name)).advice(),
        )
    said = version_line(Path(path))
    number = process.output_of((path, "-dumpfullversion", "-dumpversion"))
    version = _VERSION.search(number or said or "")
    if said is None or version is None:
        raise ToolError(
            f"{path} does not tell its version", hint="check that it is a working compiler"
        )
    return Compiler(
        family=family,
        path=Path(path),
        version=version[0],
        identity=identity_of(Path(path), said, parts=_PARTS[family]),
        assembler=_called(Path(path), "as") if family is CompilerFamily.GCC else None,
        linker=_called(Path(path), "ld"),
    )


def _called(compiler: Path, name: str) -> str | None:
    """Return the identity of the program of this name that a compiler calls, None if none."""
    found = shutil.which(_name_of_called(compiler, name))
    return program_identity(Path(found) if found else None)


def program_identity(path: Path | None) -> str | None:
    """Return what tells a program from others, None if there is none, or it tells no version."""
    if path is None or (said := version_line(path)) is None:
        return None
    return identity_of(path, said)


def _name_of_called(compiler: Path, name: str) -> str:
    """Return the name, or the path in its own folders, by which a compiler calls a program."""
    said = process.output_of((str(compiler), f"-print-prog-name={name}")) or ""
    return said.strip() or name


def version_line(program: Path) -> str | None:
    """Return the first line of what a program says of its version, None if it says nothing."""
    said = process.output_of((str(program), "--version"))
    return said.splitlines()[0].strip() if said else None


def identity_of(program: Path, said: str, *, parts: Iterable[str] = ()) -> str:
    """Return what tells a program from others: what it ``said`` of its version, or more.

    A distribution gives each of its packages a version of its own. What somebody has patched and
    built himself may say the same as before. So the digest of its files is added; ``parts`` are
    programs that it, a compiler, calls.
    """
    real = program.resolve()
    if real.is_relative_to(_DISTRIBUTION) and not real.is_relative_to(_LOCAL):
        return said
    files = (real, *_libraries_beside(real), *_parts_of(program, parts))
    digests = [_digest_of_program(file, file.stat().st_mtime_ns) for file in files]
    return f"{said}, SHA-256 {digest_of(digests)[:_SHOWN_DIGITS]}"


def _libraries_beside(program: Path) -> Iterator[Path]:
    """Yield the libraries that came with a program: all of clang may be in one."""
    links = read_links(program)
    folders = [program.parent.parent / name for name in ("lib", "lib64")]
    paths = (folder / name for name in (links.needed if links else ()) for folder in folders)
    return (path for path in paths if path.is_file())


def _parts_of(compiler: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the programs of these names that a compiler calls, those that it has."""
    paths = (Path(_name_of_called(compiler, name)) for name in names)
    return (path for path in paths if path.is_absolute() and path.is_file())


@functools.cache
def _digest_of_program(path: Path, changed: int) -> str:
    """Return the SHA-256 of a program that was last changed then; a large one takes a second."""
    del changed
    return digest_of_file(path)


def check_name(name: str) -> CompilerFamily:
    """Return the family of the compiler ``name``. Raises UsageError for an unknown name."""
    match = _PATH.fullmatch(name) or _NAME.fullmatch(name)
    if match is None:
        raise UsageError(
            f"'{name}' is not a compiler that hone knows",
            hint="known: gcc, clang, one with its version, such as gcc-12, or an absolute path to"
            " one of them",
        )
    return CompilerFamily(match.group(1))


def requirements_of(name: str, *, cxx: bool = False) -> tuple[Requirement, ...]:
    """Return what must be installed for the compiler ``name`` to build every variant.

    With ``cxx`` that is for C++, too. No package brings a compiler that is named by its path.
    Raises UsageError for an unknown name.
    """
    family = check_name(name)
    if "/" in name:
        return ()
    version = name.removeprefix(family.value)
    partner = [Requirement(name=_CXX.sub(_partner, name), package=f"g++{version}")] if cxx else []
    if family is CompilerFamily.GCC:
        return (Requirement(name=name, package=name), _HEADERS, *partner)
    return (
        Requirement(name=name, package=name),
        Requirement(name=f"ld.lld{version}", package=f"lld{version}"),
        Requirement(name=f"llvm-profdata{version}", package=f"llvm{version}"),
        *(() if distribution() in _WITHOUT_RUNTIME else (_runtime(name, version),)),
        _HEADERS,
        *([Requirement(name=partner[0].name, package=name)] if cxx else []),
    )


def _runtime(name: str, version: str) -> Requirement:
    """Return what programs are linked with that clang instruments: that of its own version.

    Which one that is nobody knows before ``clang`` is installed; then both are.
    """
    package = f"libclang-rt{version}-dev"
    path = shutil.which(name)
    if not version and path is None:
        return Requirement(name=name, package=package)
    folder = _LLVM_FOLDER.match(str(Path(path).resolve())) if path else None
    own = f"llvm{version}" if version else folder[1] if folder else "llvm-*"
    return Requirement(name=_RUNTIME.format(own), package=package, kind=RequirementKind.FILE)


def installed(name: str) -> bool:
    """Return whether the compiler ``name`` can be found."""
    return shutil.which(name) is not None


def installed_names() -> tuple[str, ...]:
    """Return the names of the compilers on the PATH, without asking any of them for its version."""
    names: set[str] = set()
    for folder in map(Path, os.get_exec_path()):
        with contextlib.suppress(OSError):
            names |= {path.name for path in folder.iterdir() if _NAME.fullmatch(path.name)}
    return tuple(sorted(names))


def _partner(match: re.Match[str]) -> str:
    return "g++" if match.group(0) == "gcc" else "clang++"
