"""The servers of all subjects in a block: they are up side by side, on copies of the same data.

Every subject's server is started and warmed up alike before the first trial, and stays up, so that
a slice of one lies seconds from the next one's. Servers that are to be cold are started for each
trial.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.observe import Observer, Observing
from dbhone.experiment.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target import BlockSeed
from dbhone.experiment.trial import Answer, failed
from dbhone.instance.server import Server
from dbhone.measurement import counters
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.server_usage import ServerUsage, UsedBetween, between, read_usage
from dbhone.workload.frozen import FrozenClient
from dbhone.workload.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A server that is up; ``stack`` clears away all that belongs to it."""

    stack: contextlib.ExitStack
    server: Server
    counter: counters.Counter | None
    observer: Observer | None

    def observing(self) -> contextlib.AbstractContextManager[Sampler | None]:
        """Observe it, if it is to be observed, until the context is left."""
        return self.observer.observing() if self.observer else contextlib.nullcontext()

    def usage(self) -> ServerUsage | None:
        """Return what it used so far, None if that cannot be read."""
        return read_usage(self.server.pid, counter=self.counter)


def used_between(before: ServerUsage | None, after: ServerUsage | None) -> UsedBetween | None:
    """Return what a server used between two readings, None if one of them failed."""
    return None if before is None or after is None else between(before, after)


class BlockServers:
    """The servers of one block. With ``cold`` each trial has servers of its own, not warmed up."""

    def __init__(
        self,
        pool: ServerPool,
        specs: Mapping[str, ServerSpec],
        observing: Observing,
        notify: Callable[[str], None],
        seed: BlockSeed | None = None,
        *,
        cold: bool = False,
    ) -> None:
        self._pool = pool
        self._specs = specs
        self._observing = observing
        self._notify = notify
        self._seed = seed or BlockSeed(None)
        self._cold = cold
        self._up: dict[str, RunningServer] = {}
        self._refusals: dict[str, HoneError] = {}

    @contextlib.contextmanager
    def open(self, subjects: tuple[str, ...], block: int) -> Iterator[None]:
        """Start and warm up every subject's server; stop them all in the end.

        A server that cannot be started is not told here but when it is asked.
        """
        self._seed.draw(block)
        try:
            self.make_alike(subjects)
            yield
        finally:
            self._close_all()
            self._pool.forget()

    def make_alike(self, subjects: tuple[str, ...]) -> None:
        """Start all servers anew, on fresh data, if one of them is not up.

        A server that died must not go on with fresh data beside others whose data is worn.
        """
        if self._cold or all(name in self._up for name in subjects):
            return
        self._close_all()
        self._refusals.clear()
        for name in subjects:
            self._try_to_start(name)
        self._observing.check(tuple(self._specs))

    def make_ready(self, subject: str) -> None:
        """Start the subject's server if servers are to be cold."""
        if self._cold:
            self._refusals.pop(subject, None)
            self._try_to_start(subject)
            self._observing.check(tuple(self._specs))

    def _try_to_start(self, name: str) -> None:
        self._notify(f"starting {name}")
        try:
            self._start(name)
        except (ServerError, DriverError) as error:
            self._refusals[name] = error

    def ask(self, subject: str, task: Task) -> Answer:
        """Drive the subject's server. A cold server ends with that."""
        try:
            return self._ask(subject, task)
        finally:
            if self._cold:
                self.close(subject)

    def _ask(self, subject: str, task: Task) -> Answer:
        if subject in self._refusals:
            return Answer(driven=failed(self._refusals[subject]))
        running = self._up[subject]
        try:
            before = running.usage()
            with running.observing() as observed:
                driven = self._pool.drive(running.server, self._seed.given(task))
            used = used_between(before, running.usage())
        except ServerError as error:
            self.close(subject)
            return Answer(driven=failed(error))
        if observed is not None:
            self.warn_unobserved(subject, observed.trouble)
        return Answer(driven=driven, used=used, observed=observed)

    def running(self, subject: str) -> RunningServer:
        """Return the subject's server; raise ServerError or DriverError if it did not start."""
        if subject in self._refusals:
            raise self._refusals[subject]
        return self._up[subject]

    def client(self, subject: str, task: Task, folder: Path) -> FrozenClient:
        """Return a client of the subject's server that can be paused, not started yet."""
        server = self.running(subject).server
        return self._pool.client(server, self._seed.given(task), folder)

    def warn_unobserved(self, subject: str, trouble: str | None) -> None:
        """Keep with the run what kept the subject from being observed, if anything did."""
        if trouble is not None:
            self._observing.doubt(subject, trouble)

    def close(self, subject: str) -> None:
        """End the subject's server and leave its data; the next trial starts all anew."""
        running = self._up.pop(subject, None)
        if running is not None:
            running.server.kill()  # its data goes: there is nothing to be written
            running.stack.close()

    def _start(self, name: str) -> None:
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(self._pool.running(self._specs[name], self._seed.seed))
            # Opened before the clients come: it counts what is started from now on.
            counter = counters.open_counter(server.pid, counters.Event.CONTEXT_SWITCHES)
            if counter is not None:
                stack.callback(counter.close)
            self._pool.warm_up(server)
            observer = self._observing.observer(name, server)
            if observer is not None:
                stack.callback(observer.close)
            self._up[name] = RunningServer(
                stack=stack.pop_all(), server=server, counter=counter, observer=observer
            )

    def _close_all(self) -> None:
        for name in tuple(self._up):
            self.close(name)
