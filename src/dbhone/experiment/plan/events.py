"""What an execution tells while it works. The core never prints; it calls a listener.

``left`` is how many seconds are left at most, None where that is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


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
