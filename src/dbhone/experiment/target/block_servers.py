"""The servers that are up for one block, all of them side by side.

Every subject's server is started on a fresh copy of the same loaded data and warmed up alike,
before the first slice. Then all of them stay up, so that a slice of one lies seconds from the next
one's. Where servers are to be cold, each slice has a server of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.target.cpu_placement import CpuPlacement
from dbhone.experiment.target.observer import RunObservation, ServerObserver
from dbhone.experiment.target.order import BlockSeed, subject_order
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec
from dbhone.experiment.target.trial import SubjectResult, Trial, run_one_by_one
from dbhone.instance.server import Server
from dbhone.measurement import perf_events
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.server_usage import ServerUsage, read_usage, used_between
from dbhone.session import Notify
from dbhone.workload.pausable_client import PausableClient
from dbhone.workload.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockServer:
    """A server that is up; ``stack`` clears away all that belongs to it."""

    stack: contextlib.ExitStack
    server: Server
    counter: perf_events.Counter | None
    observer: ServerObserver | None

    def observing(self) -> contextlib.AbstractContextManager[Sampler | None]:
        """Observe it, if it is to be observed, until the block is left."""
        return self.observer.observing() if self.observer else contextlib.nullcontext()

    def usage(self) -> ServerUsage | None:
        """Return what it used so far, None if that cannot be read."""
        return read_usage(self.server.pid, counter=self.counter)


class BlockServers:
    """The servers of all subjects, for one block after the other.

    By the ``seed`` each block has an order of its own and, with ``fresh_data``, random data of its
    own. ``placement`` says on which CPUs clients and servers run. With ``cold`` each slice has a
    server of its own, just started on fresh data that lies on the disk only: so every step begins
    cold, and not only the first one of a block. ``on_start`` gets each server that has started.
    """

    def __init__(
        self,
        pool: ServerPool,
        specs: Mapping[str, ServerSpec],
        observation: RunObservation,
        notify: Notify,
        *,
        seed: int,
        placement: CpuPlacement,
        fresh_data: bool = False,
        cold: bool = False,
        on_start: Callable[[str, Server], None] = lambda _name, _server: None,
    ) -> None:
        self._pool = pool
        self._specs = specs
        self._observation = observation
        self._notify = notify
        self._seed = seed
        self._placement = placement
        self._fresh_data = fresh_data
        self._cold = cold
        self._on_start = on_start
        self._block_seed = BlockSeed()
        self._up: dict[str, BlockServer] = {}
        self._refusals: dict[str, HoneError] = {}
        self._written = False

    @contextlib.contextmanager
    def open(self, subjects: tuple[str, ...], block: int) -> Iterator[None]:
        """Start and warm up every subject's server; stop them all in the end.

        Each block has an order of its own: what a server does by itself so many seconds after its
        start meets another step then. A server that cannot be started is reported by its first
        slice, not here.
        """
        self._block_seed = BlockSeed.of_block(self._seed, block, fresh_data=self._fresh_data)
        try:
            self.ready(subject_order(self._seed, block, subjects))
            yield
        finally:
            self._close_all()
            self._pool.forget()

    def ready(self, subjects: tuple[str, ...]) -> None:
        """Restart all servers on fresh data if one of them is not up.

        A server that died must not continue with fresh data beside others whose data is worn. Cold
        servers share nothing between slices.
        """
        if self._cold or all(name in self._up for name in subjects):
            return
        self._close_all()
        self._refusals.clear()
        for name in subjects:
            self._try_to_start(name)
        self._observation.check(tuple(self._specs))

    def finish_background_work(self, *, writes: bool) -> None:
        """Before a set that only reads, let all servers finish what sets before it left behind.

        They would do so by themselves, each at a moment of its own: a step that reads would meet
        one of them before it and another one after it. ``writes`` tells that the set is none such.
        """
        if self._written and not writes:
            for name in tuple(self._up):
                self._finish_background_work(name)
            self._written = False

    def note_writes(self) -> None:
        """Note that a set has written to the servers, the way they are up now."""
        self._written = True

    def _finish_background_work(self, name: str) -> None:
        self._notify(f"{name} finishes what writes left behind")
        try:
            self._pool.clients.finish_background_work(self._up[name].server)
        except (ServerError, DriverError) as error:
            self.close(name)
            self._refusals[name] = error

    def run(self, trial: Trial) -> Iterator[SubjectResult]:
        """Measure one subject after the other, each by a driver that is started for it."""
        return run_one_by_one(
            trial,
            lambda subject: self.drive(subject, trial.task),
            prepare=self._start_cold if self._cold else None,
        )

    def drive(self, subject: str, task: Task) -> SubjectResult:
        """Drive the subject's server once. A driver or server that fails is a result."""
        try:
            return self._drive(subject, task)
        finally:
            if self._cold:
                self.close(subject)

    def _drive(self, subject: str, task: Task) -> SubjectResult:
        if subject in self._refusals:
            return SubjectResult.failed(subject, self._refusals[subject])
        running = self._up[subject]
        try:
            before = running.usage()
            with running.observing() as observed:
                result = self._pool.clients.drive(running.server, self._block_seed.apply_to(task))
            used = used_between(before, running.usage())
        except ServerError as error:
            self.close(subject)
            return SubjectResult.failed(subject, error)
        if observed is not None:
            self.note_trouble(subject, observed.trouble)
        return SubjectResult(subject=subject, driver=result, used=used, observed=observed)

    def running(self, subject: str) -> BlockServer:
        """Return the subject's server; raise ServerError or DriverError if it did not start."""
        if subject in self._refusals:
            raise self._refusals[subject]
        return self._up[subject]

    def client(self, subject: str, task: Task, folder: Path) -> PausableClient:
        """Return a client of the subject's server that can be paused, not started yet."""
        server = self.running(subject).server
        return self._pool.clients.client(server, self._block_seed.apply_to(task), folder)

    def check(self) -> dict[str, HoneError]:
        """Return, for each server that is up, what is wrong with its data, if anything is."""
        faults: dict[str, HoneError] = {}
        for name, running in self._up.items():
            try:
                self._pool.clients.check(running.server)
            except (ServerError, DriverError) as error:
                faults[name] = error
        return faults

    def note_trouble(self, subject: str, trouble: str | None) -> None:
        """Keep with the run what kept the subject from being observed, if anything did."""
        if trouble is not None:
            self._observation.warn_unobserved(subject, trouble)

    def close(self, subject: str) -> None:
        """End the subject's server and leave its data; the next trial restarts all of them."""
        running = self._up.pop(subject, None)
        if running is not None:
            running.server.kill()  # its data goes: there is nothing to be written
            running.stack.close()

    def _close_all(self) -> None:
        self._written = False
        for name in tuple(self._up):
            self.close(name)

    def _start_cold(self, subject: str) -> None:
        """Start the server of one slice; it is not warmed up."""
        self._refusals.pop(subject, None)
        self._try_to_start(subject)
        self._observation.check(tuple(self._specs))

    def _try_to_start(self, name: str) -> None:
        self._notify(f"starting {name}")
        try:
            self._start(name)
        except (ServerError, DriverError) as error:
            self._refusals[name] = error

    def _start(self, name: str) -> None:
        with contextlib.ExitStack() as stack:
            in_layout = self._specs[name].in_block(self._block_seed, name)
            spec = self._placement.in_block(in_layout, self._block_seed)
            running = self._pool.running(spec, self._block_seed.data)
            server = stack.enter_context(running)
            # Opened before the clients come: it counts what is started from now on.
            counter = perf_events.open_counter(server.pid, perf_events.Event.CONTEXT_SWITCHES)
            if counter is not None:
                stack.callback(counter.close)
            self._on_start(name, server)
            self._pool.clients.warm_up(server, self._block_seed)
            observer = self._observation.observer(name, server)
            if observer is not None:
                stack.callback(observer.close)
            self._up[name] = BlockServer(
                stack=stack.pop_all(), server=server, counter=counter, observer=observer
            )
