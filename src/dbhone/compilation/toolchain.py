"""Finds compilers and the programs that belong to them."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.errors import ToolError, UsageError
from dbhone.requirements import Requirement, RequirementKind, missing

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A C compiler. ``identity`` is the first line of its version output, a part of digests."""

    family: CompilerFamily
    path: Path
    version: str
    identity: str

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
            else f"install it: {missing(requirements_of(name)).line()}",
        )
    identity = process.output_of((path, "--version"))
    number = process.output_of((path, "-dumpfullversion", "-dumpversion"))
    version = _VERSION.search(number or identity or "")
    if identity is None or version is None:
        raise ToolError(
            f"{path} does not tell its version", hint="check that it is a working compiler"
        )
    return Compiler(
        family=family,
        path=Path(path),
        version=version[0],
        identity=identity.splitlines()[0].strip(),
    )


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
        _runtime(name, version),
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
        return Requirement(name=name, package=package, absent_on=_WITHOUT_RUNTIME)
    folder = _LLVM_FOLDER.match(str(Path(path).resolve())) if path else None
    own = f"llvm{version}" if version else folder[1] if folder else "llvm-*"
    return Requirement(
        name=_RUNTIME.format(own),
        package=package,
        kind=RequirementKind.FILE,
        absent_on=_WITHOUT_RUNTIME,
    )


def installed(name: str) -> bool:
    """Return whether the compiler ``name`` can be found."""
    return shutil.which(name) is not None


def _partner(match: re.Match[str]) -> str:
    return "g++" if match.group(0) == "gcc" else "clang++"
