"""The interface of workload drivers. A driver returns command lines and reads output; no more."""

from __future__ import annotations

import itertools
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dbhone import registry
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError
from dbhone.refusals import in_words
from dbhone.requirements import Requirement
from dbhone.workload.drivers._answers import read_answers
from dbhone.workload.task import ClientRun, DataSet, Task

DRAWER = "dbhone.workload.drivers"
INTERVAL = 1
"""The length of an interval of ``StepResult.interval_rates``, in whole seconds."""
SHORTEST_WITH_INTERVALS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRequest:
    """One start of a driver: its program, its task, and the database.

    ``database`` is the file to make, or the endpoint of a server. With ``verify`` the driver
    digests its results and is not timed.
    """

    program: Path
    task: Task
    database: Path | Endpoint
    verify: bool = False

    @property
    def run(self) -> ClientRun:
        """The run of clients. Raises DriverError if the task has none."""
        if self.task.run is None:
            raise DriverError(f"the set {self.task.set} is not a run of clients")
        return self.task.run

    @property
    def endpoint(self) -> Endpoint:
        """The server. Raises DriverError for a file."""
        if isinstance(self.database, Path):
            raise DriverError(f"only servers are driven, and {self.database} is a file")
        return self.database


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of output, and what the program had used when it arrived.

    The last one has no data: it is the program's end.
    ``at`` is monotonic time in seconds; the program had been paused for ``paused`` seconds by then.
    ``cpu_seconds``, ``instructions`` and ``peak_memory_bytes`` are since the program began; None
    where they cannot be known.
    """

    data: bytes
    at: float
    cpu_seconds: float | None = None
    instructions: float | None = None
    peak_memory_bytes: float | None = None
    paused: float = 0.0


def text_of(transcript: Iterable[Chunk]) -> str:
    """Return the output as text, undecodable bytes replaced."""
    return b"".join(chunk.data for chunk in transcript).decode("utf-8", "replace")


def difference(end: float | None, begin: float | None) -> float | None:
    """Return what a step used, by what its program had used; None where that is not known."""
    if end is None or begin is None or end <= begin:
        return None
    return end - begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long the operations of a step took, in seconds, by percentiles."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, histogram: tuple[tuple[float, int], ...]) -> Latency:
        """Return the percentiles of a histogram, as sysbench computes them (sb_histogram.c).

        It has the latency that stands for each bucket that is not empty and the bucket's number of
        operations, in ascending order.
        """
        ranks = tuple(itertools.accumulate(count for _, count in histogram))

        def percentile(wanted: int) -> float:
            rank = int(ranks[-1] * wanted / 100 + 0.5)
            seen = zip(histogram, ranks, strict=True)
            return next(value for (value, _), upto in seen if upto >= rank)

        return cls(p50=percentile(50), p95=percentile(95), p99=percentile(99))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of one step; its seconds are more than zero.

    ``operations`` were finished in these seconds. ``cpu_seconds``, ``instructions`` and
    ``peak_memory_bytes`` are those of an embedded DBMS, which runs in the driver's process.
    ``interval_rates`` has the operations per second of each interval that the driver reported.
    The first interval began at ``intervals_began``, in monotonic time. A ``part`` is one kind of
    statement of operations that are a step as a whole: its seconds are client time.
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
    interval_rates: tuple[float, ...] = ()
    intervals_began: float = 0.0
    part: bool = False

    @property
    def throughput(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds

    @property
    def refused_share(self) -> float:
        """The share of what was asked that failed."""
        asked = self.operations + self.errors
        return self.errors / asked if asked else 0.0


def part_results(keys: Sequence[str], counts: Iterable[Sequence[float]]) -> tuple[StepResult, ...]:
    """Return the results of those parts that were executed.

    For each key ``counts`` has the executions that succeeded, the seconds of clients that they
    took, and how many others failed.
    """
    return tuple(
        StepResult(
            key=key, title=key, seconds=seconds, operations=count, errors=int(failed), part=True
        )
        for key, (count, seconds, failed) in zip(keys, counts, strict=True)
        if count and seconds
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverReport:
    """The figures in a driver's output, and the ``version`` that the DBMS gives of itself, if any.

    ``verification`` is the digest of the driver's results, None unless it was requested.
    """

    version: str | None
    steps: tuple[StepResult, ...]
    verification: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """Files that clients read, made once and kept for as long as ``what`` stays the same.

    ``write`` fills an empty folder with them. ``doing`` says in words what that is.
    """

    what: tuple[str | int, ...]
    doing: str
    write: Callable[[Path], None]


class Driver(ABC):
    """A program that runs a workload on a subject.

    ``data_keys`` are the keys by which an experiment may change what is loaded.
    """

    name: str
    data_keys: frozenset[str] = frozenset()

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that the program needs."""
        return {}

    def sets(self, suite: tuple[str, ...], tree: Path) -> tuple[str, ...]:
        """Return those of a suite's sets that run on the DBMS of this source tree: usually all."""
        del tree
        return suite

    @abstractmethod
    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command line."""

    @abstractmethod
    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return the figures in the output. Raises DriverError for output that makes no sense."""

    def can_pause(self, task: Task) -> bool:
        """Return whether the driver may be paused while it executes a task.

        A server's clients then count what they do, and neither ``argv`` nor ``read`` is called;
        ``read`` of an embedded driver leaves pauses out of the steps' times.
        """
        del task
        return False

    def counting_argv(self, request: DriverRequest, counts: Path) -> tuple[str, ...]:
        """Return the command line of a run whose clients count in this file, see ``counting.py``.

        The run lasts until the file says that it ends. Raises DriverError if it cannot count.
        """
        raise DriverError(f"{self.name} cannot count {request.task.set} in {counts}")

    def begins_step(self, line: str) -> bool:
        """Return whether a line of output, maybe not yet a whole one, tells that a step begins.

        Only an embedded driver that can be paused is asked.
        """
        del line
        return False

    def distinct_events(self, task: Task) -> int | None:
        """Return how many events a task has, about, before one comes again, None if none does."""
        del task
        return None

    def error_in_output(self, printed: str) -> DriverError | None:
        """Return the driver's own error in its output, with a hint where the cause is known.

        None if the output has no error that this driver knows.
        """
        del printed
        return None


