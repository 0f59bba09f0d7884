"""How far a run is, from what was recorded of it."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from dbhone.measurement.rows import Done, done_of
from dbhone.measurement.tables import COUNTS, INVOCATIONS, SUBJECTS

DONE = sa.select(INVOCATIONS, SUBJECTS.c.name.label("subject")).join(
    SUBJECTS, SUBJECTS.c.id == INVOCATIONS.c.subject_id
)
"""Selects what ``done_of`` takes: invocations with the names of their subjects."""


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


def load(connection: sa.Connection, run_id: int) -> Progress:
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
    newest_row = connection.execute(DONE.where(columns.id == newest)).mappings().first()
    latest = done_of(newest_row) if newest_row is not None else None
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
