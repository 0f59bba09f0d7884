"""A run's measurements as columns, as fast as rows can be fetched.

A million measurements are six million values. SQLAlchemy's result rows would cost more time
than the database itself, so the values go straight from the driver's cursor into one array,
and what a join would add to each row (subject, block) is looked up there in numpy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.engine.interfaces import DBAPICursor

from dbhone.measurement.metric import METRICS
from dbhone.measurement.record import Samples
from dbhone.measurement.tables import COUNTS, INVOCATIONS, MEASUREMENTS, STEPS, SUBJECTS

_BATCH = 2_000
Select: TypeAlias = sa.Select[Any]
Floats: TypeAlias = NDArray[np.float64]
Ids: TypeAlias = NDArray[np.int64]


def load(connection: sa.Connection, run_id: int) -> Samples:
    """Return the samples of a run, in the order in which they were measured."""
    subjects = _names(connection, _subjects(run_id))
    steps = _names(connection, _steps(run_id))
    invocations = _matrix(connection, _invocations(run_id)).astype(np.int64)
    rows = _matrix(connection, _measurements(run_id))
    place = _find(rows[:, 0].astype(np.int64), invocations[:, 0])
    counts = place >= 0
    if not counts.all():
        rows, place = rows[counts], place[counts]
    subject = _find(invocations[:, 2], subjects[0])
    return Samples(
        subjects=subjects[1],
        steps=steps[1],
        subject=subject[place].astype(np.int32),
        step=_find(rows[:, 1].astype(np.int64), steps[0]).astype(np.int32),
        block=invocations[place, 1].astype(np.int32),
        values={
            metric.name: np.ascontiguousarray(rows[:, 2 + column])
            for column, metric in enumerate(METRICS)
        },
    )


def _subjects(run_id: int) -> Select:
    table = SUBJECTS.c
    return (
        sa.select(table.id, table.name)
        .where(table.run_id == run_id)
        .order_by(table.position, table.id)
    )


def _steps(run_id: int) -> Select:
    table = STEPS.c
    return (
        sa.select(table.id, table.set_name, table.step_key)
        .where(table.run_id == run_id)
        .order_by(table.position, table.id)
    )


def _invocations(run_id: int) -> Select:
    table = INVOCATIONS.c
    return (
        sa.select(table.id, table.block, table.subject_id)
        .where(table.run_id == run_id, COUNTS)
        .order_by(table.id)
    )


def _measurements(run_id: int) -> Select:
    table = MEASUREMENTS.c
    return (
        sa.select(table.invocation_id, table.step_id, *(table[metric.name] for metric in METRICS))
        .where(table.run_id == run_id)
        .order_by(table.invocation_id, table.step_id)
    )


def _names(connection: sa.Connection, statement: Select) -> tuple[Ids, tuple[str, ...]]:
    rows = connection.execute(statement).all()
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    return ids, tuple("/".join(row[1:]) for row in rows)


def _matrix(connection: sa.Connection, statement: Select) -> Floats:
    """Return the rows of a query for numbers; NULL is NaN. Ids are exact up to 2**53."""
    text = str(statement.compile(connection, compile_kwargs={"literal_binds": True}))
    cursor = connection.connection.cursor()
    try:
        cursor.execute(text)
        rows = itertools.chain.from_iterable(_batches(cursor))
        values = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.float64)
    finally:
        cursor.close()
    return values.reshape(-1, len(statement.selected_columns))


def _batches(cursor: DBAPICursor) -> Iterator[Sequence[Any]]:
    while batch := cursor.fetchmany(_BATCH):
        yield batch


def _find(wanted: Ids, ids: Ids) -> Ids:
    """Return where each of ``wanted`` stands in ``ids``, -1 for those that do not."""
    if not len(ids):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    near = np.searchsorted(ids, wanted, sorter=order).clip(max=len(ids) - 1)
    place = order[near]
    return np.where(ids[place] == wanted, place, -1)
