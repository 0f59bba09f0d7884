"""What a workload driver declares. A driver gives an argv and reads a transcript; no more."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dbhone import registry
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError
from dbhone.workload.task import DataSet, Run, Task

DRAWER = "dbhone.workload.drivers"
INTERVAL = 1
"""The whole seconds of an interval of ``StepResult.series``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRequest:
    """What to drive: the program, what it is asked for, and where.

    ``where`` is the database file to make, or how to reach a server. With ``verify`` the
    driver proves its results instead of racing.
    """

    program: Path
    task: Task
    where: Path | Endpoint
    verify: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of output, and what the program had used when it arrived.

    The last one has no data: it is the program's end.
    ``at`` is monotonic time in seconds. ``cpu_seconds``, ``instructions`` and
    ``peak_memory_bytes`` are since the program began; None where they cannot be known.
    """

    data: bytes
    at: float
    cpu_seconds: float | None
    instructions: float | None
    peak_memory_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long the operations of a step took, in seconds.

    ``histogram`` has the latency that stands for each bucket that is not empty and the
    bucket's number of operations, in ascending order.
    """

    p50: float
    p95: float
    p99: float
    histogram: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, histogram: tuple[tuple[float, int], ...]) -> Latency:
        """Return the latency with its percentiles, as sysbench computes them (sb_histogram.c)."""
        ranks = tuple(itertools.accumulate(count for _, count in histogram))

        def percentile(wanted: int) -> float:
            rank = int(ranks[-1] * wanted / 100 + 0.5)
            seen = zip(histogram, ranks, strict=True)
            return next(value for (value, _), upto in seen if upto >= rank)

        return cls(p50=percentile(50), p95=percentile(95), p99=percentile(99), histogram=histogram)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step as the driver ran it; seconds are more than zero.

    ``operations`` were finished in these seconds. ``cpu_seconds``, ``instructions`` and
    ``peak_memory_bytes`` are those of an embedded DBMS, which runs in the driver's process.
    ``series`` has the operations per second of each interval that the driver reported, the
    first of which began at ``series_began``, in monotonic time.
    """

    key: str
    title: str
    seconds: float
    cpu_seconds: float | None = None
    instructions: float | None = None
    peak_memory_bytes: float | None = None
    operations: float = 1.0
    errors: int = 0
    latency: Latency | None = None
    series: tuple[float, ...] = ()
    series_began: float = 0.0

    @property
    def throughput(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a transcript says. ``version`` is the DBMS's own word for what it is, if it says.

    ``verification`` digests the results that the driver got, None unless it was asked to.
    """

    version: str | None
    steps: tuple[StepResult, ...]
    verification: str | None


class Driver(ABC):
    """A program that drives a subject.

    ``data_keys`` are the keys by which an experiment may change what is loaded.
    """

    name: str
    data_keys: frozenset[str] = frozenset()

    @abstractmethod
    def sets(self, suite: tuple[str, ...], tree: Path) -> tuple[str, ...]:
        """Return which of a suite's sets can be driven on the DBMS of this source tree."""

    @abstractmethod
    def argv(self, order: DriverRequest) -> tuple[str, ...]:
        """Return the command line."""

    @abstractmethod
    def read(self, order: DriverRequest, transcript: tuple[Chunk, ...]) -> Outcome:
        """Return what the output says; raise DriverError for any that it cannot mean."""

    def counts(self, run: Run) -> bool:
        """Return whether the clients of such a run can count what they do while they do it."""
        del run
        return False

    def complaint(self, printed: str) -> DriverError | None:
        """Return what went wrong, with what to do if that is known, by the driver's own words.

        None if it complains of nothing that is known to be a complaint.
        """
        del printed
        return None


class EmbeddedDriver(Driver):
    """A driver that is linked with the DBMS and part of its build.

    ``artifact`` names the build's file that is the program.
    """

    artifact: str


class ServerDriver(Driver):
    """A driver that is a client of a server, a program of the machine's own.

    ``package`` is what brings it.
    """

    program: str
    package: str

    @abstractmethod
    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> DataSet:
        """Return the data that ``keys`` of a suite's size and of an experiment ask for.

        ``scripts`` is the suite's folder of scripts. Raises UsageError for keys that mean nothing.
        """

    @abstractmethod
    def job(self, keys: Mapping[str, Any]) -> object:
        """Return what clients do, by the ``keys`` of a suite's set: a frozen value.

        Raises UsageError for keys that mean nothing.
        """

    def counted(self, order: DriverRequest, counts: Path) -> tuple[str, ...]:
        """Return the command line of a run whose clients count in this file, see ``counting.py``.

        It goes on until it is told to end. Raises DriverError for what it does not count.
        """
        raise DriverError(f"{self.name} cannot count {order.task.set} in {counts}")

    @abstractmethod
    def load(self, program: Path, where: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command line that loads the data."""

    @abstractmethod
    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the files that decide what is loaded: loaded data is kept for as long as they
        stay the same."""

    @abstractmethod
    def settle(self, program: Path, where: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return what makes the server finish the work that a load or writes left behind."""

    @abstractmethod
    def verify(self, program: Path, where: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return what asks for known answers and prints them, consistency checks included.

        What it does depends on the data alone: two sound servers print the same.
        """

    @abstractmethod
    def verification(self, printed: str) -> str:
        """Return the digest of the answers; raise DriverError if a check found damage."""


D = TypeVar("D", bound=Driver)
M = TypeVar("M", bound=BaseModel)


def load_driver(name: str) -> Driver:
    """Return the driver ``name``. Raises UnknownName."""
    return registry.load(DRAWER, name, Driver, what="driver")


def load_driver_of(kind: type[D], name: str) -> D:
    """Return the driver ``name``, which is of this kind. Raises UnknownName."""
    return registry.load(DRAWER, name, kind, what="driver")


def validated(model: type[M], keys: Mapping[str, Any], driver: str) -> M:
    """Return a suite's or an experiment's ``keys`` as a driver's model reads them.

    Raises UsageError that names the first key that means nothing to the driver.
    """
    try:
        return model.model_validate(dict(keys))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{driver} cannot mean '{key}': {first['msg']}") from None
