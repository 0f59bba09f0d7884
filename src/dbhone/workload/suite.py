"""Suites: their sets, the groups of the sets' steps, and their sizes.

A suite is one TOML file: ``suites/speedtest1.toml`` is the suite ``speedtest1``, and
``suites/sysbench/micro.toml`` is ``sysbench:micro``. It names the protocols that its driver speaks,
never a DBMS. ``registry.py`` says how another distribution adds a suite. A suite of the user's is
such a file, too, and its name is the path (``users_suite.py``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from dbhone import registry
from dbhone.errors import HoneError, UnknownName, UsageError, nearest
from dbhone.measurement.record import Group
from dbhone.refusals import Size, in_words
from dbhone.workload import captured_suite, users_suite

DRAWER = "dbhone.workload.suites"
_SCRIPTED = "pgbench"
"""The suite whose driver runs a user's script."""
_USERS_DRIVER = "sysbench"
"""The driver of users' suites."""
_MIB = 1024**2
THREADS_SIGN = "@"
"""What stands between the name of a set and a number of threads."""


class Regime(StrEnum):
    """Where the data of a server is cached."""

    CACHED = "cached"
    """In the server's own cache."""
    OS_CACHED = "os-cached"
    """Mostly not in the server's cache, but in the operating system's."""
    COLD = "cold"
    """At first on the disk only. Each slice has a freshly started server, whose cache is as large
    as in the regime ``cached``."""


class StepKind(StrEnum):
    """Whether a set reads or writes: a size has a duration for each."""

    READ = "read"
    WRITE = "write"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _SectionOfDriver(_Section):
    """A section in which all keys that are not fields are the driver's own."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @property
    def driver_keys(self) -> dict[str, Any]:
        """The keys that are the driver's."""
        return dict(self.model_extra or {})


class PartOfSet(_Section):
    """One kind of a set's statements, operations or scripts, which is a step of its own."""

    title: str
    group: Group


class NumberedSet(_Section):
    """A set of numbered steps (speedtest1): the size for each named size, steps by group.

    It has nothing that only a ``ServerSet`` may have.
    """

    warm_up: ClassVar[bool] = False
    on_request: ClassVar[bool] = False
    part_of: ClassVar[str | None] = None
    events: ClassVar[int | None] = None
    parts: ClassVar[Mapping[str, PartOfSet]] = {}

    title: str
    sizes: dict[str, int]
    point: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def group_of(self, key: str) -> Group | None:
        """Return the group of a step, None if the file does not list the step."""
        for group in (Group.POINT, Group.RANGE, Group.WRITE):
            if key in getattr(self, group.value):
                return group
        return None

    def title_of(self, key: str) -> str:
        """Return the title of the set: steps have none in the file."""
        del key
        return self.title

    def keys(self) -> tuple[str, ...]:
        """Return the steps that the file lists, in the order of their numbers."""
        return tuple(sorted((*self.point, *self.range, *self.write), key=_by_number))


class ServerSet(_SectionOfDriver):
    """A set that is one step of a server's driver, and its ``parts``, which are steps besides.

    For the driver's own keys see ``ServerDriver.job``. A ``warm_up`` is not measured: it only fills
    caches. One that is ``on_request`` takes part only where an experiment names it. ``threads``
    fixes the number of clients. With ``events`` the set ends after this many of them, and the
    size's seconds are an estimate. ``kind`` follows from the group unless it is given. All the work
    of a set that is ``part_of`` another is the other's, too.
    """

    title: str
    group: Group
    kind: StepKind = StepKind.READ
    warm_up: bool = False
    on_request: bool = False
    part_of: str | None = None
    threads: int | None = None
    events: int | None = Field(default=None, ge=1)
    parts: dict[str, PartOfSet] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _with_kind(cls, keys: object) -> object:
        if not isinstance(keys, dict):
            return keys
        writes = keys.get("group") == Group.WRITE.value
        return {"kind": StepKind.WRITE if writes else StepKind.READ, **keys}

    def group_of(self, key: str) -> Group | None:
        """Return the group of a step: the key of the set as a whole is empty."""
        if key == "":
            return self.group
        return self.parts[key].group if key in self.parts else None

    def keys(self) -> tuple[str, ...]:
        """Return the keys of the set as a whole and of its parts."""
        return ("", *self.parts)

    def title_of(self, key: str) -> str:
        """Return the title of a step."""
        return self.parts[key].title if key else self.title


_SECONDS: dict[StepKind, float] = dict.fromkeys(StepKind, 2.0)
_CACHE: dict[Regime, int] = {Regime.CACHED: 512 * _MIB, Regime.OS_CACHED: 16 * _MIB}
"""What a size has unless its file says otherwise."""


