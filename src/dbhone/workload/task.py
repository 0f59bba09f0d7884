"""What a driver is asked for, as values: tasks, runs, and the data that they need.

What is loaded, and what clients do, are each driver's own values; hone only knows what all have.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dbhone.workload.suite import Regime

_THREADS = "@"
_FAR_TOO_LONG = 100
"""By which factor the slowest machine and server may miss what a suite says of itself."""
D = TypeVar("D", bound="DataSet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a suite is in one experiment: a named size, and what is said besides.

    None takes the size's own value. ``seconds`` holds for reading and writing steps alike.
    ``data`` replaces what the size says of the data, by the driver's own keys.
    """

    size: str
    regime: Regime = Regime.CACHED
    threads: tuple[int, ...] | None = None
    seconds: float | None = None
    cache_bytes: int | None = None
    data: Mapping[str, int] = field(default_factory=dict)


class DataSet(ABC):
    """The data that a server is loaded with: a frozen dataclass of the driver's own.

    ``seed`` is that of the random values, None where the data is always the same.
    """

    seed: int | None

    @property
    @abstractmethod
    def label(self) -> str:
        """What is loaded, for people, such as ``4 × 100,000 rows``."""

    @property
    @abstractmethod
    def key(self) -> tuple[str | int, ...]:
        """What tells loaded data from other data of this driver, the seed aside."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """How much there is, in a unit of the driver's own: only ratios are used."""

    @property
    def loaders(self) -> int:
        """How many clients load it at once."""
        return 1

    def seeded(self: D, seed: int) -> D:
        """Return the same amount of other random data."""
        return dataclasses.replace(self, seed=seed)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a server's driver: by so many clients, for so many seconds.

    ``job`` is what the clients do, a value of the driver's own. With ``events`` it is done so
    often, however long that takes, and ``seconds`` is about how long.
    """

    job: object
    threads: int
    seconds: float
    data: DataSet
    events: int | None = None

    @property
    def patience(self) -> float:
        """After how many seconds it hangs, the driver's start and end not counted."""
        return self.seconds * (2 if self.events is None else _FAR_TOO_LONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one start of the driver is asked for: a set at a size, or a run.

    ``set`` is the name under which it is measured, ``source`` the set of the suite's file;
    they differ when a run has several numbers of threads. ``seed`` is that of the random values
    that an embedded DBMS's driver makes, None where they are always the same.
    """

    set: str
    size: int = 0
    run: Run | None = None
    seed: int | None = None

    @property
    def source(self) -> str:
        """The set of the suite's file."""
        return self.set.partition(_THREADS)[0]

    def seeded(self, seed: int) -> Task:
        """Return the task on other random data."""
        if self.run is None:
            return dataclasses.replace(self, seed=seed)
        return self._with_run(data=self.run.data.seeded(seed))

    def lasting(self, seconds: float | None) -> Task:
        """Return the task as it asks for so many seconds; as it is with None, or without a run."""
        if self.run is None or seconds is None:
            return self
        return self._with_run(seconds=seconds)

    def prolonged(self, share: float) -> Task:
        """Return the task with its time multiplied, in whole seconds, at least one.

        What ends by itself is as it was.
        """
        if self.run is None or self.run.events is not None:
            return self
        return self._with_run(seconds=max(1.0, float(round(self.run.seconds * share))))

    def _with_run(self, **changes: object) -> Task:
        assert self.run is not None
        return dataclasses.replace(self, run=dataclasses.replace(self.run, **changes))  # type: ignore[arg-type]


def at_threads(name: str, threads: int) -> str:
    """Return what a set is called when it is measured at several numbers of threads."""
    return f"{name}{_THREADS}{threads}"
