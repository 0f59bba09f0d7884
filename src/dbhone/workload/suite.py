"""Suites: which steps there are, in which sets, in which groups, at which sizes.

A suite is one TOML file below ``suites/``: ``speedtest1.toml`` is the suite ``speedtest1``,
``sysbench/micro.toml`` the suite ``sysbench:micro``. Its sets are what the driver runs at
once; a set that the DBMS's version lacks is left out, which the caller is told.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from dbhone.errors import HoneError, UnknownName
from dbhone.measurement.record import Group
from dbhone.units import parse_size

_FOLDER = "dbhone.workload.suites"
_SEPARATOR = ":"
_THREADS = "@"
_FAR_TOO_LONG = 100
"""By which factor the slowest machine and server may miss what a suite says of itself."""


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


class ScriptedSet(_Section):
    """A set that is one step: a script of the driver with its options.

    ``warm_up`` marks a set that is run but not measured: it only fills caches. ``threads``
    fixes the number of clients. With ``events`` the script is run so often, to its end, and the
    size's seconds only say about how long that takes.
    """

    title: str
    script: str
    group: Group
    kind: Kind = Kind.READ
    options: dict[str, str] = Field(default_factory=dict)
    warm_up: bool = False
    threads: int | None = None
    events: int | None = Field(default=None, ge=1)

    def group_of(self, key: str) -> Group | None:
        """Return the group of the set's only step, whose key is empty."""
        return self.group if key == "" else None

    def keys(self) -> tuple[str, ...]:
        """Return the only step's key."""
        return ("",)


class ServerSize(_Section):
    """A named size of a server's suite: its tables, the seconds of a slice, the clients.

    ``cache`` is the size of the server's cache, in bytes, for each regime; ``cold`` need not
    be there. ``spare_connections`` is how many more connections than clients a server must allow.
    """

    tables: int = Field(ge=1)
    rows: int = Field(ge=100)
    threads: tuple[int, ...] = Field(min_length=1)
    spare_connections: int = Field(default=20, ge=1)
    seconds: dict[Kind, float]
    cache: dict[Regime, Annotated[int, BeforeValidator(parse_size)]]