class ServerSize(_SectionOfDriver):
    """A named size of a server's suite: the seconds of a step, the clients, the server's cache.

    The driver's own keys describe the data: see ``ServerDriver.data_set``. ``cache`` is the size of
    the server's cache in bytes for each regime; ``cold`` may be left out. A server allows
    ``spare_connections`` more connections than clients.
    """

    threads: tuple[int, ...] = Field(default=(4,), min_length=1)
    spare_connections: int = Field(default=20, ge=1)
    seconds: dict[StepKind, float] = _SECONDS
    cache: dict[Regime, Size] = _CACHE

    @field_validator("seconds")
    @classmethod
    def _all_seconds(cls, given: dict[StepKind, float]) -> dict[StepKind, float]:
        return _SECONDS | given

    @field_validator("cache")
    @classmethod
    def _all_caches(cls, given: dict[Regime, int]) -> dict[Regime, int]:
        return _CACHE | given


class Suite(_Section):
    """A suite's file.

    ``protocols`` are those in which its driver talks to a server, or the names of embedded DBMSs'
    libraries. With ``ordered`` the sets run in the file's order in every block. ``scripts`` is the
    folder of scripts beside the file, named ``scripts`` unless the file says otherwise. With
    ``fresh_loads`` every block has random data of its own, the same for all subjects. Without
    ``trains`` no profile can be trained on it; ``training`` are the sets to train on if the user
    names none. Reports have the ``note`` as a footnote.
    """

    title: str
    driver: str = _USERS_DRIVER
    protocols: tuple[str, ...] = ("mysql", "postgresql")
    ordered: bool = False
    fresh_loads: bool = False
    trains: bool = True
    training: tuple[str, ...] = ()
    note: str | None = None
    server_sizes: dict[str, ServerSize] = Field(default_factory=dict)
    sets: dict[str, NumberedSet | ServerSet] = Field(min_length=1)
    scripts: Path = Path()

    @field_validator("sets")
    @classmethod
    def _can_be_named(
        cls, sets: dict[str, NumberedSet | ServerSet]
    ) -> dict[str, NumberedSet | ServerSet]:
        wrong = next((name for name in sets if THREADS_SIGN in name), None)
        if wrong is not None:
            raise ValueError(f"'{wrong}' has a '{THREADS_SIGN}', which a number of threads follows")
        return sets

    def sizes(self) -> tuple[str, ...]:
        """Return the names of the sizes that every set has, smallest first."""
        if self.server_sizes:
            return tuple(self.server_sizes)
        numbered = [item for item in self.sets.values() if isinstance(item, NumberedSet)]
        first, *others = (item.sizes for item in numbered)
        return tuple(size for size in first if all(size in sizes for sizes in others))

    @property
    def adjustable(self) -> frozenset[str]:
        """The keys of ``[workload]`` by which an experiment may change a size of the suite."""
        keys = {"threads", "regime", "seconds", "cache"}
        return frozenset(keys if self.server_sizes else ())

    def measurable(self) -> tuple[str, ...]:
        """Return the sets that an experiment may name, in the file's order."""
        return tuple(name for name, declared in self.sets.items() if not declared.warm_up)

    def measured(self) -> tuple[str, ...]:
        """Return the sets that are measured unless an experiment names others."""
        return tuple(name for name in self.measurable() if not self.is_on_request(name))

    def is_on_request(self, name: str) -> bool:
        """Return whether a set takes part only where an experiment names it."""
        return self.sets[name].on_request

    def sharing(self, name: str) -> frozenset[str]:
        """Return the sets that have work in common with a set, and itself."""
        whole = self.sets[name].part_of
        parts = (other for other, declared in self.sets.items() if declared.part_of == name)
        return frozenset({name, *parts, *((whole,) if whole is not None else ())})

    def writes(self, name: str) -> bool:
        """Return whether clients of a server change its data in a set, be it in a part only."""
        declared = self.sets[name]
        if not isinstance(declared, ServerSet):
            return False
        return Group.WRITE in (declared.group, *(part.group for part in declared.parts.values()))

    def full_name(self, word: str) -> str | None:
        """Return the measurable set with this name or short name, None if there is none.

        A name without the part from its first ``_`` is a short name, unless two sets share it:
        ``update-index`` is ``update-index_range=100``.
        """
        known = self.measurable()
        if word in known:
            return word
        matching = [name for name in known if name.partition("_")[0] == word]
        return matching[0] if len(matching) == 1 else None

    @property
    def runs_to_the_end(self) -> bool:
        """Whether every set ends by itself: an experiment cannot change seconds or threads."""
        return all(self.sets[name].events is not None for name in self.measured())

    def warm_ups(self) -> tuple[str, ...]:
        """Return the sets that only fill caches."""
        return tuple(name for name, declared in self.sets.items() if declared.warm_up)


