"""Writes rows of the store: one, one in place of another, and all that an invocation brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from dbhone.errors import StoreError
from dbhone.measurement.record import Invocation
from dbhone.measurement.rows import (
    check_measurement,
    invocation_values,
    measurement_values,
    packed,
    step_of,
)
from dbhone.measurement.series_rows import series_values
from dbhone.measurement.slice_rows import slice_values
from dbhone.measurement.tables import (
    INVOCATIONS,
    MEASUREMENTS,
    OUTPUTS,
    SERIES,
    SLICES,
    STEPS,
    SUBJECTS,
)


class Described:
    """The ids of what was described of a run, by name."""

    def __init__(self, connection: sa.Connection, run_id: int) -> None:
        subject = SUBJECTS.c
        subjects = sa.select(subject.name, subject.id).where(subject.run_id == run_id)
        steps = sa.select(STEPS).where(STEPS.c.run_id == run_id)
        self.run_id = run_id
        self.subjects = {row.name: row.id for row in connection.execute(subjects)}
        found = connection.execute(steps).mappings()
        self.steps = {step_of(row).name: row["id"] for row in found}

    def subject(self, name: str) -> int:
        """Return the id of a subject. Raises StoreError if there is none of this name."""
        return self._of(self.subjects, name, "subject")

    def step(self, name: str) -> int:
        """Return the id of a step. Raises StoreError if there is none of this name."""
        return self._of(self.steps, name, "step")

    def _of(self, ids: Mapping[str, int], name: str, kind: str) -> int:
        if name not in ids:
            raise StoreError(f"run {self.run_id} has no {kind} '{name}': nothing is recorded")
        return ids[name]


def record(connection: sa.Connection, described: Described, invocation: Invocation) -> None:
    """Write an invocation with its output, its measurements, and what was seen meanwhile.

    Raises StoreError if it is there already, or if its subject or a step was never described.
    """
    run_id = described.run_id
    values = invocation_values(run_id, described.subject(invocation.subject), invocation)
    for measurement in invocation.measurements:
        check_measurement(measurement)
    try:
        invocation_id = insert(connection, INVOCATIONS, values)
    except sa.exc.IntegrityError as error:
        raise StoreError(
            f"run {run_id} has already measured {invocation.subject} on {invocation.set}"
            f" in block {invocation.block}: nothing is recorded"
        ) from error
    output = {"invocation_id": invocation_id, "zlib": packed(invocation.raw_output)}
    connection.execute(sa.insert(OUTPUTS), output)
    if invocation.series:
        observed = [series_values(invocation_id, each) for each in invocation.series]
        connection.execute(sa.insert(SERIES), observed)
    if invocation.slices:
        sliced = [slice_values(invocation_id, each) for each in invocation.slices]
        connection.execute(sa.insert(SLICES), sliced)
    measured = [
        measurement_values(invocation_id, run_id, described.step(each.step), each)
        for each in invocation.measurements
    ]
    if measured:
        connection.execute(sa.insert(MEASUREMENTS), measured)


def insert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> int:
    """Insert a row; return its id."""
    key = connection.execute(sa.insert(table), dict(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def put(
    connection: sa.Connection, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any]
) -> int:
    """Insert a row, or update the one that has this key; return its id.

    It is written out because databases spell an upsert each in its own way.
    """
    same = sa.and_(*(table.c[name] == value for name, value in key.items()))
    found = connection.scalar(sa.select(table.c.id).where(same))
    if found is None:
        return insert(connection, table, {**key, **values})
    if values:
        connection.execute(sa.update(table).where(same).values(**values))
    return int(found)
