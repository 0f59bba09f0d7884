"""The versions of each DBMS that are known, and where each comes from.

They stand in one data file, ``versions.toml`` beside this one. A file of that name in the home
adds to it and goes before it. ``known:DBMS@VERSION`` is written where a source is, and stands
for the source reference of that version.
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
from dbhone.ages import age
from dbhone.dbms.base import DRAWER
from dbhone.errors import SourceError, UnknownName, UsageError
from dbhone.home import Home
from dbhone.source.reference import parse_reference

PREFIX = "known:"
SYNTAX = "known:DBMS@VERSION"
FILE = "versions.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")


class _Entry(BaseModel):
    """What stands in the file of one version."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str = Field(min_length=1)
    variant: str | None = None
    note: str = ""
    history: bool = True


_FILE = TypeAdapter(dict[str, dict[str, _Entry]])


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVersion:
    """One version: its source reference, what one should know of it, and who says so.

    ``variant`` says what a history makes of it, None what is usual for such a source. ``usual``
    tells whether a history takes it without being asked. ``of_user`` tells that it stands in the
    user's file, not in the one that ships.
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
        return tuple(each for each in self.versions if each.dbms == dbms)

    def find(self, dbms: str, word: str) -> KnownVersion:
        """Return the version that ``word`` names, or the newest of the series that it names.

        ``8.0`` is the newest known 8.0. Raises UnknownName, with the versions next to a number
        by age, and with those next to another word by its letters.
        """
        known = self.of(dbms)
        named = [each for each in known if each.name == word]
        series = [each for each in known if each.name.startswith(f"{word}.")]
        if not named and not series:
            names = [each.name for each in known]
            hint = _neighbours(word, names) if _is_number(word) else None
            raise UnknownName(f"known version of {dbms}", word, names, hint=hint)
        return (named or series)[-1]

    def meaning(self, reference: str) -> str:
        """Return the source reference that ``known:DBMS@VERSION`` stands for; others as they are.

        Raises UsageError.
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
    """Return what ships, and what the user's file in the home adds or says otherwise.

    Raises UsageError, naming file and version, if the user's file cannot be meant, SourceError
    if it cannot be read.
    """
    shipped = resources.files("dbhone.source").joinpath(FILE).read_text(encoding="utf-8")
    found = _parse(shipped, FILE, of_user=False)
    own = home.root / FILE if home is not None else None
    if own is not None and own.is_file():
        found |= _parse(_read(own), str(own), of_user=True)
    order = sorted(found, key=lambda key: (key[0], age(key[1])))
    return KnownVersions(tuple(found[key] for key in order))


def _is_number(word: str) -> bool:
    return word[:1].isdecimal()


def _neighbours(word: str, names: Iterable[str]) -> str:
    """Return a hint that names the next older and the next newer of ``names``, sorted by age."""
    numbers = [each for each in names if _is_number(each)]
    older = [each for each in numbers if age(each) <= age(word)]
    newer = [each for each in numbers if age(each) > age(word)]
    near = (*older[-1:], *newer[:1])
    if not near:
        return f"none is known: put it into {FILE} in hone's home"
    told = f"nearest known are {' and '.join(near)}" if near[1:] else f"nearest known is {near[0]}"
    return f"the {told}; more can be put into {FILE} in hone's home"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file") from None


def _parse(text: str, where: str, *, of_user: bool) -> dict[tuple[str, str], KnownVersion]:
    try:
        entries = _FILE.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not valid TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        keys = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{where}: {keys}: {first['msg'][0].lower()}{first['msg'][1:]}", hint=_HINT
        ) from None
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
