"""A run's measurements as columns, as fast as rows can be fetched.

A million measurements are many million values. SQLAlchemy's result rows would cost more time
than the database itself, so the values go straight from the driver's cursor into one array,
and what a join would add to each row (subject, block) is looked up there in numpy. What only
servers have is not fetched for a run that has none of it.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from dbhone.measurement.metric import (
    CPU_SECONDS,
    FIGURES,
    INSTRUCTIONS,
    PEAK_MEMORY,
    THROUGHPUT,
    Metric,
)
from dbhone.measurement.record import LEAST_OPERATIONS
from dbhone.measurement.round_noise import level_variances
from dbhone.measurement.rows import step_of
from dbhone.measurement.sample_array import Array, SampleArray
from dbhone.measurement.stall_noise import StallNoise
from dbhone.measurement.stalls import TrialStalls, trial_stalls, with_unseen
from dbhone.measurement.tables import COUNTS, INVOCATIONS, MEASUREMENTS, SLICES, STEPS, SUBJECTS

_COMMON = (THROUGHPUT, CPU_SECONDS, INSTRUCTIONS, PEAK_MEMORY)
"""What is measured of an embedded DBMS too."""
_PAUSE_FACTOR, _PAUSE_SECONDS = 3.0, 600.0
"""A run was cut off between two blocks if the second began later than so many times what the first
one's invocations took, and this on top: restarts and data take less."""
_EXACT = 2**53
"""Whole numbers up to this one are exact as floating-point numbers."""
_MOST_BLOCKS = 2**31 - 1
Select: TypeAlias = sa.Select[Any]
Ids: TypeAlias = NDArray[np.int64]
Named: TypeAlias = tuple[Ids, tuple[str, ...]]


def load(connection: sa.Connection, run_id: int) -> SampleArray:
    """Return the samples of a run.

    Raises ValueError for numbers that no hone has written.
    """
    subjects = _subjects(connection, run_id)
    steps = _steps(connection, run_id)
    invocations = _whole_numbers(_matrix(connection, _invocations(run_id)))
    figures = FIGURES if _has_more(connection, run_id) else _COMMON
    rows = _matrix(connection, _measurements(run_id, figures))
    place = _find(_whole_numbers(rows[:, 0]), invocations[:, 0])
    counts = place >= 0
    if not counts.all():
        rows, place = rows[counts], place[counts]
    subject = _find(invocations[:, 2], subjects[0])[place]
    step = _find(_whole_numbers(rows[:, 1]), steps[0])
    if (subject < 0).any() or (step < 0).any():
        raise ValueError("a measurement is of no subject or step of its run")
    within, stalls = _by_rounds(connection, run_id, invocations, place, subject, step)
    return SampleArray.of_columns(
        subjects=subjects[1],
        steps=steps[1],
        subject=subject.astype(np.int32),
        step=step.astype(np.int32),
        block=_whole_numbers(invocations[place, 1], most=_MOST_BLOCKS).astype(np.int32),
        values=_values(rows[:, 2:], figures),
        within=within,
        stalls=stalls,
        block_seconds=_block_seconds(connection, run_id),
    )


def _values(matrix: Array, figures: Sequence[Metric]) -> dict[str, Array]:
    """Return a column for each figure that can be stored; those not in the matrix are NaN."""
    known = {
        metric.name: np.ascontiguousarray(matrix[:, column])
        for column, metric in enumerate(figures)
    }
    nothing = np.full(len(matrix), np.nan)
    return {metric.name: known.get(metric.name, nothing) for metric in FIGURES}


def _by_rounds(
    connection: sa.Connection,
    run_id: int,
    invocations: Ids,
    place: Ids,
    subject: Ids,
    step: Ids,
) -> tuple[Array | None, StallNoise | None]:
    """Return what rounds show of each measurement's log throughput: its variance, and its stalls.

    ``place`` has each measurement's row in ``invocations``, ``subject`` and ``step`` whose it is.
    Both are None without slices, and stalls are if there were none.
    """
    slices = _matrix(connection, _slices(run_id))
    owner = _find(_whole_numbers(slices[:, 0]), invocations[place, 0])
    # What failed has slices, but no measurement that they could tell of.
    slices, owner = slices[owner >= 0], owner[owner >= 0]
    if not len(slices):
        return None, None
    rates = np.log(np.maximum(slices[:, 2], LEAST_OPERATIONS) / slices[:, 3])
    variances, stalls = np.full(len(place), np.nan), np.zeros((3, len(place)))
    trials = np.stack([invocations[place[owner], 1], step[owner]], axis=-1)
    _, trial = np.unique(trials, axis=0, return_inverse=True)
    for rows in np.split(np.argsort(trial, kind="stable"), np.cumsum(np.bincount(trial))[:-1]):
        own, column = np.unique(owner[rows], return_inverse=True)
        _, line = np.unique(slices[rows, 1], return_inverse=True)
        table = np.full((line.max() + 1, len(own), 2), np.nan)
        table[line, column] = np.stack([rates[rows], slices[rows, 3]], axis=-1)
        logs, seconds = np.moveaxis(table[~np.isnan(table).any(axis=(1, 2))], -1, 0)
        variances[own] = level_variances(logs)
        found = trial_stalls(logs, seconds)
        stalls[:, own] = found.count, found.variance, found.third
    if not stalls.any():
        return variances, None
    sliced, noise = np.unique(owner), StallNoise.none(variances.shape)
    count, variance, third = stalls[:, sliced]
    seen = TrialStalls(count=count, variance=variance, third=third)
    noise[sliced] = with_unseen(seen, subject[sliced], step[sliced])
    return variances, noise


