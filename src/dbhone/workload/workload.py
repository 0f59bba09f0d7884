"""Workloads: sets of a suite at a scale, and the driver's tasks and data for them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbhone.dbms.base import load_dbms
from dbhone.errors import UsageError
from dbhone.workload import suite as suites
from dbhone.workload import users_suite
from dbhone.workload.drivers.base import Driver, ServerDriver, load_driver, load_driver_of
from dbhone.workload.suite import NumberedSet, Regime, ServerSet, ServerSize, Suite
from dbhone.workload.task import ClientRun, DataSet, Scale, Task, name_at_threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is executed: sets of a suite at a scale.

    The ``name`` is the suite's, which may be the path of a user's file. ``sets`` are those that
    were asked for, None for all that are measured unless others are named.
    """

    name: str
    scale: Scale
    sets: tuple[str, ...] | None = None

    @classmethod
    def usual(cls, dbms: str) -> Workload:
        """Return the usual workload of a DBMS at its smallest size."""
        name = load_dbms(dbms).usual_suite
        return cls(name=name, scale=Scale(size=suites.load(name).sizes()[0]))

    @property
    def suite(self) -> Suite:
        """The suite of this name."""
        return suites.load(self.name)

    @property
    def driver(self) -> Driver:
        """The suite's driver."""
        return load_driver(self.suite.driver)

    @property
    def server_driver(self) -> ServerDriver:
        """The suite's driver, where the suite is one for servers."""
        return load_driver_of(ServerDriver, self.suite.driver)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The sets that are executed, as far as a version has them."""
        return self.suite.measured() if self.sets is None else self.sets

    def tasks(self, sets: tuple[str, ...] | None = None) -> tuple[Task, ...]:
        """Return the driver's tasks for these sets, in their order, or for the chosen ones.

        With several numbers of threads a set is one task for each of them, ``SET@THREADS``.
        """
        names = self.chosen if sets is None else sets
        return tuple(task for name in names for task in self._tasks(name))

    def warm_up(self) -> tuple[Task, ...]:
        """Return the tasks that fill a server's caches; none if it is to be cold."""
        if self.cold:
            return ()
        return self._with_largest_threads().tasks(self.suite.warm_ups())

    def for_training(self, size: str) -> Workload:
        """Return the workload for training at a size, with the largest number of threads.

        At its own size it has its own data, otherwise the size's.
        """
        if not self.suite.server_sizes:
            return dataclasses.replace(self, scale=Scale(size=size))
        others = Scale(size=size, regime=self.scale.regime, data=self.scale.files)
        scale = self.scale if size == self.scale.size else others
        return dataclasses.replace(self, scale=scale)._with_largest_threads()

    # What only servers have

    @property
    def data(self) -> DataSet:
        """The data that servers are loaded with.

        Raises UsageError for a key that the driver does not know.
        """
        given = self._size.driver_keys | dict(self.scale.data)
        return self.server_driver.data_set(given, self.suite.scripts, self._first_seed)

    def check_data(self) -> None:
        """Raise UsageError for a key of the data that the driver does not know."""
        if self.suite.server_sizes:
            _ = self.data

    @property
    def growth(self) -> float:
        """How many times as large as the size's own the data is."""
        usual = Scale(size=self.scale.size, data=self.scale.files)
        return self.data.volume / dataclasses.replace(self, scale=usual).data.volume

    @property
    def cache_bytes(self) -> int:
        """How large each server's cache is."""
        sizes = self._size.cache
        return self.scale.cache_bytes or sizes.get(self.scale.regime, sizes[Regime.CACHED])

    @property
    def cold(self) -> bool:
        """Whether a server is to find its data on the disk only."""
        return self.scale.regime is Regime.COLD

    @property
    def connections(self) -> int:
        """The most clients that a server gets, and some to spare."""
        clients = self._most_clients((*self.suite.measurable(), *self.suite.warm_ups()))
        return max(clients, self.data.loaders) + self._size.spare_connections

    @property
    def most_clients(self) -> int:
        """The most clients that a server gets from the sets that are measured."""
        return self._most_clients(self.chosen)

    def _most_clients(self, names: Iterable[str]) -> int:
        sets = (self.suite.sets[name] for name in names)
        return max(
            (
                number
                for declared in sets
                if isinstance(declared, ServerSet)
                for number in self._threads_of(declared)
            ),
            default=0,
        )

    @property
    def _size(self) -> ServerSize:
        return self.suite.server_sizes[self.scale.size]

    @property
    def _first_seed(self) -> int | None:
        return 1 if self.suite.fresh_loads else None

    @property
    def _threads(self) -> tuple[int, ...]:
        return self.scale.threads or self._size.threads

    def _threads_of(self, declared: ServerSet) -> tuple[int, ...]:
        return (declared.threads,) if declared.threads else self._threads

    def _with_largest_threads(self) -> Workload:
        scale = dataclasses.replace(self.scale, threads=(max(self._threads),))
        return dataclasses.replace(self, scale=scale)

    def _tasks(self, name: str) -> Iterator[Task]:
        declared = self.suite.sets[name]
        if isinstance(declared, NumberedSet):
            yield Task(set=name, size=declared.sizes[self.scale.size], seed=self._first_seed)
            return
        several = len(self._threads) > 1
        for threads in self._threads_of(declared):
            run = ClientRun(
                job=self.server_driver.job(declared.driver_keys),
                threads=threads,
                seconds=self._seconds(declared),
                data=self.data,
                events=declared.events,
                parts=tuple(declared.parts),
            )
            yield Task(set=name_at_threads(name, threads) if several else name, run=run)

    def _seconds(self, declared: ServerSet) -> float:
        """Return for how many seconds a set runs; an estimate if it ends by itself.

        A warm-up grows with the data, but ignores longer steps: it only has to fill the caches.
        """
        default = self._size.seconds[declared.kind]
        requested = self.scale.seconds or default
        if declared.events is not None:
            return default * self.growth
        if declared.warm_up:
            return min(requested, float(math.ceil(default * max(1.0, self.growth))))
        return requested


def load_checked(name: str) -> Suite:
    """Return a suite. The driver must understand all sets of a user's suite at every size.

    Raises as ``suite.load`` does, and UsageError that names the set.
    """
    suite = suites.load(name)
    for size in suite.server_sizes if users_suite.is_suite_file(name) else ():
        workload = Workload(name=name, scale=Scale(size=size))
        for set_name in suite.sets:
            try:
                workload.tasks((set_name,))
            except UsageError as error:
                where = f"{name}: sets.{set_name}, at size {size}"
                raise UsageError(f"{where}: {error.message}", hint=error.hint) from None
    return suite
