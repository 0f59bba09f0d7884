"""What a workload driver declares. A driver gives an argv and reads a transcript; no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

DRAWER = "dbhone.workload.drivers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to drive: the program, the set at its size, and the database file to make.

    With ``verify`` the driver proves its results instead of racing.
    """

    program: Path
    set: str
    size: int
    database: Path
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
class StepResult:
    """One step as the driver ran it; seconds are more than zero."""

    key: str
    title: str
    seconds: float
    cpu_seconds: float | None
    instructions: float | None
    peak_memory_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a transcript says. ``version`` is the DBMS's own word for what it is.

    ``verification`` digests the results that the driver got, None unless it was asked to.
    """

    version: str
    steps: tuple[StepResult, ...]
    verification: str | None


class Driver(ABC):
    """A program that drives a subject."""

    name: str
    artifact: str
    """The name of the build's artifact that is the program."""

    @abstractmethod
    def sets(self, tree: Path) -> tuple[str, ...]:
        """Return the sets that the driver of this source tree has."""

    @abstractmethod
    def argv(self, order: Order) -> tuple[str, ...]:
        """Return the command line."""

    @abstractmethod
    def read(self, transcript: tuple[Chunk, ...]) -> Outcome:
        """Return what the output says; raise DriverError for any that it cannot mean."""
