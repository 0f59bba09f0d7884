"""What drivers are asked for: the sets of a suite at the scale that an experiment wants."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from dbhone.workload.drivers.base import ServerDriver, load_driver_of
from dbhone.workload.suite import NumberedSet, Regime, ServerSet, ServerSize, Suite
from dbhone.workload.task import DataSet, Run, Scale, Task, at_threads


def tasks(suite: Suite, sets: tuple[str, ...], scale: Scale) -> tuple[Task, ...]:
    """Return what the driver is asked for, in the order of ``sets``.

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
    numbers = scale.threads or size.threads
    several = len(numbers) > 1
    for threads in (declared.threads,) if declared.threads else numbers:
        run = Run(
            job=driver.job(declared.own),
            threads=threads,
            seconds=_seconds(declared, size, suite, scale),
            data=data_of(suite, scale),
            events=declared.events,
        )
        yield Task(set=at_threads(name, threads) if several else name, run=run)


def data_of(suite: Suite, scale: Scale) -> DataSet:
    """Return the data that a server's suite needs at this scale.

    Raises UsageError for what the driver does not understand.
    """
    driver = load_driver_of(ServerDriver, suite.driver)
    size = suite.server_sizes[scale.size]
    return driver.data_set(size.own | dict(scale.data), suite.scripts, _first_seed(suite))


def _first_seed(suite: Suite) -> int | None:
    return 1 if suite.fresh_loads else None


def _seconds(declared: ServerSet, size: ServerSize, suite: Suite, scale: Scale) -> float:
    """Return how long a set is run, or about how long it takes if it ends by itself.

    What fills caches takes no longer than the size says for as many data, however long steps last.
    """
    usual = size.seconds[declared.kind]
    usual_data = data_of(suite, Scale(size=scale.size))
    growth = data_of(suite, scale).volume / usual_data.volume
    if declared.events is not None:
        return usual * growth
    asked = scale.seconds or usual
    if not declared.warm_up:
        return asked
    return min(asked, float(math.ceil(usual * max(1.0, growth))))


def at_size(suite: Suite, scale: Scale, size: str) -> Scale:
    """Return the scale for training: one number of threads, the data of the experiment.

    At another size than the experiment's the data are that size's own.
    """
    if not suite.server_sizes:
        return Scale(size=size)
    chosen = scale if size == scale.size else Scale(size=size, regime=scale.regime)
    return narrow(suite, chosen)


def warm_up_tasks(suite: Suite, scale: Scale) -> tuple[Task, ...]:
    """Return what fills a server's caches after its start, by the largest number of threads."""
    return tasks(suite, suite.warm_ups(), narrow(suite, scale))


def narrow(suite: Suite, scale: Scale) -> Scale:
    """Return the scale with one number of threads, the largest."""
    numbers = scale.threads or suite.server_sizes[scale.size].threads
    return dataclasses.replace(scale, threads=(max(numbers),))


def cache_bytes(suite: Suite, scale: Scale) -> int:
    """Return how large the server's cache is at this scale, in bytes."""
    sizes = suite.server_sizes[scale.size].cache
    return scale.cache_bytes or sizes.get(scale.regime, sizes[Regime.CACHED])
