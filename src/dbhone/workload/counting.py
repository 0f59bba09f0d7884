"""Counts that a driver's clients keep in a file while they run, so that hone can read them.

Each client is a thread of the driver and has a slot of its own, in cache lines of its own. To
count costs it two clock readings and a few stores, and the server nothing. The scripts'
side is ``suites/sysbench/scripts/counting.lua``, which has the same figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dbhone.errors import DriverError, MachineError, disk_full
from dbhone.workload.drivers.base import DriverReport, Latency, StepResult, part_results

_BUCKETS, _SHORTEST, _LONGEST = 1024, 1e-6, 100.0
"""Latencies, in seconds, are counted in buckets of equal ratio, 1.8 % wide, as sysbench's own."""
_HEAD = np.dtype([("generation", "f8"), ("ending", "f8"), ("rest", "V48")])
_SLOT = np.dtype(
    [
        ("ready", "f8"),
        ("finished", "f8"),
        ("refused", "f8"),
        ("open", "f8"),
        ("rest", "V32"),
        ("buckets", "u4", _BUCKETS),
    ]
)

_MOST_EVENTS = 1e15
_PART = np.dtype([("finished", "f8"), ("seconds", "f8"), ("failed", "f8")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What all clients together counted, from their start or between two readings.

    It was counted in ``seconds``, until ``at`` in monotonic time. ``finished`` are the events that
    ended and were not paused on their way; ``refused`` the events that the server undid;
    ``buckets`` holds the finished ones by latency. ``parts`` has a row for each part of events:
    how many were finished, the seconds that they took, and how many failed.
    """

    at: float
    seconds: float
    finished: int
    refused: int
    buckets: NDArray[np.int64]
    parts: NDArray[np.float64]

    @classmethod
    def of(cls, pieces: Sequence[Counts]) -> Counts:
        """Return what was counted in all of these pieces of time together; there is one or more."""
        return cls(
            at=pieces[-1].at,
            seconds=sum(piece.seconds for piece in pieces),
            finished=sum(piece.finished for piece in pieces),
            refused=sum(piece.refused for piece in pieces),
            buckets=np.sum([piece.buckets for piece in pieces], axis=0),
            parts=np.sum([piece.parts for piece in pieces], axis=0),
        )

    def report(self, title: str, parts: Sequence[str]) -> DriverReport:
        """Return it as a step of this title, and the ``parts``, by their keys, as theirs."""
        step = StepResult(
            key="",
            title=title,
            seconds=self.seconds,
            operations=float(self.finished),
            errors=self.refused,
            latency=_latency_of(self.buckets),
        )
        of_parts = part_results(parts, self.parts.tolist())
        return DriverReport(version=None, steps=(step, *of_parts), verification=None)

    def since(self, before: Counts) -> Counts:
        """Return what was counted since an earlier reading of the same file."""
        return Counts(
            at=self.at,
            seconds=self.at - before.at,
            finished=self.finished - before.finished,
            refused=self.refused - before.refused,
            buckets=self.buckets - before.buckets,
            parts=self.parts - before.parts,
        )


class CountFile:
    """The file of one execution of a driver: this many clients, whose events have ``parts``.

    All counts are zero. Raises MachineError if it cannot be made.
    """

    def __init__(self, path: Path, clients: int, parts: int = 0) -> None:
        self.path = path
        self.clients = clients
        self._made_at = time.monotonic()
        self._cut = 0
        # Written, and not only made long: what is mapped later must have its place on the disk.
        try:
            slots_end = _HEAD.itemsize + clients * _SLOT.itemsize
            path.write_bytes(bytes(slots_end + clients * parts * _PART.itemsize))
            mapped = np.memmap(path, dtype=np.uint8, mode="r+")
        except OSError as error:
            full = disk_full(error, "making the file of counts")
            raise full or MachineError(f"cannot make {path}: {error.strerror}") from error
        self._head = mapped[: _HEAD.itemsize].view(_HEAD)
        self._slots = mapped[_HEAD.itemsize : slots_end].view(_SLOT)
        self._parts = mapped[slots_end:].view("f8").reshape(clients, parts, _PART.itemsize // 8)

    def remove(self) -> None:
        """Remove the file; what has mapped it still uses it."""
        self.path.unlink(missing_ok=True)

    @property
    def ready(self) -> int:
        """How many clients are connected and wait for the first generation, or are past it.

        Raises DriverError for nonsense.
        """
        return _whole(self._slots["ready"])

    def begin(self) -> None:
        """Begin another generation, while all clients are paused.

        Events that are under way count no longer.
        """
        self._cut += self.under_way()
        self._head["generation"] += 1

    def end(self) -> None:
        """Tell the clients to end after the event that is under way."""
        self._head["ending"] = 1

    def finished(self) -> int:
        """Return how many events were finished so far. Raises DriverError for nonsense."""
        return _whole(self._slots["finished"])

    def under_way(self) -> int:
        """Return how many events have begun and not ended. Raises DriverError for nonsense."""
        return _whole(self._slots["open"])

    def ended(self) -> int:
        """Return how many events ended so far, those that the server undid included."""
        return self.finished() + _whole(self._slots["refused"])

    def executed(self) -> int:
        """Return how many events were executed so far: those that count, and those that were cut.

        The last are under way when another generation begins.
        """
        return self.finished() + self._cut

    def read(self) -> Counts:
        """Return the counts now. The time is that of ``finished``; the rest is read after it.

        Raises DriverError for nonsense.
        """
        at, finished = time.monotonic(), self.finished()
        parts = self._parts.sum(axis=0)
        for amount in parts.ravel():
            _whole(amount)
        return Counts(
            at=at,
            seconds=at - self._made_at,
            finished=finished,
            refused=_whole(self._slots["refused"]),
            buckets=self._slots["buckets"].sum(axis=0, dtype=np.int64),
            parts=parts,
        )


def _whole(counts: NDArray[np.float64] | np.float64) -> int:
    """Return the sum of counts that another process writes, which may be taken over."""
    total = float(np.sum(counts))
    if not 0 <= total < _MOST_EVENTS:
        raise DriverError("the driver counted what no driver can: its file of counts is damaged")
    return int(total)


def _latency_of(buckets: NDArray[np.int64]) -> Latency | None:
    """Return the latencies in buckets as ``Counts`` has them, None if there are none."""
    histogram = tuple((_middle(int(at)), int(buckets[at])) for at in np.flatnonzero(buckets))
    return Latency.of(histogram) if histogram else None


def _middle(at: int) -> float:
    """Return the latency that stands for a bucket, in seconds: its middle by ratio."""
    share = (at + 0.5) / _BUCKETS
    return _SHORTEST * math.exp(share * math.log(_LONGEST / _SHORTEST))
