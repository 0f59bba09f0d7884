"""How a pass is measured: one set on all subjects, side by side.

The plain way is a driver process of its own for each subject, one right after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from dbhone.experiment.arena import Arena
from dbhone.experiment.run_result import RunResult
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.conditions import between, read_conditions
from dbhone.workload.work import Task

Announce = Callable[[str, int], None]
"""Tells whose slice begins, and how many of the pass's subjects are done by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One set on all subjects, in this order. ``timeout`` is for what one subject does."""

    block: int
    set: str
    task: Task
    subjects: tuple[str, ...]
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one subject did in a pass. ``conditions`` are what the machine did meanwhile."""

    subject: str
    position: int
    started_at: datetime
    turnout: RunResult
    conditions: dict[str, float]


class Passes(ABC):
    """A way to measure passes in an arena that is open."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena

    @abstractmethod
    def turns(self, one: Pass, vigil: IdleInhibitor, announce: Announce) -> Iterator[Turn]:
        """Measure a pass; yield each subject's turn as soon as it is known.

        ``vigil`` tells what CPU time keeping CPUs awake takes meanwhile.
        """


class FreshPasses(Passes):
    """Each subject is asked once, by a driver that is started for it."""

    def turns(self, one: Pass, vigil: IdleInhibitor, announce: Announce) -> Iterator[Turn]:
        """Ask one subject after the other."""
        for position, name in enumerate(one.subjects):
            announce(name, position)
            self.arena.prepare(name)
            spun = vigil.cpu_seconds()
            started, before = datetime.now(UTC), read_conditions()
            turnout = self.arena.slice(name, one.task, one.timeout)
            own = turnout.cpu_seconds + vigil.cpu_seconds() - spun
            yield Turn(
                subject=name,
                position=position,
                started_at=started,
                turnout=turnout,
                conditions=between(before, read_conditions(), own_cpu_seconds=own),
            )