def names() -> tuple[str, ...]:
    """Return the names of all suites."""
    return tuple(sorted(registry.toml_files(DRAWER)))


def for_interface(interface: str) -> tuple[str, ...]:
    """Return the names of the suites for a protocol, or for an embedded DBMS's library."""
    return tuple(name for name in names() if interface in load(name).protocols)


@cache
def load(name: str) -> Suite:
    """Return the suite ``name``, which may be the path of a user's file.

    Raises UnknownName, or HoneError for a wrong file.
    """
    if captured_suite.is_workload_file(name):
        return Suite.model_validate(captured_suite.declared(Path(name)))
    if users_suite.is_suite_file(name):
        return (_of_file if name.endswith(users_suite.TOML) else _of_script)(Path(name))
    files = registry.toml_files(DRAWER)
    if name not in files:
        raise UnknownName("suite", name, files)
    try:
        declared = tomllib.loads(files[name].read_text(encoding="utf-8"))
        scripts = files[name].parent / declared.pop("scripts", users_suite.SCRIPTS)
        return Suite.model_validate({**declared, "scripts": scripts})
    except (OSError, ValidationError, tomllib.TOMLDecodeError) as error:
        raise HoneError(f"the file of the suite {name} is wrong: {error}") from error


def is_users_file(name: str) -> bool:
    """Return whether a suite's name is the path of a file that a user wrote or captured."""
    return captured_suite.is_workload_file(name) or users_suite.is_suite_file(name)


def _of_file(path: Path) -> Suite:
    """Return the suite in a user's file. Raises UsageError that names the file and the key."""
    try:
        suite = Suite.model_validate(users_suite.declared(path))
    except ValidationError as error:
        raise _refusal(path, error.errors()) from None
    if suite.driver != _USERS_DRIVER:
        raise UsageError(
            f"{path}: driver: a suite of your own is driven by {_USERS_DRIVER}", hint="leave it out"
        )
    if not suite.server_sizes:
        raise UsageError(
            f"{path}: 'server_sizes' is missing", hint="[server_sizes.quick] with rows = 100_000"
        )
    full_names(suite, suite.training, where=f"{path}: training")
    for name, declared in suite.sets.items():
        script = str(getattr(declared, "script", ""))
        known = users_suite.known_scripts(suite.scripts)
        if script not in known:
            where = f"{path}: sets.{name}.script"
            raise UnknownName("script", script, sorted(known), where=where)
    return suite


def _refusal(path: Path, errors: list[ErrorDetails]) -> UsageError:
    """Return pydantic's first finding in our words; a user's sets are those of servers."""
    error = next((item for item in errors if NumberedSet.__name__ not in item["loc"]), errors[0])
    *section, key = (str(part) for part in error["loc"] if part != ServerSet.__name__)
    where = f"{path}: {'.'.join((*section, key))}"
    if error["type"] == "extra_forbidden":
        return UsageError(f"{where}: there is no such key", hint=nearest(key, Suite.model_fields))
    if error["type"] == "missing":
        return UsageError(f"{where} is missing")
    return UsageError(f"{where}: {in_words(error)}")


def _of_script(path: Path) -> Suite:
    """Return the suite whose driver runs scripts, with the user's script as its only set."""
    if not path.is_file():
        raise UsageError(f"there is no script {path}")
    suite = load(_SCRIPTED)
    sizes = {
        name: size.model_copy(update={"script": str(path)})
        for name, size in suite.server_sizes.items()
    }
    warm_ups = {name: suite.sets[name] for name in suite.warm_ups()}
    users_set = ServerSet.model_validate(
        {"title": f"the user's {path.name}", "group": Group.WRITE, "script": "own"}
    )
    return suite.model_copy(
        update={"server_sizes": sizes, "sets": {**warm_ups, _short_name(path): users_set}}
    )


def _short_name(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", path.stem)[:40] or "script"


def full_names(
    suite: Suite, words: tuple[str, ...], *, where: str | None = None
) -> tuple[str, ...]:
    """Return the full names of sets. Raises UnknownName; its message begins with ``where``."""
    names_of_sets = []
    for word in words:
        name = suite.full_name(word)
        if name is None:
            raise UnknownName("set", word, suite.measurable(), where=where)
        names_of_sets.append(name)
    return tuple(names_of_sets)


def check_size(suite: Suite, size: str, *, where: str | None = None) -> None:
    """Raise UnknownName, whose message begins with ``where``, unless the suite has this size."""
    if size not in suite.sizes():
        raise UnknownName("size", size, suite.sizes(), where=where)


def _by_number(key: str) -> tuple[int, str]:
    number = key.partition(".")[0]
    return (int(number) if number.isdigit() else 0, key)
