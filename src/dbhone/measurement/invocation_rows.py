"""Writes what one invocation brings, and reads it again: measurements, series, slices, progress.

Records become rows and rows become records here; ``rows.py`` does the same for what a run is."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from dbhone.errors import StoreError
from dbhone.measurement.record import Invocation, Slice, Sliced
from dbhone.measurement.rows import (
    Done,
    check_measurement,
    record_of,
    step_of,
    values_of,
)
from dbhone.measurement.series import Observation, Quantity, Series, SeriesKind
from dbhone.measurement.tables import (
    COUNTS,
    INVOCATIONS,
    MEASUREMENTS,
    OUTPUTS,
    SERIES,
    SLICES,
    STEPS,
    SUBJECTS,
)


def series_values(invocation_id: int, series: Series) -> dict[str, Any]:
    """Return the row of a series: milliseconds, and no more digits than a reading deserves."""
    return {
        "invocation_id": invocation_id,
        "quantity": series.quantity.name,
        "unit": series.quantity.unit,
        "kind": series.quantity.kind,
        "seconds": [round(moment, 3) for moment in series.at],
        "readings": [_short(value) for value in series.values],
    }


def _short(value: float) -> float:
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def observation_of(rows: Sequence[sa.RowMapping]) -> Observation:
    """Return what the rows of ``series`` of one invocation, joined with it, are."""
    return record_of(Observation, rows[0], series=tuple(_series_of(row) for row in rows))


def _series_of(row: sa.RowMapping) -> Series:
    return Series(
        quantity=Quantity(name=row["quantity"], unit=row["unit"], kind=SeriesKind(row["kind"])),
        at=tuple(row["seconds"]),
        values=tuple(float(reading) for reading in row["readings"]),
    )


def _slice_values(invocation_id: int, measured: Slice) -> dict[str, Any]:
    """Return the row of a slice, with its times in microseconds.

    It is written out because an invocation may have thousands of slices.
    """
    return {
        "invocation_id": invocation_id,
        "round_number": measured.round,
        "position": measured.position,
        "began": round(measured.began, 6),
        "seconds": round(measured.seconds, 6),
        "operations": measured.operations,
        "errors": measured.errors,
        "counted": measured.counted,
    }


def sliced_of(rows: Sequence[sa.RowMapping]) -> Iterator[Sliced]:
    """Yield what rows of ``slices``, joined with their invocations and in their order, are."""
    for _, group in itertools.groupby(rows, lambda row: row["id"]):
        own = list(group)
        yield record_of(Sliced, own[0], slices=tuple(record_of(Slice, row) for row in own))


class Described:
    """The ids of what was described of a run, by name."""

    def __init__(self, connection: sa.Connection, run_id: int) -> None:
        subject = SUBJECTS.c
        subjects = sa.select(subject.name, subject.id).where(subject.run_id == run_id)
        steps = sa.select(STEPS).where(STEPS.c.run_id == run_id)
        self.run_id = run_id
        self.subjects = {row.name: row.id for row in connection.execute(subjects)}
        step_rows = connection.execute(steps).mappings()
        self.steps = {step_of(row).name: row["id"] for row in step_rows}

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
    values = values_of(
        INVOCATIONS,
        invocation,
        run_id=run_id,
        subject_id=described.subject(invocation.subject),
        superseded=False,
    )
    for measurement in invocation.measurements:
        check_measurement(measurement)
    try:
        invocation_id = insert(connection, INVOCATIONS, values)
    except sa.exc.IntegrityError as error:
        raise StoreError(
            f"run {run_id} has already measured {invocation.subject} on {invocation.set}"
            f" in block {invocation.block}: nothing is recorded"
        ) from error
    output = {"invocation_id": invocation_id, "zlib": zlib.compress(invocation.raw_output)}
    connection.execute(sa.insert(OUTPUTS), output)
    if invocation.series:
        observed = [series_values(invocation_id, series) for series in invocation.series]
        connection.execute(sa.insert(SERIES), observed)
    if invocation.slices:
        sliced = [_slice_values(invocation_id, one_slice) for one_slice in invocation.slices]
        connection.execute(sa.insert(SLICES), sliced)
    ids = {"run_id": run_id, "invocation_id": invocation_id}
    measured = [
        values_of(MEASUREMENTS, measurement, step_id=described.step(measurement.step), **ids)
        for measurement in invocation.measurements
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
    """Insert a row, or update the one that has this key, which is unique; return its id."""
    row = sqlite.insert(table).values({**key, **values})
    connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=values))
    same = sa.and_(*(table.c[name] == value for name, value in key.items()))
    return int(connection.execute(sa.select(table.c.id).where(same)).scalar_one())


SELECT_DONE = sa.select(INVOCATIONS, SUBJECTS.c.name.label("subject")).join(
    SUBJECTS, SUBJECTS.c.id == INVOCATIONS.c.subject_id
)
"""Selects what a ``Done`` is made of: invocations with the names of their subjects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is, by the invocations that count.

    ``blocks`` is the number of blocks in which anything was measured, ``failures`` that of
    invocations that failed. ``latest`` is the newest invocation, None if there is none yet;
    ``in_block`` is how many its block has. Whatever is recorded of a run changes its progress.
    """

    invocations: int
    blocks: int
    failures: int
    latest: Done | None
    in_block: int


def load_progress(connection: sa.Connection, run_id: int) -> Progress:
    """Read how far a run is."""
    columns = INVOCATIONS.c
    of_run = sa.and_(columns.run_id == run_id, COUNTS)
    counts = sa.select(
        sa.func.count(),
        sa.func.count(columns.block.distinct()),
        sa.func.count(columns.failure),
        sa.func.max(columns.id),
    ).where(of_run)
    invocations, blocks, failures, newest = connection.execute(counts).one()
    newest_row = connection.execute(SELECT_DONE.where(columns.id == newest)).mappings().first()
    latest = None if newest_row is None else record_of(Done, newest_row)
    beside = sa.select(sa.func.count()).where(
        of_run, columns.block == (latest.block if latest else -1)
    )
    return Progress(
        invocations=invocations,
        blocks=blocks,
        failures=failures,
        latest=latest,
        in_block=connection.scalar(beside) or 0,
    )
