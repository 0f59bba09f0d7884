"""Makes tasks for a driver from the sets of a suite, at the scale of an experiment."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from dbhone.errors import UsageError
from dbhone.workload import own_suite
from dbhone.workload.drivers.base import ServerDriver, load_driver_of
from dbhone.workload.suite import NumberedSet, Regime, ServerSet, ServerSize, Suite, load
from dbhone.workload.task import ClientRun, DataSet, Scale, Task, name_at_threads


def load_checked(name: str) -> Suite:
    """Return a suite. The driver must understand all sets of a user's suite at every size.

    Raises as ``suite.load`` does, and UsageError that names the set.
    """
    suite = load(name)
    for size in suite.server_sizes if own_suite.is_own(name) else ():
        for set_name in suite.sets:
            try:
                tasks(suite, (set_name,), Scale(size=size))
            except UsageError as error:
                where = f"{name}: sets.{set_name}, at size {size}"
                raise UsageError(f"{where}: {error.message}", hint=error.hint) from None
    return suite


def tasks(suite: Suite, sets: tuple[str, ...], scale: Scale) -> tuple[Task, ...]:
    """Return the driver's tasks, in the order of ``sets``.

    With several numbers of threads a set is one task for each of them, ``SET@THREADS``.
    """
    return tuple(task for name in sets for task in _tasks(name, suite, scale))


def _tasks(name: str, suite: Suite, scale: Scale) -> Iterator[Task]:
    declared = suite.sets[name]
    if isinstance(declared, NumberedSet):
        yield Task(set=name, size=declared.sizes[scale.size], seed=_first_seed(suite))
        return
    driver = load_driver_of(ServerDriver, suite.driver)
    size = suite.server_sizes[scale.size]
    thread_counts = scale.threads or size.threads
    several = len(thread_counts) > 1
    for threads in (declared.threads,) if declared.threads else thread_counts:
        run = ClientRun(
            job=driver.job(declared.own),
            threads=threads,
            seconds=_seconds(declared, size, suite, scale),
            data=data_set(suite, scale),
            events=declared.events,
            parts=tuple(declared.parts),
        )
        yield Task(set=name_at_threads(name, threads) if several else name, run=run)


def data_set(suite: Suite, scale: Scale) -> DataSet:
    """Return the data that a server is loaded with at this scale.

    Raises UsageError for a key that the driver does not know.
    """
    driver = load_driver_of(ServerDriver, suite.driver)
    size = suite.server_sizes[scale.size]
    return driver.data_set(size.own | dict(scale.data), suite.scripts, _first_seed(suite))


def _first_seed(suite: Suite) -> int | None:
    return 1 if suite.fresh_loads else None


def _seconds(declared: ServerSet, size: ServerSize, suite: Suite, scale: Scale) -> float:
    """Return for how many seconds a set runs; an estimate if it ends by itself.

    A warm-up grows with the data, but ignores longer steps: it only has to fill the caches.
    """
    default = size.seconds[declared.kind]
    requested = scale.seconds or default
    if declared.events is None and not declared.warm_up:
        return requested
    growth = _growth(suite, scale)
    if declared.events is not None:
        return default * growth
    return min(requested, float(math.ceil(default * max(1.0, growth))))


def _growth(suite: Suite, scale: Scale) -> float:
    """Return how many times as large as the size's own the data is."""
    own = data_set(suite, Scale(size=scale.size, data=scale.files))
    return data_set(suite, scale).volume / own.volume


def training_scale(suite: Suite, scale: Scale, size: str) -> Scale:
    """Return the scale for training at a size, with the largest number of threads.

    At the experiment's own size the data is the experiment's, otherwise the size's.
    """
    if not suite.server_sizes:
        return Scale(size=size)
    others = Scale(size=size, regime=scale.regime, data=scale.files)
    chosen = scale if size == scale.size else others
    return with_largest_threads(suite, chosen)


def warm_up_tasks(suite: Suite, scale: Scale) -> tuple[Task, ...]:
    """Return the tasks that fill a server's caches after its start."""
    return tasks(suite, suite.warm_ups(), with_largest_threads(suite, scale))


def with_largest_threads(suite: Suite, scale: Scale) -> Scale:
    """Return the scale with one number of threads, the largest."""
    thread_counts = scale.threads or suite.server_sizes[scale.size].threads
    return dataclasses.replace(scale, threads=(max(thread_counts),))


def cache_bytes(suite: Suite, scale: Scale) -> int:
    """Return the size of the server's cache at this scale, in bytes."""
    sizes = suite.server_sizes[scale.size].cache
    return scale.cache_bytes or sizes.get(scale.regime, sizes[Regime.CACHED])