def _slices(run_id: int) -> Select:
    table = SLICES.c
    return (
        sa.select(table.invocation_id, table.round_number, table.operations, table.seconds)
        .join(INVOCATIONS, INVOCATIONS.c.id == table.invocation_id)
        .where(INVOCATIONS.c.run_id == run_id, COUNTS, table.counted)
    )


def _subjects(connection: sa.Connection, run_id: int) -> Named:
    table = SUBJECTS.c
    statement = (
        sa.select(table.id, table.name)
        .where(table.run_id == run_id)
        .order_by(table.position, table.id)
    )
    rows = connection.execute(statement).all()
    return _ids(row.id for row in rows), tuple(row.name for row in rows)


def _steps(connection: sa.Connection, run_id: int) -> Named:
    table = STEPS.c
    statement = sa.select(STEPS).where(table.run_id == run_id).order_by(table.position, table.id)
    rows = connection.execute(statement).mappings().all()
    return _ids(row["id"] for row in rows), tuple(step_of(row).name for row in rows)


def _ids(ids: Iterable[int]) -> Ids:
    return np.fromiter(ids, dtype=np.int64)


def _invocations(run_id: int) -> Select:
    table = INVOCATIONS.c
    return (
        sa.select(table.id, table.block, table.subject_id)
        .where(table.run_id == run_id, COUNTS)
        .order_by(table.id)
    )


def _block_seconds(connection: sa.Connection, run_id: int) -> float | None:
    """Return the median time from the start of a block to that of the next.

    Where a run was cut off, the time until it went on is left out. Blocks of which none other
    followed at once take what their invocations take.
    """
    table = INVOCATIONS.c
    statement = (
        sa.select(sa.func.min(table.started_at), sa.func.sum(table.seconds))
        .where(table.run_id == run_id, COUNTS)
        .group_by(table.block)
        .order_by(sa.func.min(table.started_at))
    )
    blocks = [(start, float(seconds)) for start, seconds in connection.execute(statement)]
    if not blocks:
        return None
    gaps = [
        gap
        for (start, seconds), (following, _) in itertools.pairwise(blocks)
        if (gap := (following - start).total_seconds()) < seconds * _PAUSE_FACTOR + _PAUSE_SECONDS
    ]
    return float(statistics.median_low(gaps or [seconds for _, seconds in blocks]))


def _has_more(connection: sa.Connection, run_id: int) -> bool:
    """Return whether any measurement of the run has more than the common figures.

    A server's first measurement shows it at once; a scan shows quickly that there are none.
    """
    table = MEASUREMENTS.c
    more = (table[metric.name] for metric in FIGURES if metric not in _COMMON)
    any_of_them = sa.func.coalesce(*more).is_not(None)
    statement = sa.select(table.run_id).where(table.run_id == run_id, any_of_them).limit(1)
    return connection.scalar(statement) is not None


def _measurements(run_id: int, figures: Sequence[Metric]) -> Select:
    table = MEASUREMENTS.c
    return (
        sa.select(table.invocation_id, table.step_id, *(table[metric.name] for metric in figures))
        .where(table.run_id == run_id)
        .order_by(table.invocation_id, table.step_id)
    )


def _matrix(connection: sa.Connection, statement: Select) -> Array:
    """Return the rows of a query for numbers; NULL is NaN. Ids are exact up to 2**53."""
    text = str(statement.compile(connection, compile_kwargs={"literal_binds": True}))
    cursor = connection.connection.cursor()
    try:
        cursor.execute(text)
        # PEP 249 calls it an extension, but every driver's cursor can be iterated.
        rows = cast("Iterable[Sequence[Any]]", cursor)
        values = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.float64)
    finally:
        cursor.close()
    return values.reshape(-1, len(statement.selected_columns))


def _whole_numbers(values: NDArray[Any], *, most: int = _EXACT) -> Ids:
    """Return ids or numbers of blocks. Raises ValueError for what is none."""
    if not (np.abs(values) <= most).all():  # NaN is not either
        raise ValueError(f"a number is missing, or beyond {most}")
    return values.astype(np.int64)


def _find(wanted: Ids, ids: Ids) -> Ids:
    """Return where each of ``wanted`` stands in ``ids``, -1 for those that do not."""
    if not len(ids):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    near = np.searchsorted(ids, wanted, sorter=order).clip(max=len(ids) - 1)
    place = order[near]
    return np.where(ids[place] == wanted, place, -1)
