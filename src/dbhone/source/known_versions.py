"""The versions of each DBMS that are known, and the source of each.

They are declared in ``versions.toml``, which lies beside this module. A file of that name in the
home adds to it and has precedence. A user may write ``known:DBMS@VERSION`` for the source
reference of that version.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dbhone import registry
from dbhone.dbms.base import DRAWER
from dbhone.errors import SourceError, UnknownName, UsageError
from dbhone.home import Home
from dbhone.refusals import in_words
from dbhone.source.kinds.base import parse_reference
from dbhone.versions import age

PREFIX = "known:"
SYNTAX = "known:DBMS@VERSION"
FILE = "versions.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")


class _Entry(BaseModel):
    """The entry of one version in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str = Field(min_length=1)
    variant: str | None = None
    note: str = ""
    history: bool = True


_ENTRIES = TypeAdapter(dict[str, dict[str, _Entry]])


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVersion:
    """One version with its source reference and a note.

    ``variant`` is the variant that a history uses for it, None for the usual one of such a source.
    ``usual`` versions are part of a history that names none. ``of_user`` versions are declared in
    the user's file, not in the one that ships.
    """

    dbms: str
    name: str
    source: str
    variant: str | None
    note: str
    usual: bool
    of_user: bool


@dataclass(frozen=True, slots=True)
class KnownVersions:
    """All versions, by DBMS and name, the oldest first."""

    versions: tuple[KnownVersion, ...]

    def of(self, dbms: str) -> tuple[KnownVersion, ...]:
        """Return the versions of a DBMS, the oldest first; none if none is known.

        Raises UnknownName if there is no such DBMS.
        """
        if dbms not in registry.names(DRAWER):
            raise UnknownName("DBMS", dbms, registry.names(DRAWER))
        return tuple(version for version in self.versions if version.dbms == dbms)

    def find(self, dbms: str, word: str) -> KnownVersion:
        """Return the version called ``word``, or the newest version of the series ``word``.

        ``8.0`` is the newest known 8.0. Raises UnknownName: for a number its hint has the versions
        next to it by age, for another word those with a similar name.
        """
        known = self.of(dbms)
        exact = [version for version in known if version.name == word]
        series = [version for version in known if version.name.startswith(f"{word}.")]
        if not exact and not series:
            names = [version.name for version in known]
            hint = _neighbours(dbms, word, names) if _is_number(word) else None
            raise UnknownName(f"known version of {dbms}", word, names, hint=hint)
        return (exact or series)[-1]

    def meaning(self, reference: str) -> str:
        """Return the source reference that ``known:DBMS@VERSION`` stands for.

        Other references are returned unchanged. Raises UsageError.
        """
        if not reference.startswith(PREFIX):
            return reference
        dbms, at, word = reference.removeprefix(PREFIX).partition("@")
        if not at or not word:
            raise UsageError(
                f"'{reference}' names no version",
                hint=f"write it as {SYNTAX}; 'hone versions' lists what is known",
            )
        return self.find(dbms, word).source


def known_versions(home: Home | None = None) -> KnownVersions:
    """Return the versions that ship, and those of the user's file, which has precedence.

    Raises UsageError, naming file and version, if the user's file is malformed, and SourceError
    if it cannot be read.
    """
    shipped = resources.files("dbhone.source").joinpath(FILE).read_text(encoding="utf-8")
    versions = _parse(shipped, FILE, of_user=False)
    own = home.root / FILE if home is not None else None
    if own is not None and own.is_file():
        versions |= _parse(_read(own), str(own), of_user=True)
    order = sorted(versions, key=lambda key: (key[0], age(key[1])))
    return KnownVersions(tuple(versions[key] for key in order))


def _is_number(word: str) -> bool:
    return word[:1].isdecimal()


def _neighbours(dbms: str, word: str, names: Iterable[str]) -> str:
    """Return a hint that names the next older and the next newer of ``names``, sorted by age."""
    numbers = [name for name in names if _is_number(name)]
    older = [name for name in numbers if age(name) <= age(word)]
    newer = [name for name in numbers if age(name) > age(word)]
    near = (*older[-1:], *newer[:1])
    if not near:
        return (
            f"no version of {dbms} is known: put yours into {FILE} ('hone versions {dbms}' says"
            f" where), or 'hone history {dbms} --source git:URL' builds those of a repository"
        )
    verb = "are" if near[1:] else "is"
    return (
        f"the nearest known {verb} {' and '.join(near)}; more can be put into {FILE} in hone's home"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file") from None


def _parse(text: str, where: str, *, of_user: bool) -> dict[tuple[str, str], KnownVersion]:
    try:
        entries = _ENTRIES.validate_python(tomllib.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        keys = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where}: {keys}: {in_words(first)}", hint=_HINT) from None
    except ValueError as error:
        raise UsageError(f"{where} is not valid TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{where} has values that are nested too deep") from None
    return {
        (dbms, name): _known(dbms, name, entry, where, of_user=of_user)
        for dbms, versions in entries.items()
        for name, entry in _checked(dbms, versions, where).items()
    }


_HINT = 'write it as [mysql."8.0.36"] with source = "git:URL@mysql-8.0.36"'


def _checked(dbms: str, versions: Mapping[str, _Entry], where: str) -> Mapping[str, _Entry]:
    if dbms not in registry.names(DRAWER):
        raise UnknownName("DBMS", dbms, registry.names(DRAWER), where=where)
    for name in versions:
        if not _NAME.fullmatch(name) or name == "control":
            raise UsageError(
                f"{where}: '{name}' cannot be the name of a version",
                hint="use up to 40 letters, digits, '.', '_', '+' and '-'; 'control' is taken",
            )
    return versions


def _known(dbms: str, name: str, entry: _Entry, where: str, *, of_user: bool) -> KnownVersion:
    try:
        parse_reference(entry.source)
    except UsageError as error:
        message = f"{where}: {dbms}.{name}: {error.message}"
        raise UsageError(message, hint=error.hint) from None
    return KnownVersion(
        dbms=dbms,
        name=name,
        source=entry.source,
        variant=entry.variant,
        note=entry.note,
        usual=entry.history,
        of_user=of_user,
    )