def source_text(file: Path) -> str:
    """Return the driver's own source in a tree, which tells what it can. Raises DriverError."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DriverError(f"the source tree has no {file.name}: {error.strerror}") from error


class EmbeddedDriver(Driver):
    """A driver that is linked with the DBMS and part of its build.

    ``artifact`` is the name of the driver's program among the build's files. One that is
    ``single_threaded``, the DBMS in it included, is kept on one CPU while it is measured.
    """

    artifact: str
    single_threaded: bool = False


class ServerDriver(Driver):
    """A driver that is a client of a server.

    ``program`` is an installed program, and ``package`` the package that has it. With a ``module``,
    the folder of a Go module, ``program`` is the go that builds the driver's own.
    """

    program: str
    package: str
    module: Path | None = None

    def installed(self) -> str | None:
        """Return the path of the program, None if it is not installed."""
        return shutil.which(self.program)

    @property
    def requirement(self) -> Requirement:
        """What must be installed."""
        return Requirement(name=self.program, package=self.package)

    @abstractmethod
    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> DataSet:
        """Return the data that is loaded for ``keys``, those of a suite's size and an experiment.

        ``scripts`` is the suite's folder of scripts. Raises UsageError for an unknown or wrong key.
        """

    @abstractmethod
    def job(self, keys: Mapping[str, Any]) -> object:
        """Return what clients do, by the ``keys`` of a suite's set: a frozen value.

        Raises UsageError for an unknown or wrong key.
        """

    def argv(self, request: DriverRequest) -> tuple[str, ...]:
        """Return the command line of a run whose output ``read`` reads.

        Only a driver whose clients do not count has one, see ``can_pause``. Raises DriverError
        otherwise.
        """
        raise DriverError(f"{self.name} has no output that tells the figures of {request.task.set}")

    def read(self, request: DriverRequest, transcript: tuple[Chunk, ...]) -> DriverReport:
        """Return the figures in the output. Raises DriverError for output that makes no sense."""
        del transcript
        raise DriverError(f"{self.name} has no output that tells the figures of {request.task.set}")

    def materials(self, data: DataSet) -> Materials | None:
        """Return what must be written before clients start, None if nothing must."""
        del data
        return None

    @abstractmethod
    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command line that loads the data."""

    def statements_before(self, data: DataSet) -> tuple[str, ...]:
        """Return the statements that the server must be told before this command; usually none."""
        del data
        return ()

    def load_input(self, data: DataSet) -> Path | None:
        """Return the file that this command reads from its standard input, None if it reads none.

        hone opens it, so that only hone needs to be able to.
        """
        del data
        return None

    @abstractmethod
    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        """Return the files that decide what is loaded; kept data is valid until they change."""

    def run_scripts(self, task: Task) -> tuple[Path, ...]:
        """Return the files that decide what clients do; a training is valid until they change."""
        del task
        return ()

    def readable(self, data: DataSet) -> tuple[Path, ...]:
        """Return the files and folders that clients read, besides their program."""
        del data
        return ()

    @abstractmethod
    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        """Return the command that lets the server finish work that a load or writes left behind."""

    @abstractmethod
    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        """Return the command that checks consistency and prints known answers.

        Its output depends on the data alone: two correct servers print the same.
        """

    def check(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...] | None:
        """Return the command that checks the data once clients have changed it, None without one.

        What it prints is read as answers are.
        """
        del program, endpoint, data
        return None

    def answers(self, printed: str) -> dict[str, str]:
        """Return the digest of each printed answer. Raises DriverError if a check failed."""
        return read_answers(printed, self.name)

    def refusals(self, printed: str, data: DataSet) -> str | None:
        """Return in words what a server refused while it was verified, None if nothing.

        Only where a workload was recorded can that be: a driver's own statements must succeed.
        """
        del printed, data
        return None


D = TypeVar("D", bound=Driver)
M = TypeVar("M", bound=BaseModel)


def load_driver(name: str) -> Driver:
    """Return the driver ``name``. Raises UnknownName."""
    return registry.load(DRAWER, name, Driver, what="driver")


def load_driver_of(kind: type[D], name: str) -> D:
    """Return the driver ``name``, which is of this kind. Raises UnknownName."""
    return registry.load(DRAWER, name, kind, what="driver")


class Keys(BaseModel):
    """The keys of a driver's own in a suite or an experiment; no others may be there."""

    model_config = ConfigDict(extra="forbid")


def validated(model: type[M], keys: Mapping[str, Any], driver: str) -> M:
    """Return the ``keys`` of a suite or an experiment as the driver's own model.

    Raises UsageError that names the first unknown or wrong key.
    """
    try:
        return model.model_validate(dict(keys))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{driver}: '{key}' is invalid: {in_words(first)}") from None
