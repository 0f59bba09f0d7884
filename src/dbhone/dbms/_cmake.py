"""Commands of CMake that several DBMSs need: to configure a build, and to copy files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dbhone.dbms._options import Option
from dbhone.dbms.base import BuildRequest
from dbhone.requirements import Requirement

CMAKE_REQUIREMENTS = (
    Requirement(name="cmake", package="cmake"),
    Requirement(name="ninja", package="ninja-build"),
)
COPY = ("cmake", "-E", "copy")
COPY_FOLDER = ("cmake", "-E", "copy_directory")
_LIBRARIES = ("SHARED", "MODULE")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFlags:
    """What stands for the flags of CMake's type Release; a compiler for C has its own."""

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    link: tuple[str, ...]
    program_link: tuple[str, ...]


def variant_flags(request: BuildRequest) -> TypeFlags:
    """Return the variant's flags for both languages."""
    flags = request.compile_flags
    return TypeFlags(
        c=flags, cxx=flags, link=request.link_flags, program_link=request.primary_link_flags
    )


def configure(request: BuildRequest, flags: TypeFlags, options: Iterable[str]) -> tuple[str, ...]:
    """Return the command that configures a build in the folder where it is called.

    The type is Release, whose own flags give place to ``flags``: so nothing stands beside the
    variant's level.
    """
    link = " ".join(flags.link)
    return (
        *("cmake", "-G", "Ninja", "-S", str(request.tree), "-B", "."),
        f"-DCMAKE_C_COMPILER={request.compiler}",
        f"-DCMAKE_CXX_COMPILER={request.cxx_compiler}",
        f"-DCMAKE_AR={request.archiver}",
        f"-DCMAKE_RANLIB={request.ranlib}",
        f"-DCMAKE_NM={request.nm}",
        f"-DCMAKE_C_FLAGS_RELEASE={' '.join(flags.c)}",
        f"-DCMAKE_CXX_FLAGS_RELEASE={' '.join(flags.cxx)}",
        f"-DCMAKE_EXE_LINKER_FLAGS={' '.join((*flags.link, *flags.program_link))}",
        *(f"-DCMAKE_{kind}_LINKER_FLAGS={link}" for kind in _LIBRARIES),
        "-DCMAKE_BUILD_TYPE=Release",
        *options,
    )


def make(request: BuildRequest, *targets: str) -> tuple[str, ...]:
    """Return the command that builds targets, or all that there are if the request asks for it."""
    return ("ninja", f"-j{request.jobs}", *(("all",) if request.all_targets else ()), *targets)


def written(options: Iterable[Option]) -> tuple[str, ...]:
    """Return options as CMake reads them on its command line."""
    return tuple(f"-D{option.name}={option.value}" for option in options)


def copy_messages(built: str, source: Path, share: Path) -> tuple[tuple[str, ...], ...]:
    """Return the commands that copy a MySQL-like server's messages and character sets to ``share``.

    The messages are in the folder ``built`` of the build, the character sets in ``source``.
    """
    return (
        (*COPY_FOLDER, f"{built}/english", f"{share}/english"),
        (*COPY_FOLDER, str(source / "charsets"), f"{share}/charsets"),
    )
