"""Tasks of a driver: a set at a size, or a run of clients on loaded data.

The data and the job of clients are each driver's own values. These classes have only what all
drivers have in common.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from dbhone.workload.suite import THREADS_SIGN, Regime

_SLOWEST_MACHINE = 100
"""How many times longer than the suite's estimate a run may take before it counts as hung."""
D = TypeVar("D", bound="DataSet")
DATA_PATHS = ("dump", "folder")
"""The keys of data that name files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The scale of a suite in one experiment: a named size, and the values that replace its own.

    None keeps the size's value. ``seconds`` is for reading and writing steps alike. ``data``
    replaces the size's data, by the driver's own keys.
    """

    size: str
    regime: Regime = Regime.CACHED
    threads: tuple[int, ...] | None = None
    seconds: float | None = None
    cache_bytes: int | None = None
    data: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def files(self) -> Mapping[str, int | str]:
        """The part of the data that names files: it is the same at every size."""
        return {key: value for key, value in self.data.items() if isinstance(value, str)}

    @property
    def paths(self) -> Mapping[str, Path]:
        """The dump and the data directory that are loaded, by their keys."""
        return {key: Path(str(self.data[key])) for key in DATA_PATHS if key in self.data}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """A data directory that a user's server has made, and the database in it that is asked."""

    path: Path
    database: str


class DataSet(ABC):
    """The data that a server is loaded with: a frozen dataclass of the driver's own.

    ``seed`` is that of the random values, None where the data is always the same.
    """

    seed: int | None

    @property
    @abstractmethod
    def label(self) -> str:
        """The data in words, such as ``4 × 100,000 rows``."""

    @property
    @abstractmethod
    def key(self) -> tuple[str | int, ...]:
        """The identity of the data among this driver's data, without the seed."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """The amount of data in a unit of the driver's own: only ratios are used."""

    @property
    def least_bytes(self) -> int:
        """The bytes that it takes at least once it is loaded, 0 where only its volume is known."""
        return 0

    @property
    def loaders(self) -> int:
        """The number of clients that load the data at the same time."""
        return 1

    @property
    def data_folder(self) -> DataFolder | None:
        """The data directory of which a copy takes the place of loading, None without one."""
        return None

    @property
    def asked_database(self) -> str | None:
        """The database that clients ask once it is loaded, None for the server's usual one."""
        return None if self.data_folder is None else self.data_folder.database

    @property
    def other_locale(self) -> str | None:
        """The locale that the data had where it comes from, None if it has that still."""
        return None

    def with_materials(self: D, folder: Path) -> D:
        """Return the same data, whose clients find their files in the folder."""
        del folder
        return self

    def with_seed(self: D, seed: int) -> D:
        """Return the same amount of other random data."""
        return dataclasses.replace(self, seed=seed)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRun:
    """A run of ``threads`` clients on a server, for ``seconds`` seconds.

    ``job`` is what the clients do, a value of the driver's own. With ``events`` the run ends after
    this many of them, and ``seconds`` is an estimate. ``parts`` are the keys of the parts of events
    that clients count, by their number.
    """

    job: object
    threads: int
    seconds: float
    data: DataSet
    events: int | None = None
    parts: tuple[str, ...] = ()

    @property
    def timeout(self) -> float:
        """After how many seconds the run counts as hung, without the driver's start and end."""
        return self.seconds * (2 if self.events is None else _SLOWEST_MACHINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The work of one start of the driver: a set at a size, or a run of clients.

    ``set`` is the name under which the task is measured. It differs from ``suite_set`` if an
    experiment has several numbers of threads. ``seed`` is that of the random values that an
    embedded DBMS's driver makes, None if they are always the same. ``order`` is a number from which
    a driver may derive in which order clients do what they do.
    """

    set: str
    size: int = 0
    run: ClientRun | None = None
    seed: int | None = None
    order: int = 0

    @property
    def suite_set(self) -> str:
        """The name of the set in the suite's file."""
        return self.set.partition(THREADS_SIGN)[0]

    def with_seed(self, seed: int) -> Task:
        """Return the task on other random data."""
        if self.run is None:
            return dataclasses.replace(self, seed=seed)
        return self._with_run(data=self.run.data.with_seed(seed))

    def in_order(self, order: int) -> Task:
        """Return the task with the number from which its order follows."""
        return dataclasses.replace(self, order=order)

    def with_materials(self, folder: Path) -> Task:
        """Return the task, whose clients find their files in the folder."""
        assert self.run is not None
        return self._with_run(data=self.run.data.with_materials(folder))

    def with_seconds(self, seconds: float | None) -> Task:
        """Return the task with a run of this many seconds; unchanged with None or without a run."""
        if self.run is None or seconds is None:
            return self
        return self._with_run(seconds=seconds)

    def with_share_of_time(self, share: float) -> Task:
        """Return the task with its seconds multiplied: whole seconds, at least one.

        A task that ends by itself is unchanged.
        """
        if self.run is None or self.run.events is not None:
            return self
        return self._with_run(seconds=max(1.0, float(round(self.run.seconds * share))))

    def _with_run(self, **changes: object) -> Task:
        assert self.run is not None
        return dataclasses.replace(self, run=dataclasses.replace(self.run, **changes))  # type: ignore[arg-type]


def plain(value: object) -> object:
    """Return a value of a task as dicts, lists, strings and numbers, of which a digest can be made.

    A field that is at its default is left out, so that a new one changes no digest. What is not
    shown (``repr=False``) says where something is, and nothing of what is done. Of data its ``key``
    tells whether it changed.
    """
    if isinstance(value, DataSet):
        return {**_plain_fields(value), "key": list(value.key)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_fields(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value if isinstance(value, int | float | None) else str(value)


def _plain_fields(value: Any) -> dict[str, object]:
    own = {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if field.repr and getattr(value, field.name) != field.default
    }
    return {"kind": type(value).__name__, **{name: plain(each) for name, each in own.items()}}


def name_at_threads(name: str, threads: int) -> str:
    """Return the name of a set that is measured at several numbers of threads."""
    return f"{name}{THREADS_SIGN}{threads}"
