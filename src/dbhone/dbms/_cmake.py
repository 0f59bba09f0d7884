"""What several DBMSs need of CMake: commands to configure a build and to copy files, and options.

Some options hone sets for some versions, others a user asks for: CMake's own, or the name of a set
of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone.dbms.base import BuildRequest
from dbhone.errors import UnknownName, UsageError
from dbhone.requirements import Requirement
from dbhone.versions import ALWAYS, VersionRange

CMAKE_REQUIREMENTS = (
    Requirement(name="cmake", package="cmake"),
    Requirement(name="ninja", package="ninja-build"),
)
COPY = ("cmake", "-E", "copy")
COPY_FOLDER = ("cmake", "-E", "copy_directory")
_LIBRARIES = ("SHARED", "MODULE")
_DEFINITION = re.compile(r"-D([A-Za-z_][A-Za-z0-9_]*)(?::[A-Z]+)?=([^;\n]*)")
_DECIDED = re.compile(
    r"CMAKE_BUILD_TYPE|CMAKE_(?:C|CXX|ASM)_(?:COMPILER|FLAGS).*|CMAKE_.*_LINKER_FLAGS.*"
    r"|CMAKE_(?:AR|NM|RANLIB|GENERATOR)|WITH_LTO|FPROFILE_\w+|BUILD_CONFIG|CPACK_.*"
)
"""What the variant and the compiler decide; an option would say it differently."""


def is_given(name: str, options: Iterable[str]) -> bool:
    """Return whether a user's options define a variable, with its type or without."""
    return any(match and match[1] == name for match in map(_DEFINITION.match, options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A build option with the value that hone gives it, and the versions that have it."""

    name: str
    value: str
    span: VersionRange = ALWAYS


Sets = Mapping[str, tuple[Option, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFlags:
    """What stands for the flags of CMake's type Release; a compiler for C has its own."""

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    link: tuple[str, ...]
    program_link: tuple[str, ...]


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


def options_of(table: Iterable[Option], version: str) -> tuple[Option, ...]:
    """Return the options of a table that hold for a version, in the table's order."""
    return tuple(option for option in table if option.span.holds(version))


def written(options: Iterable[Option]) -> tuple[str, ...]:
    """Return options as CMake reads them on its command line."""
    return tuple(f"-D{option.name}={option.value}" for option in options)


def expand(asked: Iterable[str], sets: Sets, version: str) -> tuple[str, ...]:
    """Return the options on CMake's command line, each name replaced by its options.

    ``sets`` are a DBMS's named options; of them those are taken that the version has. Raises
    UsageError for what is not an option and for options that hone decides, UnknownName for a name
    that is none, and UsageError for one that has no effect in this version.
    """
    words: list[str] = []
    for word in asked:
        if word.startswith("-"):
            words.append(_checked(word))
            continue
        if word not in sets:
            raise UnknownName("set of build options", word, sets)
        chosen = options_of(sets[word], version)
        if not chosen:
            raise UsageError(f"the build options '{word}' have no effect in version {version}")
        words += written(chosen)
    return tuple(words)


def _checked(word: str) -> str:
    definition = _DEFINITION.fullmatch(word)
    if definition is None:
        raise UsageError(
            f"'{word}' is not a build option", hint="write it as -DNAME=VALUE, or name a set"
        )
    if _DECIDED.fullmatch(definition[1]):
        raise UsageError(
            f"'{word}' is decided by hone: {definition[1]} follows from the variant and the"
            " compiler",
            hint="choose another variant or compiler instead",
        )
    return word


def copy_messages(built: str, source: Path, share: Path) -> tuple[tuple[str, ...], ...]:
    """Return the commands that copy a MySQL-like server's messages and character sets to ``share``.

    The messages are in the folder ``built`` of the build, the character sets in ``source``.
    """
    return (
        (*COPY_FOLDER, f"{built}/english", f"{share}/english"),
        (*COPY_FOLDER, str(source / "charsets"), f"{share}/charsets"),
    )
