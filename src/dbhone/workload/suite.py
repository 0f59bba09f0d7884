"""Suites: which steps there are, in which sets, in which groups, at which sizes.

A suite is one TOML file in ``suites/``. Its sets are what the driver runs at once; a set
that the DBMS's version lacks is left out, which the caller is told.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dbhone.errors import HoneError, UnknownName
from dbhone.measurement.record import Group

_FOLDER = "dbhone.workload.suites"


class SuiteSet(BaseModel):
    """One set: its title, the size for each named size, and its steps by group."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    sizes: dict[str, int]
    point: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def group_of(self, key: str) -> Group | None:
        """Return the group of a step, None if the suite's file does not know the step."""
        for group in Group:
            if key in getattr(self, group.value):
                return group
        return None

    def keys(self) -> tuple[str, ...]:
        """Return the steps that the file knows, in the order of their numbers."""
        return tuple(sorted((*self.point, *self.range, *self.write), key=_by_number))


class Suite(BaseModel):
    """A suite's file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    driver: str
    dbms: tuple[str, ...]
    sets: dict[str, SuiteSet] = Field(min_length=1)

    def sizes(self) -> tuple[str, ...]:
        """Return the names of the sizes that every set has, smallest first."""
        first = next(iter(self.sets.values())).sizes
        return tuple(
            name for name in first if all(name in each.sizes for each in self.sets.values())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one start of the driver is asked for: a set at a size."""

    set: str
    size: int


def names() -> tuple[str, ...]:
    """Return the names of the suites that there are."""
    files = resources.files(_FOLDER).iterdir()
    return tuple(sorted(each.name[:-5] for each in files if each.name.endswith(".toml")))


@cache
def load(name: str) -> Suite:
    """Return the suite ``name``. Raises UnknownName if there is no such file."""
    if name not in names():
        raise UnknownName("suite", name, names())
    text = resources.files(_FOLDER).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    try:
        return Suite.model_validate(tomllib.loads(text))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise HoneError(f"the suite's file {name}.toml is wrong: {error}") from error


def check(name: str, sets: tuple[str, ...], size: str) -> None:
    """Raise UnknownName unless the suite has these sets and this size."""
    suite = load(name)
    for each in sets:
        if each not in suite.sets:
            raise UnknownName("set", each, suite.sets)
    if size not in suite.sizes():
        raise UnknownName("size", size, suite.sizes())


def _by_number(key: str) -> tuple[int, str]:
    number = key.partition(".")[0]
    return (int(number) if number.isdigit() else 0, key)
