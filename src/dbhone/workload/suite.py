"""Suites: which steps there are, in which sets, in which groups, at which sizes.

A suite is one TOML file below ``suites/``: ``speedtest1.toml`` is the suite ``speedtest1``,
``sysbench/micro.toml`` the suite ``sysbench:micro``. Its sets are what the driver runs at
once; a set that the DBMS's version lacks is left out, which the caller is told.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from dbhone import registry
from dbhone.errors import HoneError, UnknownName
from dbhone.measurement.record import Group
from dbhone.units import parse_size

DRAWER = "dbhone.workload.suites"


class Regime(StrEnum):
    """Where a server finds the data that it is asked for."""

    CACHED = "cached"
    """In its own cache."""
    OS_CACHED = "os-cached"
    """Mostly not in its own cache, but in the operating system's."""
    COLD = "cold"
    """At first on the disk only: each slice has a server of its own, just started. Its cache is
    as large as when it is to hold the data."""


class Kind(StrEnum):
    """Which of a size's durations a set takes."""

    READ = "read"
    WRITE = "write"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NumberedSet(_Section):
    """A set of numbered steps (speedtest1): the size for each named size, steps by group."""

    title: str
    sizes: dict[str, int]
    point: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def group_of(self, key: str) -> Group | None:
        """Return the group of a step, None if the suite's file does not know the step."""
        for group in (Group.POINT, Group.RANGE, Group.WRITE):
            if key in getattr(self, group.value):
                return group
        return None

    def keys(self) -> tuple[str, ...]:
        """Return the steps that the file knows, in the order of their numbers."""
        return tuple(sorted((*self.point, *self.range, *self.write), key=_by_number))


class ServerSet(_Section):
    """A set that is one step of a server's driver.

    All keys that are not fields are the driver's own: see ``ServerDriver.job``. ``warm_up`` marks a
    set that is run but not measured: it only fills caches. ``threads`` fixes the number of
    clients. With ``events`` it is run so often, to its end, and the size's seconds only say about
    how long that takes.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    title: str
    group: Group
    kind: Kind = Kind.READ
    warm_up: bool = False
    threads: int | None = None
    events: int | None = Field(default=None, ge=1)

    @property
    def own(self) -> dict[str, Any]:
        """What only the driver understands."""
        return dict(self.model_extra or {})

    def group_of(self, key: str) -> Group | None:
        """Return the group of the set's only step, whose key is empty."""
        return self.group if key == "" else None

    def keys(self) -> tuple[str, ...]:
        """Return the only step's key."""
        return ("",)


class ServerSize(_Section):
    """A named size of a server's suite: the seconds of a step, the clients, the server's cache.

    All keys that are not fields say what is loaded; only the driver understands them: see
    ``ServerDriver.data_set``. ``cache`` is the size of the server's cache, in bytes, for each
    regime; ``cold`` need not be there. ``spare_connections`` is how many more connections than
    clients a server must allow.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    threads: tuple[int, ...] = Field(min_length=1)
    spare_connections: int = Field(default=20, ge=1)
    seconds: dict[Kind, float]
    cache: dict[Regime, Annotated[int, BeforeValidator(parse_size)]]

    @property
    def own(self) -> dict[str, Any]:
        """What only the driver understands."""
        return dict(self.model_extra or {})


class Suite(_Section):
    """A suite's file. With ``ordered`` the sets are run in the file's order in every block.

    ``protocols`` are what its driver speaks with a DBMS. ``scripts`` is the folder of scripts
    beside the file, for drivers that have such. With ``fresh_loads`` every block is measured on
    random data of its own, which is the same for all subjects. Without ``trains`` no profile can
    be trained on it.
    """

    title: str
    driver: str
    protocols: tuple[str, ...]
    ordered: bool = False
    fresh_loads: bool = False
    trains: bool = True
    server_sizes: dict[str, ServerSize] = Field(default_factory=dict)
    sets: dict[str, NumberedSet | ServerSet] = Field(min_length=1)
    scripts: Path = Path()

    def sizes(self) -> tuple[str, ...]:
        """Return the names of the sizes that every set has, smallest first."""
        if self.server_sizes:
            return tuple(self.server_sizes)
        numbered = [each for each in self.sets.values() if isinstance(each, NumberedSet)]
        return tuple(
            name for name in numbered[0].sizes if all(name in each.sizes for each in numbered)
        )

    @property
    def adjustable(self) -> frozenset[str]:
        """The keys of ``[workload]`` by which an experiment may change a size of the suite."""
        keys = {"threads", "regime", "seconds", "cache"}
        return frozenset(keys if self.server_sizes else ())

    def measured(self) -> tuple[str, ...]:
        """Return the sets that are measured, in the file's order."""
        return tuple(name for name, each in self.sets.items() if not _warms_up(each))

    def full_name(self, word: str) -> str | None:
        """Return the measured set that ``word`` means, None if there is none.

        What a name says behind its first ``_`` may be left out where one set alone begins so:
        ``update-index`` is ``update-index_range=100``.
        """
        known = self.measured()
        if word in known:
            return word
        meant = [name for name in known if name.partition("_")[0] == word]
        return meant[0] if len(meant) == 1 else None

    @property
    def runs_to_the_end(self) -> bool:
        """Whether what is asked ends by itself: neither its seconds nor its clients vary."""
        chosen = (self.sets[name] for name in self.measured())
        return all(isinstance(each, ServerSet) and each.events is not None for each in chosen)

    def warm_ups(self) -> tuple[str, ...]:
        """Return the sets that only fill caches."""
        return tuple(name for name, each in self.sets.items() if _warms_up(each))


def names() -> tuple[str, ...]:
    """Return the names of the suites that there are."""
    return tuple(sorted(registry.toml_files(DRAWER)))


def for_interface(interface: str) -> tuple[str, ...]:
    """Return the names of the suites that speak a protocol, or with a library of this name."""
    return tuple(name for name in names() if interface in load(name).protocols)


@cache
def load(name: str) -> Suite:
    """Return the suite ``name``. Raises UnknownName if there is no such file."""
    files = registry.toml_files(DRAWER)
    if name not in files:
        raise UnknownName("suite", name, files)
    try:
        declared = tomllib.loads(files[name].read_text(encoding="utf-8"))
        scripts = files[name].parent / "scripts"
        return Suite.model_validate({"scripts": scripts, **declared})
    except (OSError, ValidationError, tomllib.TOMLDecodeError) as error:
        raise HoneError(f"the file of the suite {name} is wrong: {error}") from error


def full_names(
    suite: Suite, words: tuple[str, ...], *, where: str | None = None
) -> tuple[str, ...]:
    """Return the sets that ``words`` mean. Raises UnknownName, told to be at ``where``."""
    found = []
    for word in words:
        name = suite.full_name(word)
        if name is None:
            raise UnknownName("set", word, suite.measured(), where=where)
        found.append(name)
    return tuple(found)


def check_size(suite: Suite, size: str) -> None:
    """Raise UnknownName unless the suite has this size."""
    if size not in suite.sizes():
        raise UnknownName("size", size, suite.sizes())


def _warms_up(chosen: NumberedSet | ServerSet) -> bool:
    return isinstance(chosen, ServerSet) and chosen.warm_up


def _by_number(key: str) -> tuple[int, str]:
    number = key.partition(".")[0]
    return (int(number) if number.isdigit() else 0, key)
