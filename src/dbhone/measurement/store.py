"""The store: every run and every measurement, kept whatever happens to hone or to the machine.

An invocation is committed, with its measurements and all that the driver printed, before
``record`` returns; a commit is on the disk. No measurement is deleted, except with a run that a
user deletes. Several processes may use one store at once; a ``Store`` may be used by several
threads.
``docs/store.md`` tells how the tables look to people.

Every method raises StoreError when the store cannot be read or written, MachineError when its
disk is full, and UsageError for a run that does not exist.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

import sqlalchemy as sa

from dbhone.errors import UsageError
from dbhone.measurement import columns
from dbhone.measurement.database import Database, open_database, open_to_read
from dbhone.measurement.invocation_rows import (
    SELECT_DONE,
    Described,
    Progress,
    insert,
    load_progress,
    observation_of,
    put,
    record,
    sliced_of,
)
from dbhone.measurement.record import (
    Code,
    Invocation,
    Run,
    RunningServer,
    Sliced,
    Step,
    Subject,
    Warning,
)
from dbhone.measurement.rows import (
    Done,
    NewRun,
    RunChange,
    RunSummary,
    change_values,
    machine_values,
    record_of,
    run_of,
    run_values,
    subject_values,
    summary_of,
    values_of,
    warning_values,
)
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation
from dbhone.measurement.tables import (
    COUNTS,
    INVOCATIONS,
    MACHINES,
    METADATA,
    RUNS,
    SERIES,
    SLICES,
    STEPS,
    SUBJECTS,
    WARNINGS,
)

__all__ = ["Done", "NewRun", "Progress", "RunChange", "RunSummary", "Store"]


class Store:
    """An open store. Use it as a context manager: leaving it closes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open the store in a file; make it or migrate it if needed.

        Raises StoreError if that cannot be done, or if a newer hone wrote it.
        """
        return cls(open_database(path))

    @classmethod
    def open_to_read(cls, path: Path) -> Store:
        """Open the store in a file so that nothing can be written to it; a hone may meanwhile.

        Raises StoreError if there is none, if its tables are older or newer than this hone's, or
        if it cannot be opened.
        """
        return cls(open_to_read(path))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    def create_run(self, new: NewRun) -> Run:
        """Keep a run that begins now, and return it with its number."""
        with self._database.writing("beginning a run") as connection:
            machine = machine_values(new.machine)
            machine_id = put(connection, MACHINES, {"digest": machine.pop("digest")}, machine)
            values = run_values(new, machine_id, datetime.now(UTC))
            run_id = insert(connection, RUNS, values)
            return _run(connection, run_id)

    def set_subject(self, run_id: int, position: int, subject: Subject) -> None:
        """Keep a subject of the run, in place of one of the same name."""
        with self._changing(run_id, f"describing {subject.name}") as connection:
            values = subject_values(run_id, position, subject)
            key = {name: values.pop(name) for name in ("run_id", "name")}
            put(connection, SUBJECTS, key, values)

    def set_running(self, run_id: int, name: str, running: RunningServer) -> None:
        """Keep what the server of a subject says once it runs."""
        condition = sa.and_(SUBJECTS.c.run_id == run_id, SUBJECTS.c.name == name)
        statement = sa.update(SUBJECTS).where(condition).values(running=asdict(running))
        with self._changing(run_id, f"noting how {name} runs") as connection:
            connection.execute(statement)

    def set_steps(self, run_id: int, steps: Sequence[Step]) -> None:
        """Keep the steps of the run, in this order; those known are updated, none is removed."""
        with self._changing(run_id, "describing the steps") as connection:
            for position, step in enumerate(steps):
                values = values_of(STEPS, step, run_id=run_id, position=position)
                key = {name: values.pop(name) for name in ("run_id", "set_name", "step_key")}
                put(connection, STEPS, key, values)

    def add_warning(self, run_id: int, warning: Warning) -> None:
        """Keep a warning; of one code about one subject and step the latest text is kept."""
        with self._changing(run_id, f"keeping the warning {warning.code}") as connection:
            values = warning_values(run_id, warning)
            message = {"message": values.pop("message")}
            put(connection, WARNINGS, values, message)

    def withdraw_warning(self, run_id: int, code: str, subject: str | None = None) -> None:
        """Forget what a warning said, if it was given: it is so no longer.

        Only that of a ``subject`` is forgotten if one is named.
        """
        condition = sa.and_(WARNINGS.c.run_id == run_id, WARNINGS.c.code == code)
        if subject is not None:
            condition &= WARNINGS.c.subject == subject
        with self._changing(run_id, f"withdrawing the warning {code}") as connection:
            connection.execute(sa.delete(WARNINGS).where(condition))

    def record(self, run_id: int, invocation: Invocation) -> None:
        """Keep an invocation with its output and measurements: on the disk when this returns.

        Raises StoreError, and keeps nothing, if the run already has that block, set and subject
        (and it is not superseded), or if the subject or a step was never described.
        """
        self.record_all(run_id, (invocation,))

    def record_all(self, run_id: int, invocations: Iterable[Invocation]) -> None:
        """Keep many invocations at once, or none of them: the fast way for those at hand."""
        with self._changing(run_id, "recording") as connection:
            described = Described(connection, run_id)
            for invocation in invocations:
                record(connection, described, invocation)

    def done(self, run_id: int) -> tuple[Done, ...]:
        """Return the invocations that count, in the order in which they were made."""
        counting = SELECT_DONE.where(INVOCATIONS.c.run_id == run_id, COUNTS)
        statement = counting.order_by(INVOCATIONS.c.id)
        with self._seeing(run_id) as connection:
            return tuple(record_of(Done, row) for row in connection.execute(statement).mappings())

    def supersede(self, run_id: int, block: int, set: str) -> int:
        """Let the invocations of a set in a block no longer count; return how many those were.

        They stay in the store. It is for a trial that was cut off: what is compared must have been
        measured side by side.
        """
        statement = (
            sa.update(INVOCATIONS)
            .where(
                INVOCATIONS.c.run_id == run_id,
                INVOCATIONS.c.block == block,
                INVOCATIONS.c.set_name == set,
                COUNTS,
            )
            .values(superseded=True)
        )
        with self._changing(run_id, f"superseding block {block} of {set}") as connection:
            return connection.execute(statement).rowcount

    def update_run(self, run_id: int, **change: Unpack[RunChange]) -> None:
        """Change what is given; the rest stays.

        A run that goes back to RUNNING is no longer finished: why and when it ended is
        forgotten, unless given.
        """
        values = change_values(change)
        if not values:
            return
        with self._changing(run_id, "noting how it goes") as connection:
            connection.execute(sa.update(RUNS).where(RUNS.c.id == run_id).values(values))

    def delete_run(self, run_id: int) -> None:
        """Delete a run and all that belongs to it: it cannot be undone."""
        invocations = sa.select(INVOCATIONS.c.id).where(INVOCATIONS.c.run_id == run_id)
        with self._changing(run_id, "deleting it") as connection:
            for table in reversed(METADATA.sorted_tables):
                if "invocation_id" in table.c:
                    mine = table.c.invocation_id.in_(invocations)
                    connection.execute(sa.delete(table).where(mine))
                elif "run_id" in table.c:
                    connection.execute(sa.delete(table).where(table.c.run_id == run_id))
            connection.execute(sa.delete(RUNS).where(RUNS.c.id == run_id))

    def claim_run(self, run_id: int, *, session: str, instead_of: str) -> bool:
        """Let a session execute the run if ``instead_of`` is still the one that last did.

        Returns whether it is now its own: of two that want to resume a run at once, one is.
        """
        owned = sa.and_(RUNS.c.id == run_id, RUNS.c.session == instead_of)
        statement = sa.update(RUNS).where(owned).values(session=session)
        with self._changing(run_id, "claiming") as connection:
            return connection.execute(statement).rowcount == 1

    def run(self, run_id: int) -> Run:
        """Return a run with its subjects, steps and warnings. Raises UsageError if none is."""
        with self._seeing(run_id) as connection:
            return _run(connection, run_id)

    def runs(self) -> tuple[RunSummary, ...]:
        """Return all runs, the oldest first."""
        counted = (
            sa.select(INVOCATIONS.c.run_id, sa.func.count(INVOCATIONS.c.block.distinct()))
            .where(COUNTS)
            .group_by(INVOCATIONS.c.run_id)
        )
        named = sa.select(SUBJECTS.c.run_id, SUBJECTS.c.name, SUBJECTS.c.dbms).order_by(
            SUBJECTS.c.position, SUBJECTS.c.id
        )
        rejections = (
            sa.select(WARNINGS.c.run_id, WARNINGS.c.subject)
            .where(WARNINGS.c.code == Code.REJECTED)
            .order_by(WARNINGS.c.id)
        )
        with self._database.reading("reading the list of runs") as connection:
            blocks = {row[0]: row[1] for row in connection.execute(counted)}
            subjects: dict[int, list[tuple[str, str]]] = {}
            for run_id, name, dbms in connection.execute(named):
                subjects.setdefault(run_id, []).append((name, dbms))
            rejected: dict[int, list[str]] = {}
            for run_id, name in connection.execute(rejections):
                rejected.setdefault(run_id, []).append(name)
            rows = connection.execute(sa.select(RUNS).order_by(RUNS.c.id)).mappings()
            return tuple(
                summary_of(
                    row,
                    subjects.get(row["id"], ()),
                    blocks.get(row["id"], 0),
                    rejected.get(row["id"], ()),
                )
                for row in rows
            )

    def last_run_id(self) -> int | None:
        """Return the number of the newest run, None if there is none."""
        with self._database.reading("reading the list of runs") as connection:
            newest = connection.scalar(sa.select(sa.func.max(RUNS.c.id)))
            return None if newest is None else int(newest)

    def progress(self, run_id: int) -> Progress:
        """Return how far the run is."""
        with self._seeing(run_id) as connection:
            return load_progress(connection, run_id)

    def samples(self, run_id: int) -> SampleArray:
        """Return the measurements that count."""
        with self._seeing(run_id) as connection:
            samples = columns.load(connection, run_id)
            return samples.in_layouts(_run(connection, run_id).layouts)

    def observations(self, run_id: int) -> tuple[Observation, ...]:
        """Return what was observed in the invocations that count, in the order of their making."""
        with self._seeing(run_id) as connection:
            rows = _parts(connection, run_id, SERIES, SERIES.c.quantity)
            groups = itertools.groupby(rows, lambda row: row["id"])
            return tuple(observation_of(list(group)) for _, group in groups)

    def sliced(self, run_id: int) -> tuple[Sliced, ...]:
        """Return the slices of the invocations that count and have any, in the order of making."""
        with self._seeing(run_id) as connection:
            return tuple(sliced_of(_parts(connection, run_id, SLICES, SLICES.c.round_number)))

    @contextlib.contextmanager
    def _seeing(self, run_id: int) -> Iterator[sa.Connection]:
        with self._database.reading(f"reading run {run_id}") as connection:
            _require(connection, run_id)
            yield connection

    @contextlib.contextmanager
    def _changing(self, run_id: int, doing: str) -> Iterator[sa.Connection]:
        with self._database.writing(f"{doing} for run {run_id}") as connection:
            _require(connection, run_id)
            yield connection


def _parts(
    connection: sa.Connection, run_id: int, table: sa.Table, order: sa.Column[Any]
) -> Sequence[sa.RowMapping]:
    """Return the rows of a table of invocations' parts, with whose they are: those that count."""
    place = (INVOCATIONS.c.id, INVOCATIONS.c.block, INVOCATIONS.c.set_name)
    subject = SUBJECTS.c.name.label("subject")
    statement = (
        sa.select(*place, subject, table)
        .join(INVOCATIONS, INVOCATIONS.c.id == table.c.invocation_id)
        .join(SUBJECTS, SUBJECTS.c.id == INVOCATIONS.c.subject_id)
        .where(INVOCATIONS.c.run_id == run_id, COUNTS)
        .order_by(INVOCATIONS.c.id, order)
    )
    return connection.execute(statement).mappings().all()


def _require(connection: sa.Connection, run_id: int) -> None:
    if connection.scalar(sa.select(RUNS.c.id).where(RUNS.c.id == run_id)) is None:
        raise UsageError(f"there is no run {run_id}", hint="'hone runs' lists the runs")


def _run(connection: sa.Connection, run_id: int) -> Run:
    def rows(table: sa.Table, *order: sa.Column[Any]) -> Sequence[sa.RowMapping]:
        statement = sa.select(table).where(table.c.run_id == run_id).order_by(*order)
        return connection.execute(statement).mappings().all()

    row = connection.execute(sa.select(RUNS).where(RUNS.c.id == run_id)).mappings().one()
    machine = sa.select(MACHINES).where(MACHINES.c.id == row["machine_id"])
    return run_of(
        row,
        connection.execute(machine).mappings().one(),
        subjects=rows(SUBJECTS, SUBJECTS.c.position, SUBJECTS.c.id),
        steps=rows(STEPS, STEPS.c.position, STEPS.c.id),
        warnings=rows(WARNINGS, WARNINGS.c.id),
    )
