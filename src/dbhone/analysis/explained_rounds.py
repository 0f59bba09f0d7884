"""What two servers did in the rounds in which they are explained, and how an operation differs.

Rounds of the two servers are interleaved, so that a difference has an interval: Student's t over
the rounds' differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dbhone.analysis.estimate import CONFIDENCE, width

_STRICT = 0.99
"""For functions and the like, of which there are many, and some would differ by chance."""


class CodeOrigin(StrEnum):
    """Whose code is executed."""

    OWN = "the server's own code"
    LIBRARY = "libraries"
    KERNEL = "the kernel"


@dataclass(frozen=True, slots=True)
class Call:
    """A function on a stack. Of the kernel's functions the system call stands for all."""

    origin: CodeOrigin
    module: str
    function: str


class Work(StrEnum):
    """What a server's CPU time is told of."""

    OPERATION = "an operation"
    RUN = "a run"
    """Of a batch, from its client's start to its end."""


Stack = tuple[Call, ...]
"""Calls, the innermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds that the sessions of all clients waited in a round, and the other threads, by event.

    An event has the name that its DBMS gives it.
    """

    sessions: Mapping[str, float]
    background: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One server in one round: CPU in seconds, and how often each stack was sampled.

    Of a batch ``operations`` are its runs. ``seconds`` is how long the round took, ``client`` the
    CPU time of the clients in it. ``waits`` is None if the server was not asked.
    """

    operations: int
    seconds: float
    cpu: float
    client: float
    stacks: Mapping[Stack, int]
    waits: Waits | None = None

    def waiting(self, threads: int) -> float:
        """Return what an operation takes besides CPU time, in seconds, with so many clients."""
        return max(0.0, (self.seconds * threads - self.cpu - self.client) / self.operations)

    @property
    def cpu_per_sample(self) -> float:
        """The seconds of CPU of an operation for which a sample stands."""
        return self.cpu / self.operations / max(1, sum(self.stacks.values()))

    def per_operation(self, of: Callable[[Stack], str]) -> dict[str, float]:
        """Return the seconds of CPU of an operation for each name that ``of`` gives a stack."""
        counts = Counter[str]()
        for stack, count in self.stacks.items():
            counts[of(stack)] += count
        scale = self.cpu_per_sample
        return {name: count * scale for name, count in counts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over rounds, in seconds per operation, and half of its interval."""

    value: float
    half: float

    @property
    def is_certain(self) -> bool:
        """Whether the interval misses 0."""
        return abs(self.value) > self.half


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an operation takes the two servers for one thing, and how much more the subject."""

    name: str
    base: Mean
    subject: Mean
    more: Mean


def difference(
    name: str, base: Sequence[float], subject: Sequence[float], *, confidence: float = CONFIDENCE
) -> Difference:
    """Return how something differs that has a value in each round of both servers."""
    more = np.asarray(subject) - np.asarray(base)
    return Difference(
        name=name,
        base=_mean(np.asarray(base), confidence),
        subject=_mean(np.asarray(subject), confidence),
        more=_mean(more, confidence),
    )


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]], confidence: float) -> Mean:
    if len(values) < 2:
        return Mean(value=float(values.mean()), half=float("inf"))
    half = width(len(values), confidence) * float(values.std(ddof=1))
    return Mean(value=float(values.mean()), half=half)


def differences(
    base: Sequence[Mapping[str, float]], subject: Sequence[Mapping[str, float]]
) -> list[Difference]:
    """Return how each of many things differs that has a value in some round; elsewhere it is 0."""
    names = dict.fromkeys(name for values in (*base, *subject) for name in values)
    return [
        difference(
            name,
            [values.get(name, 0.0) for values in base],
            [values.get(name, 0.0) for values in subject],
            confidence=_STRICT,
        )
        for name in names
    ]


def certain(found: Iterable[Difference]) -> list[Difference]:
    """Return those that certainly differ, those that differ most first."""
    those = (it for it in found if it.more.is_certain)
    return sorted(those, key=lambda it: -abs(it.more.value))