class Suite(_Section):
    """A suite's file. With ``ordered`` the sets are run in the file's order in every block.

    ``family`` is the folder that the file is in, empty for none. With ``fresh_loads`` every
    block is measured on random data of its own, which is the same for all subjects. Without
    ``trains`` no profile can be trained on it.
    """

    title: str
    family: str = ""
    driver: str
    dbms: tuple[str, ...]
    ordered: bool = False
    fresh_loads: bool = False
    trains: bool = True
    server_sizes: dict[str, ServerSize] = Field(default_factory=dict)
    sets: dict[str, NumberedSet | ScriptedSet] = Field(min_length=1)

    def sizes(self) -> tuple[str, ...]:
        """Return the names of the sizes that every set has, smallest first."""
        if self.server_sizes:
            return tuple(self.server_sizes)
        numbered = [each for each in self.sets.values() if isinstance(each, NumberedSet)]
        return tuple(
            name for name in numbered[0].sizes if all(name in each.sizes for each in numbered)
        )

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
        return all(isinstance(each, ScriptedSet) and each.events is not None for each in chosen)

    def warm_ups(self) -> tuple[str, ...]:
        """Return the sets that only fill caches."""
        return tuple(name for name, each in self.sets.items() if _warms_up(each))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a suite is in one experiment: a named size, and what is said besides.

    None takes the size's own value. ``seconds`` holds for reading and writing steps alike.
    """

    size: str
    regime: Regime = Regime.CACHED
    threads: tuple[int, ...] | None = None
    tables: int | None = None
    rows: int | None = None
    seconds: float | None = None
    cache_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The data that a server is loaded with: so many tables, so many rows in each.

    ``family`` is the folder of the suite, whose scripts load them. ``seed`` is that of the
    random values, None where the data is always the same.
    """

    tables: int
    rows: int
    family: str = "sysbench"
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """One run of a driver's script: by so many clients, for so many seconds.

    ``options`` are the script's, without the dashes. With ``events`` it is run so often, however
    long that takes, and ``seconds`` is about how long.
    """

    script: str
    options: tuple[tuple[str, str], ...]
    threads: int
    seconds: float
    tables: Tables
    events: int | None = None

    @property
    def patience(self) -> float:
        """After how many seconds it hangs, the driver's start and end not counted."""
        return self.seconds * (2 if self.events is None else _FAR_TOO_LONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one start of the driver is asked for: a set at a size, or a run of a script.

    ``set`` is the name under which it is measured, ``source`` the set of the suite's file;
    they differ when a run has several numbers of threads. ``seed`` is that of the random values
    that an embedded DBMS's driver makes, None where they are always the same.
    """

    set: str
    size: int = 0
    run: ScriptRun | None = None
    seed: int | None = None

    @property
    def source(self) -> str:
        """The set of the suite's file."""
        return self.set.partition(_THREADS)[0]


def names() -> tuple[str, ...]:
    """Return the names of the suites that there are."""
    return tuple(sorted(name for name, _ in _files(resources.files(_FOLDER), "")))


def for_dbms(dbms: str) -> tuple[str, ...]:
    """Return the names of the suites that can drive a DBMS."""
    return tuple(name for name in names() if dbms in load(name).dbms)


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _files(each, f"{prefix}{each.name}{_SEPARATOR}")
        elif each.name.endswith(".toml"):
            yield prefix + each.name[:-5], each


@cache
def load(name: str) -> Suite:
    """Return the suite ``name``. Raises UnknownName if there is no such file."""
    files = dict(_files(resources.files(_FOLDER), ""))
    if name not in files:
        raise UnknownName("suite", name, files)
    family = name.rpartition(_SEPARATOR)[0]
    try:
        declared = tomllib.loads(files[name].read_text(encoding="utf-8"))
        return Suite.model_validate({"family": family, **declared})
    except (ValidationError, tomllib.TOMLDecodeError) as error:
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


def tasks(suite: Suite, sets: tuple[str, ...], scale: Scale) -> tuple[Task, ...]:
    """Return what the driver is asked for, in the order of ``sets``.

    With several numbers of threads a set is one task for each of them, ``SET@THREADS``.
    """
    return tuple(task for name in sets for task in _tasks(name, suite, scale))


def _tasks(name: str, suite: Suite, scale: Scale) -> Iterator[Task]:
    chosen = suite.sets[name]
    if isinstance(chosen, NumberedSet):
        yield Task(set=name, size=chosen.sizes[scale.size], seed=_first_seed(suite))
        return
    size = suite.server_sizes[scale.size]
    numbers = scale.threads or size.threads
    several = len(numbers) > 1
    for threads in (chosen.threads,) if chosen.threads else numbers:
        run = ScriptRun(
            script=chosen.script,
            options=tuple(chosen.options.items()),
            threads=threads,
            seconds=_seconds(chosen, size, scale),
            tables=tables_of(suite, scale),
            events=chosen.events,
        )
        yield Task(set=f"{name}{_THREADS}{threads}" if several else name, run=run)


def tables_of(suite: Suite, scale: Scale) -> Tables:
    """Return the data that a server's suite needs at this scale."""
    size = suite.server_sizes[scale.size]
    return Tables(
        tables=scale.tables or size.tables,
        rows=scale.rows or size.rows,
        family=suite.family,
        seed=_first_seed(suite),
    )


def seeded(task: Task, seed: int) -> Task:
    """Return the task on other random data."""
    if task.run is None:
        return dataclasses.replace(task, seed=seed)
    tables = dataclasses.replace(task.run.tables, seed=seed)
    return dataclasses.replace(task, run=dataclasses.replace(task.run, tables=tables))


def _first_seed(suite: Suite) -> int | None:
    return 1 if suite.fresh_loads else None


def _seconds(chosen: ScriptedSet, size: ServerSize, scale: Scale) -> float:
    """Return how long a set is run, or about how long it takes if it ends by itself."""
    usual = size.seconds[chosen.kind]
    if chosen.events is None:
        return scale.seconds or usual
    return usual * (scale.rows or size.rows) / size.rows


def at_size(suite: Suite, scale: Scale, size: str) -> Scale:
    """Return the scale for training: one number of threads, the tables of the experiment.

    At another size than the experiment's the tables are that size's own.
    """
    if not suite.server_sizes:
        return Scale(size=size)
    chosen = scale if size == scale.size else Scale(size=size, regime=scale.regime)
    return narrow(suite, chosen)


def prolonged(task: Task, share: float) -> Task:
    """Return the task with its time multiplied, in whole seconds, at least one.

    What ends by itself is as it was.
    """
    if task.run is None or task.run.events is not None:
        return task
    seconds = max(1.0, float(round(task.run.seconds * share)))
    return dataclasses.replace(task, run=dataclasses.replace(task.run, seconds=seconds))


def narrow(suite: Suite, scale: Scale) -> Scale:
    """Return the scale with one number of threads, the largest."""
    numbers = scale.threads or suite.server_sizes[scale.size].threads
    return dataclasses.replace(scale, threads=(max(numbers),))


def cache_bytes(suite: Suite, scale: Scale) -> int:
    """Return how large the server's cache is at this scale, in bytes."""
    sizes = suite.server_sizes[scale.size].cache
    return scale.cache_bytes or sizes.get(scale.regime, sizes[Regime.CACHED])


def _warms_up(chosen: NumberedSet | ScriptedSet) -> bool:
    return isinstance(chosen, ScriptedSet) and chosen.warm_up


def _by_number(key: str) -> tuple[int, str]:
    number = key.partition(".")[0]
    return (int(number) if number.isdigit() else 0, key)
