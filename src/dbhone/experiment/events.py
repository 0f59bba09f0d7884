"""What an execution tells while it works. The core never prints; it calls a listener.

``left`` is how many seconds are left at most, None where that is unknown.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias


class Stage(StrEnum):
    """The stages of a run, in order."""

    CHECK = "check"
    SOURCE = "source"
    BUILD = "build"
    TRAIN = "train"
    VERIFY = "verify"
    CALIBRATE = "calibrate"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A piece of work began: number ``number`` of ``total`` in its stage.

    ``expected`` is about how many seconds it takes, None if unknown.
    """

    stage: Stage
    what: str
    number: int
    total: int
    expected: float | None
    left: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A piece of work ended. ``reused`` says that it had been done before."""

    stage: Stage
    what: str
    seconds: float
    reused: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What is being done within a piece of work."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that the user should read now."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationStarted:
    """An invocation of the driver began: ``number`` of ``total`` in its block."""

    block: int
    set: str
    subject: str
    number: int
    total: int
    left: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEnded:
    """A block is complete.

    ``typical`` and ``widest`` are half-widths of the effects' intervals, as fractions: half of
    the effects are known to within the one, all to within the other.
    """

    block: int
    seconds: float
    typical: float | None
    widest: float | None
    target: float
    left: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitBegan:
    """Another hone has this machine: nothing is done, and no time of the budget passes."""

    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEnded:
    """This hone has the machine again."""


Event: TypeAlias = (
    Began | Ended | Detail | Note | InvocationStarted | BlockEnded | WaitBegan | WaitEnded
)
Listener: TypeAlias = Callable[[Event], None]


class Announced(Protocol):
    """A step of a plan, as far as a listener is told of it."""

    @property
    def stage(self) -> Stage:
        """The stage that it belongs to."""

    @property
    def label(self) -> str:
        """What is done, for people."""


@dataclass(slots=True, kw_only=True)
class StepReport:
    """What is reported when a step ends: whether its result existed, and what else is known."""

    reused: bool = False
    note: str = ""
    seconds: float = 0.0


class StepReporter:
    """Tells a listener of the beginning and the end of each step of a plan.

    ``clock`` returns seconds; ``left`` the seconds that are left at most, None if unknown.
    """

    def __init__(
        self,
        listen: Listener,
        steps: Sequence[Announced],
        *,
        clock: Callable[[], float] = time.monotonic,
        left: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._listen = listen
        self._totals = Counter(step.stage for step in steps)
        self._begun: Counter[Stage] = Counter()
        self._clock = clock
        self._left = left

    @contextlib.contextmanager
    def step(self, step: Announced, expected: float | None = None) -> Iterator[StepReport]:
        """Tell that a step begins, and that it ends unless it fails.

        ``expected`` is about how many seconds it takes. The caller fills in the report.
        """
        self._begun[step.stage] += 1
        self._listen(
            Began(
                stage=step.stage,
                what=step.label,
                number=self._begun[step.stage],
                total=self._totals[step.stage],
                expected=expected,
                left=self._left(),
            )
        )
        report, began = StepReport(), self._clock()
        yield report
        report.seconds = self._clock() - began
        self._listen(
            Ended(
                stage=step.stage,
                what=step.label,
                seconds=report.seconds,
                reused=report.reused,
                note=report.note,
            )
        )
