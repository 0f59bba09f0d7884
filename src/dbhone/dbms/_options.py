"""Build options: those that hone sets for some versions, and those that a user asks for.

A user writes CMake's own options, or the name of a set of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbhone.errors import UnknownName, UsageError
from dbhone.versions import ALWAYS, VersionRange

_DEFINITION = re.compile(r"-D([A-Za-z_][A-Za-z0-9_]*)(?::[A-Z]+)?=([^;\n]*)")
_DECIDED = re.compile(
    r"CMAKE_BUILD_TYPE|CMAKE_(?:C|CXX|ASM)_(?:COMPILER|FLAGS).*|CMAKE_.*_LINKER_FLAGS.*"
    r"|CMAKE_(?:AR|NM|RANLIB|GENERATOR)|WITH_LTO|FPROFILE_\w+|BUILD_CONFIG|CPACK_.*"
)
"""What the variant and the compiler decide; an option would say it differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A build option with the value that hone gives it, and the versions that have it."""

    name: str
    value: str
    span: VersionRange = ALWAYS


Sets = Mapping[str, tuple[Option, ...]]


def options_of(table: Iterable[Option], version: str) -> tuple[Option, ...]:
    """Return the options of a table that hold for a version, in the table's order."""
    return tuple(option for option in table if option.span.holds(version))


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
        words += [f"-D{option.name}={option.value}" for option in chosen]
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
