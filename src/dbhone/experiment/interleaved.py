"""Passes in short slices: the clients of all subjects stay connected, frozen but for one's.

A pass is rounds, a round one slice of each subject in random order, so that what is compared
lies tenths of a second apart, and a pass has many pairs instead of one.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from dbhone.analysis.rounds import levels
from dbhone.analysis.warmup_detection import unsettled
from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.block_servers import BlockServers
from dbhone.experiment.order import round_order
from dbhone.experiment.slice_client import SubjectSession
from dbhone.experiment.slicing import Rounds, first_rounds, fitting_rounds
from dbhone.experiment.trial import Announce, Answer, SubjectResult, Trial, failed
from dbhone.files import remove_tree
from dbhone.home import Session
from dbhone.instance.idle_inhibitor import IdleInhibitor
from dbhone.measurement.conditions import between, read_conditions

_LOOKS = 3
"""Slices of each subject after which it is believed that a set's operations are slow, where that
is new: a single slice may fall into a moment in which the whole machine stood still."""
_NEW = 2.0
"""Slices would have to be this many times as long as before for it to be new."""


class InterleavedTrials:
    """Measures some sets in short slices.

    A set of which too few operations end in a slice is none of them from then on; one that was
    measured in slices before is so for the one trial. ``warn_of_slow`` is told the set, and
    whether it is for good.
    """

    def __init__(
        self,
        servers: BlockServers,
        session: Session,
        sets: frozenset[str],
        seed: int,
        warn_of_slow: Callable[[str, bool], None],
    ) -> None:
        self._servers = servers
        self._session = session
        self._sets = set(sets)
        self._usual: dict[str, Rounds] = {}
        self._seed = seed
        self._warn_of_slow = warn_of_slow

    def run(
        self, trial: Trial, inhibitor: IdleInhibitor, announce: Announce
    ) -> list[SubjectResult] | None:
        """Return the results of a trial, None if its set is not to be measured in slices."""
        if trial.set not in self._sets:
            return None
        try:
            return self._interleave(trial, inhibitor, announce)
        except _TooSlow:
            lasting = trial.set not in self._usual
            if lasting:
                self._sets.remove(trial.set)
            self._warn_of_slow(trial.set, lasting)
            self._servers.make_alike(trial.subjects)  # one of them may have died meanwhile
            return None

    def _interleave(
        self, trial: Trial, inhibitor: IdleInhibitor, announce: Announce
    ) -> list[SubjectResult]:
        spun = inhibitor.cpu_seconds()
        started_at, before = datetime.now(UTC), read_conditions()
        usual = self._usual.get(trial.set)
        with _InterleavedTrial(self._servers, self._session, trial, self._seed, usual) as running:
            self._usual[trial.set] = running.measure(announce)
            answers = running.answers()
            own = running.cpu_seconds + inhibitor.cpu_seconds() - spun
        conditions = between(before, read_conditions(), own_cpu_seconds=own)
        return [
            SubjectResult(
                subject=name,
                position=position,
                started_at=started_at,
                answer=answers[name],
                conditions=conditions,
            )
            for position, name in enumerate(trial.subjects)
        ]


class _TooSlow(Exception):
    """Too few operations end in a slice of this set for slices to be short."""


class _InterleavedTrial:
    """One trial. Leaving it ends all clients."""

    def __init__(
        self,
        servers: BlockServers,
        session: Session,
        trial: Trial,
        seed: int,
        usual: Rounds | None,
    ) -> None:
        assert trial.task.run is not None
        self._servers = servers
        self._trial = trial
        self._seed = seed
        self._seconds = trial.task.run.seconds
        self._first = first_rounds(self._seconds)
        self._usual = usual or self._first
        self._folder = session.workdir("slices")
        self._stack = contextlib.ExitStack()
        self._sessions: dict[str, SubjectSession] = {}
        self._refused: dict[str, HoneError] = {}
        self._trial_rounds = 0

    def __enter__(self) -> _InterleavedTrial:
        self._stack.callback(remove_tree, self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for name, each in self._sessions.items():
            if isinstance(each.error, ServerError):
                self._servers.close(name)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all subjects' servers and clients in the pass."""
        return sum(each.cpu_seconds for each in self._sessions.values())

    def measure(self, announce: Announce) -> Rounds:
        """Connect all clients, measure round after round, let the clients end.

        Returns how the pass was cut. Raises _TooSlow.
        """
        for name in self._trial.subjects:
            self._start(name)
        for each in self._sessions.values():
            each.connect()
        rounds = self._rounds(announce)
        for each in self._sessions.values():
            each.end()
        return rounds

    def _start(self, name: str) -> None:
        folder = self._folder / name
        folder.mkdir()
        try:
            client = self._servers.client(name, self._trial.task, folder)
            running = self._servers.running(name)
        except (ServerError, DriverError) as error:
            self._refused[name] = error
            return
        self._stack.enter_context(client)
        self._sessions[name] = SubjectSession(
            name=name, client=client, running=running, task=self._trial.task
        )

    def _rounds(self, announce: Announce) -> Rounds:
        began = time.monotonic()
        announce(self._trial.subjects[0], 0)
        rounds, looks = self._looked(began)
        self._trial_rounds = 0 if rounds == self._first else looks
        total = rounds.count + self._trial_rounds
        for number in range(looks, total):
            done = number * len(self._trial.subjects) // total
            announce(self._trial.subjects[done], done)
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
        known = [each for each in self._sessions.values() if each.error is None]
        rate = min((each.client_rate for each in known), default=math.inf)
        return fitting_rounds(self._first, self._seconds, rate)

    def _round(self, number: int, rounds: Rounds, began: float) -> None:
        order = round_order(
            self._seed, self._trial.block, self._trial.set, number, self._trial.subjects
        )
        for position, name in enumerate(order):
            if name in self._sessions:
                self._sessions[name].slice(number, position, rounds.seconds, began)

    def answers(self) -> dict[str, Answer]:
        """Return what came of each subject; levels are fitted to those that came to the end."""
        sound = [each for each in self._sessions.values() if each.error is None]
        logs = np.array([[each.log_rate for each in one.measured] for one in sound]).T
        left_out = self._trial_rounds
        found: list[float] = []
        if sound:
            left_out += unsettled(logs[self._trial_rounds :])
            found = list(levels(logs[left_out:]))
        fitted = dict(zip((each.name for each in sound), found, strict=True))
        answers = {name: Answer(driven=failed(why)) for name, why in self._refused.items()}
        for name, each in self._sessions.items():
            answers[name] = each.answer(left_out, fitted.get(name, 0.0))
            if each.sampler is not None:
                self._servers.warn_unobserved(name, each.sampler.trouble)
        return answers
