"""Where subjects are measured: fresh database files, or servers that are up side by side.

An arena opens for one block. For servers that means: every subject's server is started on a
fresh copy of the same loaded data and warmed up alike, before the first slice; then all of
them stay up, so that a slice of one lies seconds from the next one's. Where servers are to be
cold, each slice has one of its own.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.compilation.manifest import Build
from dbhone.errors import DriverError, HoneError, ServerError
from dbhone.experiment.observe import Observer, Observing
from dbhone.experiment.plan import data_seed
from dbhone.experiment.run_result import RunResult, failed
from dbhone.experiment.servers import Servers, ServerSpec
from dbhone.home import Session
from dbhone.instance.embedded import fresh_database
from dbhone.instance.server import Server
from dbhone.measurement import counters
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.server_usage import ServerUsage, UsedBetween, between, read_usage
from dbhone.workload.drive import DriverCommand, DriverResult, drive
from dbhone.workload.drivers.base import EmbeddedDriver
from dbhone.workload.frozen import FrozenClient
from dbhone.workload.work import Task, seeded


class _Luck:
    """The random values of each block, for suites that have such: ``seed`` is their seed."""

    def __init__(self, design: int | None) -> None:
        self._design = design
        self.seed: int | None = None

    def draw(self, block: int) -> None:
        """Take the values of another block."""
        self.seed = None if self._design is None else data_seed(self._design, block)

    def given(self, task: Task) -> Task:
        """Return the task with the block's values."""
        return task if self.seed is None else seeded(task, self.seed)


class Arena(ABC):
    """A place to measure one block in. Use ``open`` around the block."""

    @abstractmethod
    def open(
        self, subjects: tuple[str, ...], block: int
    ) -> contextlib.AbstractContextManager[None]:
        """Make ready what the block needs, and clear it away in the end."""

    @abstractmethod
    def ready(self, subjects: tuple[str, ...]) -> None:
        """Make sure, before a pass, that what these subjects find is alike for all of them."""

    def prepare(self, subject: str) -> None:
        """Make ready what this subject's next slice needs of its own; nothing of it is measured."""
        del subject

    @abstractmethod
    def slice(self, subject: str, task: Task, timeout: float) -> RunResult:
        """Let one subject do one task. A driver or server that fails is a result."""


