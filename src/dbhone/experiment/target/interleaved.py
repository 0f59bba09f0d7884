"""Trials in short slices: the clients of all subjects stay connected, and all but one are paused.

A trial is a number of rounds, a round one slice of each subject in random order. So what is
compared lies tenths of a second apart, and a trial has many pairs instead of one. Slices are worth
it where a client can count by itself, where many operations fit in one, and where several fit in a
trial. ``docs/benchmarks.md`` has the figures that the lengths come from.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dbhone.analysis.rounds import most_unsettled, unsettled, usual_unsettled
from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.earlier_trials import earlier_trials
from dbhone.experiment.target.order import round_order
from dbhone.experiment.target.slice_client import SliceClient, settling_seconds
from dbhone.experiment.target.trial import SubjectResult, Surroundings, Trial
from dbhone.measurement.record import Code, Sliced, Warning
from dbhone.session import Session
from dbhone.untrusted_files import remove_tree
from dbhone.workload.task import Task

_SLICE = 0.1
_MIN_EVENTS_PER_SLICE = 20
"""Of each client, in each slice. What is under way at a slice's two ends is then a few percent
of it, and the same for all subjects."""
_PROBE_ROUNDS = 3
"""Slices of each subject before a set's operations are taken for slow, where that is new. A single
slice may fall into a moment in which the whole machine stalled."""
_LONG_PROBE = 0.5
"""Seconds of each such slice after the first, so that slow operations end in it, too."""
_SLOWDOWN_FACTOR = 2.0
"""Operations are newly slow if slices had to be so many times as long as in the trial before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How a trial is cut: ``count`` rounds, each with a slice of ``seconds`` of each subject."""

    seconds: float
    count: int


def first_rounds(seconds: float) -> Rounds:
    """Return how a trial is cut if nothing is known of it: ``seconds`` are those of a subject."""
    return Rounds(seconds=_SLICE, count=max(1, round(seconds / _SLICE)))


def fitting_rounds(first: Rounds, seconds: float, rate: float) -> Rounds | None:
    """Return how the trial is cut, by how many events each client ended in a second.

    ``rate`` is that of the slowest subject in a first slice. None if not even two slices with
    enough events fit into the trial.
    """
    needed = _MIN_EVENTS_PER_SLICE / rate if rate > 0 else math.inf
    if needed <= first.seconds:
        return first
    count = math.floor(seconds / needed)
    return Rounds(seconds=seconds / count, count=count) if count >= 2 else None


def subject_seconds(task: Task, *, interleaved: bool) -> float:
    """Return how long a trial takes a subject, settling included; 0 if it is not known."""
    seconds = task.run.seconds if task.run else 0.0
    if not interleaved:
        return seconds
    rounds = first_rounds(seconds)
    return seconds + rounds.count * settling_seconds(rounds.seconds)


class InterleavedTrials:
    """Measures some sets in short slices.

    A set of which too few operations end in a slice is measured by fresh clients from then on. If
    it was measured in slices before, that holds for the one trial only. ``warn`` gets a warning
    either way. ``earlier`` are the trials of earlier sessions, ``slow`` the sets that they found
    slow.
    """

    def __init__(
        self,
        servers: BlockServers,
        session: Session,
        sets: frozenset[str],
        seed: int,
        warn: Callable[[Warning], None],
        *,
        earlier: Sequence[Sliced] = (),
        slow: frozenset[str] = frozenset(),
    ) -> None:
        self._servers = servers
        self._session = session
        self._sets = set(sets - slow)
        before = earlier_trials(earlier)
        self._usual = {name: trials.slice_seconds for name, trials in before.items()}
        self._unsettled = defaultdict[str, list[int]](list)
        self._unsettled |= {name: list(trials.unsettled) for name, trials in before.items()}
        self._seed = seed
        self._warn = warn

    def run(self, trial: Trial) -> Iterator[SubjectResult]:
        """Measure a trial, by fresh clients if its set is not one for short slices.

        In short slices all results are known at its end.
        """
        if trial.set in self._sets:
            try:
                yield from self._run(trial)
                return
            except _TooSlow:
                lasting = trial.set not in self._usual
                if lasting:
                    self._sets.remove(trial.set)
                self._warn(_slow_operations(trial.set, lasting=lasting))
                self._servers.ready(trial.subjects)  # one of them may have died meanwhile
        yield from self._servers.run(trial)

    def _run(self, trial: Trial) -> list[SubjectResult]:
        surroundings = Surroundings(trial)
        usual = self._usual.get(trial.set)
        with _InterleavedTrial(self._servers, self._session, trial, self._seed, usual) as slices:
            self._usual[trial.set] = slices.measure().seconds
            results = slices.results(self._unsettled[trial.set])
        return surroundings.stamp((results[name] for name in trial.subjects), slices.cpu_seconds)


class _TooSlow(Exception):
    """Too few operations end in a slice of this set for slices to be short."""


def _slow_operations(set_name: str, *, lasting: bool) -> Warning:
    few = f"too few operations of {set_name} end in a short slice"
    once = "the server stalled in a trial, so each of its slices had a new client"
    return Warning(
        code=Code.SLOW_OPERATIONS if lasting else Code.STALLED_TRIAL,
        text=f"{few}: {'each slice has a new client' if lasting else once}",
        step=set_name,
    )


class _InterleavedTrial:
    """One trial. Leaving it ends all clients.

    ``usual`` is how long a slice was in the set's last trial, in seconds, None if there was none.
    """

    def __init__(
        self,
        servers: BlockServers,
        session: Session,
        trial: Trial,
        seed: int,
        usual: float | None,
    ) -> None:
        assert trial.task.run is not None
        self._servers = servers
        self._trial = trial
        self._seed = seed
        self._seconds = trial.task.run.seconds
        self._first = first_rounds(self._seconds)
        self._usual = usual or self._first.seconds
        self._folder = session.workdir("slices")
        self._stack = contextlib.ExitStack()
        self._clients: dict[str, SliceClient] = {}
        self._refused: dict[str, HoneError] = {}
        self._tried = 0
        self._began = 0.0

    def __enter__(self) -> _InterleavedTrial:
        self._stack.callback(remove_tree, self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for name, client in self._clients.items():
            if isinstance(client.error, ServerError):
                self._servers.close(name)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all subjects' servers and clients in the trial."""
        return sum(client.cpu_seconds for client in self._clients.values())

    def measure(self) -> Rounds:
        """Connect all clients, measure round after round, let the clients end.

        Returns how the trial was cut. Raises _TooSlow.
        """
        for name in self._trial.subjects:
            self._start(name)
        for client in self._clients.values():
            client.connect()
        rounds = self._measure_rounds()
        for client in self._clients.values():
            client.end()
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
        self._clients[name] = SliceClient(
            name=name, client=client, running=running, task=self._trial.task
        )

    def _measure_rounds(self) -> Rounds:
        """Measure all rounds. Those that were only tried, at another length, do not count."""
        subjects = self._trial.subjects
        self._began = time.monotonic()
        self._trial.announce(subjects[0], 0)
        rounds, probed = self._try_rounds()
        self._tried = 0 if rounds == self._first else probed
        total = rounds.count + self._tried
        announced = 0
        for number in range(probed, total):
            done = number * len(subjects) // total
            if done > announced:
                self._trial.announce(subjects[done], done)
                announced = done
            self._round(number, rounds.seconds)
        return rounds

    def _try_rounds(self) -> tuple[Rounds, int]:
        """Measure rounds until it is known how to cut the trial; return that, and their number.

        One round is enough if it went about as usual. Raises _TooSlow.
        """
        for probed in range(1, _PROBE_ROUNDS + 1):
            self._round(probed - 1, max(self._usual, _LONG_PROBE if probed > 1 else 0.0))
            rounds = self._fitting()
            if rounds is not None and rounds.seconds < _SLOWDOWN_FACTOR * self._usual:
                break
        if rounds is None:
            raise _TooSlow
        return rounds, probed

    def _fitting(self) -> Rounds | None:
        """Return how the trial is best cut, None if it should not be cut."""
        rates = (client.client_rate for client in self._clients.values() if client.error is None)
        return fitting_rounds(self._first, self._seconds, min(rates, default=math.inf))

    def _round(self, number: int, seconds: float) -> None:
        trial = self._trial
        order = round_order(self._seed, trial.block, trial.set, number, trial.subjects)
        for position, name in enumerate(order):
            if name in self._clients:
                self._clients[name].slice(number, position, seconds, self._began)

    def results(self, found: list[int]) -> dict[str, SubjectResult]:
        """Return each subject's result, without the rounds before all have settled.

        How many these seem to be is added to what was found in the set's trials before.
        """
        sound = [client for client in self._clients.values() if client.error is None]
        logs = np.array([[reading.log_rate for reading in client.readings] for client in sound]).T
        left_out = self._tried
        if sound:
            rest = logs[self._tried :]
            found.append(int(unsettled(rest)))
            left_out += min(int(usual_unsettled(np.array(found))), most_unsettled(len(rest)))
        results = {name: SubjectResult.failed(name, why) for name, why in self._refused.items()}
        for name, client in self._clients.items():
            results[name] = client.result(left_out)
            if client.sampler is not None:
                self._servers.note_trouble(name, client.sampler.trouble)
        return results
