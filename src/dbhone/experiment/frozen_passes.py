"""Passes in short slices: the clients of all subjects stay connected, frozen but for one's.

A pass is rounds, a round one slice of each subject in random order, so that what is compared
lies tenths of a second apart, and a pass has many pairs instead of one.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import numpy as np

from dbhone.analysis.rounds import levels
from dbhone.analysis.warmup_detection import unsettled
from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.arena import ServerArena
from dbhone.experiment.contestant import SubjectSession
from dbhone.experiment.passes import Announce, FreshPasses, Pass, Passes, Turn
from dbhone.experiment.plan import round_order
from dbhone.experiment.run_result import RunResult, failed
from dbhone.experiment.slicing import Rounds, first_rounds, fitting_rounds
from dbhone.files import remove_tree
from dbhone.home import Session
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.conditions import between, read_conditions

_LOOKS = 3
"""Slices of each subject after which it is believed that a set's operations are slow, where that
is new: a single slice may fall into a moment in which the whole machine stood still."""
_NEW = 2.0
"""Slices would have to be this many times as long as before for it to be new."""


class FrozenPasses(Passes):
    """Measures some sets in short slices, the others by fresh drivers.

    A set of which too few operations end in a slice is one of the others from then on; one that
    was measured in slices before is so for the one pass. ``slow`` is told the set, and whether
    it is for good.
    """

    def __init__(
        self,
        arena: ServerArena,
        session: Session,
        sets: frozenset[str],
        seed: int,
        slow: Callable[[str, bool], None],
    ) -> None:
        super().__init__(arena)
        self._servers = arena
        self._session = session
        self._sets = set(sets)
        self._usual: dict[str, Rounds] = {}
        self._seed = seed
        self._slow = slow
        self._fresh = FreshPasses(arena)

    def turns(self, one: Pass, vigil: IdleInhibitor, announce: Announce) -> Iterator[Turn]:
        """Measure the pass; all of its turns are known at its end."""
        if one.set in self._sets:
            try:
                yield from self._frozen(one, vigil, announce)
                return
            except _TooSlow:
                lasting = one.set not in self._usual
                if lasting:
                    self._sets.remove(one.set)
                self._slow(one.set, lasting)
                self._servers.ready(one.subjects)  # one of them may have died meanwhile
        yield from self._fresh.turns(one, vigil, announce)

    def _frozen(self, one: Pass, vigil: IdleInhibitor, announce: Announce) -> list[Turn]:
        spun = vigil.cpu_seconds()
        started, before = datetime.now(UTC), read_conditions()
        usual = self._usual.get(one.set)
        with _FrozenPass(self._servers, self._session, one, self._seed, usual) as frozen:
            self._usual[one.set] = frozen.measure(announce)
            turnouts = frozen.turnouts()
            own = frozen.cpu_seconds + vigil.cpu_seconds() - spun
        conditions = between(before, read_conditions(), own_cpu_seconds=own)
        return [
            Turn(
                subject=name,
                position=position,
                started_at=started,
                turnout=turnouts[name],
                conditions=conditions,
            )
            for position, name in enumerate(one.subjects)
        ]


class _TooSlow(Exception):
    """Too few operations end in a slice of this set for slices to be short."""


class _FrozenPass:
    """One pass. Leaving it ends all clients."""

    def __init__(
        self, arena: ServerArena, session: Session, one: Pass, seed: int, usual: Rounds | None
    ) -> None:
        assert one.task.run is not None
        self._arena = arena
        self._one = one
        self._seed = seed
        self._seconds = one.task.run.seconds
        self._first = first_rounds(self._seconds)
        self._usual = usual or self._first
        self._folder = session.workdir("slices")
        self._stack = contextlib.ExitStack()
        self._contestants: dict[str, SubjectSession] = {}
        self._refused: dict[str, HoneError] = {}
        self._trials = 0

    def __enter__(self) -> _FrozenPass:
        self._stack.callback(remove_tree, self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for name, each in self._contestants.items():
            if isinstance(each.error, ServerError):
                self._arena.close(name)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all subjects' servers and clients in the pass."""
        return sum(each.cpu_seconds for each in self._contestants.values())

    def measure(self, announce: Announce) -> Rounds:
        """Connect all clients, measure round after round, let the clients end.

        Returns how the pass was cut. Raises _TooSlow.
        """
        for name in self._one.subjects:
            self._start(name)
        for each in self._contestants.values():
            each.connect()
        rounds = self._rounds(announce)
        for each in self._contestants.values():
            each.end()
        return rounds

    def _start(self, name: str) -> None:
        folder = self._folder / name
        folder.mkdir()
        try:
            client = self._arena.client(name, self._one.task, folder)
            running = self._arena.running(name)
        except (ServerError, DriverError) as error:
            self._refused[name] = error
            return
        self._stack.enter_context(client)
        self._contestants[name] = SubjectSession(
            name=name, client=client, running=running, task=self._one.task
        )

    def _rounds(self, announce: Announce) -> Rounds:
        began = time.monotonic()
        announce(self._one.subjects[0], 0)
        rounds, looks = self._looked(began)
        self._trials = 0 if rounds == self._first else looks
        total = rounds.count + self._trials
        for number in range(looks, total):
            done = number * len(self._one.subjects) // total
            announce(self._one.subjects[done], done)
            self._round(number, rounds, began)
        return rounds

    def _looked(self, began: float) -> tuple[Rounds, int]:
        """Measure rounds until it is known how the pass is cut; return that, and how many.

        One is enough where it is about as usual. Raises _TooSlow.
        """
        for looks in range(1, _LOOKS + 1):
            self._round(looks - 1, self._first, began)
            rounds = self._fitting()
            if rounds is not None and rounds.seconds < _NEW * self._usual.seconds:
                break
        if rounds is None:
            raise _TooSlow
        return rounds, looks

    def _fitting(self) -> Rounds | None:
        """Return how the pass is best cut, None if it had better not be."""
        known = [each for each in self._contestants.values() if each.error is None]
        rate = min((each.client_rate for each in known), default=math.inf)
        return fitting_rounds(self._first, self._seconds, rate)

    def _round(self, number: int, rounds: Rounds, began: float) -> None:
        order = round_order(self._seed, self._one.block, self._one.set, number, self._one.subjects)
        for position, name in enumerate(order):
            if name in self._contestants:
                self._contestants[name].slice(number, position, rounds.seconds, began)

    def turnouts(self) -> dict[str, RunResult]:
        """Return what came of each subject; levels are fitted to those that came to the end."""
        sound = [each for each in self._contestants.values() if each.error is None]
        logs = np.array([[each.log_rate for each in one.measured] for one in sound]).T
        left_out = self._trials
        found: list[float] = []
        if sound:
            left_out += unsettled(logs[self._trials :])
            found = list(levels(logs[left_out:]))
        fitted = dict(zip((each.name for each in sound), found, strict=True))
        turnouts = {name: RunResult(driven=failed(why)) for name, why in self._refused.items()}
        for name, each in self._contestants.items():
            turnouts[name] = each.turnout(left_out, fitted.get(name, 0.0))
            if each.sampler is not None:
                self._arena.doubt(name, each.sampler.trouble)
        return turnouts