class EmbeddedArena(Arena):
    """Each slice is a driver process on a database file of its own.

    With a ``seed``, that of the design, each block has random values of its own.
    """

    def __init__(
        self,
        session: Session,
        driver: EmbeddedDriver,
        builds: dict[str, Build],
        seed: int | None = None,
    ) -> None:
        self._session = session
        self._driver = driver
        self._builds = builds
        self._luck = _Luck(seed)

    @contextlib.contextmanager
    def open(self, subjects: tuple[str, ...], block: int) -> Iterator[None]:
        """Draw the block's random values; there is nothing to open."""
        del subjects
        self._luck.draw(block)
        yield

    def ready(self, subjects: tuple[str, ...]) -> None:
        """Every slice begins with nothing."""

    def slice(self, subject: str, task: Task, timeout: float) -> RunResult:
        """Run the driver once on a new database file."""
        task = self._luck.given(task)
        driven = drive_embedded(self._session, self._driver, self._builds[subject], task, timeout)
        return RunResult(driven=driven)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that is up; ``stack`` clears away all that belongs to it."""

    stack: contextlib.ExitStack
    server: Server
    counter: counters.Counter | None
    observer: Observer | None

    def observing(self) -> contextlib.AbstractContextManager[Sampler | None]:
        """Observe it, if it is to be observed, until the block is left."""
        return self.observer.observing() if self.observer else contextlib.nullcontext()

    def usage(self) -> ServerUsage | None:
        """Return what it used so far."""
        return read_usage(self.server.pid, counter=self.counter)


def used_between(before: ServerUsage | None, after: ServerUsage | None) -> UsedBetween | None:
    """Return what a server used between two readings, None if one of them failed."""
    return None if before is None or after is None else between(before, after)


class ServerArena(Arena):
    """All subjects' servers are up for a block; the driver asks one after the other.

    With a ``seed``, that of the design, each block has random data of its own.
    """

    def __init__(
        self,
        servers: Servers,
        contenders: dict[str, ServerSpec],
        observing: Observing,
        notify: Callable[[str], None],
        seed: int | None = None,
    ) -> None:
        self._servers = servers
        self._contenders = contenders
        self._observing = observing
        self._notify = notify
        self._luck = _Luck(seed)
        self._open: dict[str, Running] = {}
        self._refusals: dict[str, HoneError] = {}

    @contextlib.contextmanager
    def open(self, subjects: tuple[str, ...], block: int) -> Iterator[None]:
        """Start and warm up every subject's server; stop them all in the end.

        A server that cannot be started is not told here but by its first slice.
        """
        self._luck.draw(block)
        try:
            self.ready(subjects)
            yield
        finally:
            self._close_all()
            self._servers.forget()

    def ready(self, subjects: tuple[str, ...]) -> None:
        """Start all servers anew, on fresh data, if one of them is not up.

        A server that died must not go on with fresh data beside others whose data is worn.
        """
        if all(name in self._open for name in subjects):
            return
        self._close_all()
        self._refusals.clear()
        for name in subjects:
            self._try_to_start(name)
        self._observing.check(tuple(self._contenders))

    def _try_to_start(self, name: str) -> None:
        self._notify(f"starting {name}")
        try:
            self._start(name)
        except (ServerError, DriverError) as error:
            self._refusals[name] = error

    def slice(self, subject: str, task: Task, timeout: float) -> RunResult:
        """Drive the subject's server."""
        del timeout
        if subject in self._refusals:
            return RunResult(driven=failed(self._refusals[subject]))
        running = self._open[subject]
        try:
            before = running.usage()
            with running.observing() as observed:
                driven = self._servers.drive(running.server, self._luck.given(task))
            used = used_between(before, running.usage())
        except ServerError as error:
            self.close(subject)
            return RunResult(driven=failed(error))
        if observed is not None:
            self.doubt(subject, observed.trouble)
        return RunResult(driven=driven, used=used, observed=observed)

    def running(self, subject: str) -> Running:
        """Return the subject's server; raise ServerError or DriverError if it did not start."""
        if subject in self._refusals:
            raise self._refusals[subject]
        return self._open[subject]

    def client(self, subject: str, task: Task, folder: Path) -> FrozenClient:
        """Return a client of the subject's server that can be frozen, not started yet."""
        server = self.running(subject).server
        return self._servers.client(server, self._luck.given(task), folder)

    def doubt(self, subject: str, trouble: str | None) -> None:
        """Keep with the run what kept the subject from being observed, if anything did."""
        if trouble is not None:
            self._observing.doubt(subject, trouble)

    def close(self, subject: str) -> None:
        """End the subject's server and leave its data; the next pass starts all anew."""
        found = self._open.pop(subject, None)
        if found is not None:
            found.server.kill()  # its data goes: there is nothing to be written
            found.stack.close()

    def _start(self, name: str) -> None:
        with contextlib.ExitStack() as stack:
            running = self._servers.running(self._contenders[name], self._luck.seed)
            server = stack.enter_context(running)
            # Opened before the clients come: it counts what is started from now on.
            counter = counters.open_counter(server.pid, counters.Event.CONTEXT_SWITCHES)
            if counter is not None:
                stack.callback(counter.close)
            self._servers.warm_up(server)
            observer = self._observing.observer(name, server)
            if observer is not None:
                stack.callback(observer.close)
            self._open[name] = Running(
                stack=stack.pop_all(), server=server, counter=counter, observer=observer
            )

    def _close_all(self) -> None:
        for name in tuple(self._open):
            self.close(name)


class ColdServerArena(ServerArena):
    """Each slice has a server of its own, just started on fresh data that lies on the disk only.

    So every step begins cold, and not only the first one of a block.
    """

    def ready(self, subjects: tuple[str, ...]) -> None:
        """There is nothing that slices share."""
        del subjects

    def prepare(self, subject: str) -> None:
        """Start the subject's server; it is not warmed up."""
        self._refusals.pop(subject, None)
        self._try_to_start(subject)
        self._observing.check(tuple(self._contenders))

    def slice(self, subject: str, task: Task, timeout: float) -> RunResult:
        """Drive the subject's server, which ends with it."""
        try:
            return super().slice(subject, task, timeout)
        finally:
            self.close(subject)


def drive_embedded(
    session: Session,
    driver: EmbeddedDriver,
    build: Build,
    task: Task,
    timeout: float,
    *,
    env: tuple[tuple[str, str], ...] = (),
) -> DriverResult:
    """Run an embedded DBMS's driver once on a new database file, which goes in the end."""
    with fresh_database(session) as database:
        return drive(
            DriverCommand(
                driver=driver,
                program=build.path(driver.artifact),
                task=task,
                where=database,
                folder=database.parent,
                version=build.manifest.version,
                timeout=timeout,
                env=env,
            )
        )
