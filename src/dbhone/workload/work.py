"""What drivers are asked for: the sets of a suite at the scale that an experiment wants."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

from dbhone.workload.suite import NumberedSet, Regime, ScriptedSet, ServerSize, Suite

_THREADS = "@"
_FAR_TOO_LONG = 100
"""By which factor the slowest machine and server may miss what a suite says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a suite is in one experiment: a named size, and what is said besides.

    None takes the size's own value. ``seconds`` holds for reading and writing steps alike.
    """

    size: str
    regime: Regime = Regime.CACHED
    threads: tuple[int, ...] | None = None
    tables: int | None = None
    rows: int | None = None
    seconds: float | None = None
    cache_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The data that a server is loaded with: so many tables, so many rows in each.

    ``family`` is the folder of the suite, whose scripts load them. ``seed`` is that of the
    random values, None where the data is always the same.
    """

    tables: int
    rows: int
    family: str = "sysbench"
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """One run of a driver's script: by so many clients, for so many seconds.

    ``options`` are the script's, without the dashes. With ``events`` it is run so often, however
    long that takes, and ``seconds`` is about how long.
    """

    script: str
    options: tuple[tuple[str, str], ...]
    threads: int
    seconds: float
    tables: Tables
    events: int | None = None

    @property
    def patience(self) -> float:
        """After how many seconds it hangs, the driver's start and end not counted."""
        return self.seconds * (2 if self.events is None else _FAR_TOO_LONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one start of the driver is asked for: a set at a size, or a run of a script.

    ``set`` is the name under which it is measured, ``source`` the set of the suite's file;
    they differ when a run has several numbers of threads. ``seed`` is that of the random values
    that an embedded DBMS's driver makes, None where they are always the same.
    """

    set: str
    size: int = 0
    run: ScriptRun | None = None
    seed: int | None = None

    @property
    def source(self) -> str:
        """The set of the suite's file."""
        return self.set.partition(_THREADS)[0]


def tasks(suite: Suite, sets: tuple[str, ...], scale: Scale) -> tuple[Task, ...]:
    """Return what the driver is asked for, in the order of ``sets``.

    With several numbers of threads a set is one task for each of them, ``SET@THREADS``.
    """
    return tuple(task for name in sets for task in _tasks(name, suite, scale))


def _tasks(name: str, suite: Suite, scale: Scale) -> Iterator[Task]:
    chosen = suite.sets[name]
    if isinstance(chosen, NumberedSet):
        yield Task(set=name, size=chosen.sizes[scale.size], seed=_first_seed(suite))
        return
    size = suite.server_sizes[scale.size]
    numbers = scale.threads or size.threads
    several = len(numbers) > 1
    for threads in (chosen.threads,) if chosen.threads else numbers:
        run = ScriptRun(
            script=chosen.script,
            options=tuple(chosen.options.items()),
            threads=threads,
            seconds=_seconds(chosen, size, scale),
            tables=tables_of(suite, scale),
            events=chosen.events,
        )
        yield Task(set=f"{name}{_THREADS}{threads}" if several else name, run=run)


def tables_of(suite: Suite, scale: Scale) -> Tables:
    """Return the data that a server's suite needs at this scale."""
    size = suite.server_sizes[scale.size]
    return Tables(
        tables=scale.tables or size.tables,
        rows=scale.rows or size.rows,
        family=suite.family,
        seed=_first_seed(suite),
    )


def seeded(task: Task, seed: int) -> Task:
    """Return the task on other random data."""
    if task.run is None:
        return dataclasses.replace(task, seed=seed)
    tables = dataclasses.replace(task.run.tables, seed=seed)
    return dataclasses.replace(task, run=dataclasses.replace(task.run, tables=tables))


def lasting(task: Task, seconds: float | None) -> Task:
    """Return the task as it asks for so many seconds; as it is with None, or without a run."""
    if task.run is None or seconds is None:
        return task
    return dataclasses.replace(task, run=dataclasses.replace(task.run, seconds=seconds))


def _first_seed(suite: Suite) -> int | None:
    return 1 if suite.fresh_loads else None


def _seconds(chosen: ScriptedSet, size: ServerSize, scale: Scale) -> float:
    """Return how long a set is run, or about how long it takes if it ends by itself.

    What fills caches takes no longer than the size says for as many data, however long steps last.
    """
    usual = size.seconds[chosen.kind]
    rows = (scale.rows or size.rows) / size.rows
    if chosen.events is not None:
        return usual * rows
    asked = scale.seconds or usual
    if not chosen.warm_up:
        return asked
    data = rows * (scale.tables or size.tables) / size.tables
    return min(asked, float(math.ceil(usual * max(1.0, data))))


def at_size(suite: Suite, scale: Scale, size: str) -> Scale:
    """Return the scale for training: one number of threads, the tables of the experiment.

    At another size than the experiment's the tables are that size's own.
    """
    if not suite.server_sizes:
        return Scale(size=size)
    chosen = scale if size == scale.size else Scale(size=size, regime=scale.regime)
    return narrow(suite, chosen)


def prolonged(task: Task, share: float) -> Task:
    """Return the task with its time multiplied, in whole seconds, at least one.

    What ends by itself is as it was.
    """
    if task.run is None or task.run.events is not None:
        return task
    seconds = max(1.0, float(round(task.run.seconds * share)))
    return dataclasses.replace(task, run=dataclasses.replace(task.run, seconds=seconds))


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
