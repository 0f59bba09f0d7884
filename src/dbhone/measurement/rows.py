"""Records to rows, and rows to records. Nothing here speaks to a database."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Protocol, TypeAlias, TypedDict, TypeVar

import sqlalchemy as sa

from dbhone.errors import StoreError
from dbhone.files import digest_of
from dbhone.measurement.build_facts import BuildTarget, BuildTimings, CodeLayout
from dbhone.measurement.metric import FIGURES
from dbhone.measurement.record import (
    Design,
    Group,
    Machine,
    Measurement,
    Role,
    Run,
    RunningServer,
    RunState,
    Step,
    Subject,
    Warning,
)
from dbhone.measurement.tables import RUNS, WARNINGS


class _Record(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=_Record)

Values: TypeAlias = dict[str, Any]
"""The columns of a row by name, as SQLAlchemy takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What is known of a run before anything was done."""

    title: str
    experiment: str
    experiment_name: str
    session: str
    suite: str
    size: str
    design: Design
    machine: Machine
    hone_version: str


class RunChange(TypedDict, total=False):
    """What may change of a run, each by its name.

    ``seconds_added`` is added to the time that hone worked on the run, ``waited_added`` to the time
    that it waited for other hones; the rest is set.
    """

    title: str
    state: RunState
    session: str
    seconds_added: float
    waited_added: float
    stopped_by: str
    error: str
    finished_at: datetime
    budget_seconds: float


_RENAMED = {
    "set": "set_name",
    "key": "step_key",
    "group": "step_group",
    "round": "round_number",
    "text": "message",
}
"""The columns that have another name than their field, mostly since SQL reserves that."""
_ADDED = {"seconds_added": "seconds", "waited_added": "waited_seconds"}
"""The changes that are added to what a column has, with the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a list. ``blocks`` is the number of blocks in which anything was measured.

    ``dbms`` are the DBMSs of its subjects, each once. ``rejected`` are the subjects that a search
    rejected.
    """

    id: int
    title: str
    experiment_name: str
    state: RunState
    session: str
    created_at: datetime
    finished_at: datetime | None
    seconds: float
    suite: str
    size: str
    subjects: tuple[str, ...]
    dbms: tuple[str, ...]
    blocks: int
    rejected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An invocation that counts, without what it measured and printed."""

    block: int
    set: str
    subject: str
    position: int
    started_at: datetime
    seconds: float
    failure: str | None
    conditions: dict[str, float]


def machine_values(machine: Machine) -> Values:
    """Return the row of a machine; equal machines have equal digests."""
    values = asdict(machine)
    return values | {"digest": digest_of(values)}


def run_values(new: NewRun, machine_id: int, now: datetime) -> Values:
    """Return the row of a run that begins."""
    values = asdict(new)
    design: Values = values.pop("design")
    del values["machine"]
    started = {"machine_id": machine_id, "state": RunState.RUNNING, "created_at": now, "seconds": 0}
    return values | design | started


def change_values(change: RunChange) -> Values:
    """Return the columns of ``runs`` that a change sets."""
    values: Values = {name: value for name, value in change.items() if name not in _ADDED}
    if change.get("state") is RunState.RUNNING:
        values = {"stopped_by": None, "error": None, "finished_at": None} | values
    sums = {RUNS.c[_ADDED[name]]: value for name, value in change.items() if name in _ADDED}
    return values | {column.name: column + value for column, value in sums.items()}


def subject_values(run_id: int, position: int, subject: Subject) -> Values:
    """Return the row of a subject.

    What is not known of its running server leaves what an earlier session has kept.
    """
    values = asdict(subject) | {"run_id": run_id, "position": position}
    if subject.running is None:
        del values["running"]
    return values


def warning_values(run_id: int, warning: Warning) -> Values:
    """Return the row of a warning."""
    concerns = {"subject": warning.subject or "", "step": warning.step or ""}
    return values_of(WARNINGS, warning, run_id=run_id, **concerns)


def check_measurement(measurement: Measurement) -> None:
    """Raise StoreError for what cannot have been measured: infinity, NaN, a negative figure."""
    for metric in FIGURES:
        value = getattr(measurement, metric.name)
        if value is not None and not 0 <= value < math.inf:
            raise StoreError(
                f"the {metric.title} of {measurement.step} cannot be {value}: nothing is recorded"
            )


def values_of(table: sa.Table, record: _Record, **others: Any) -> Values:
    """Return the row of a table with those of a record's fields that it has, and ``others``."""
    columns = _columns_in(table, type(record))
    return {column: getattr(record, name) for name, column in columns.items()} | others


def record_of(kind: type[R], row: sa.RowMapping, **others: Any) -> R:
    """Return the record whose fields are those of a row's columns, and ``others``."""
    known = {
        name: row[column]
        for name, column in _columns(kind).items()
        if name not in others and column in row
    }
    return kind(**known, **others)


@cache
def _columns(kind: type[_Record]) -> Mapping[str, str]:
    """Return the column of each field of a record."""
    return {field.name: _RENAMED.get(field.name, field.name) for field in fields(kind)}


@cache
def _columns_in(table: sa.Table, kind: type[_Record]) -> Mapping[str, str]:
    """Return the column of each field of a record that a table has."""
    return {name: column for name, column in _columns(kind).items() if column in table.c}


def subject_of(row: sa.RowMapping) -> Subject:
    """Return the subject that a row of ``subjects`` is."""
    return record_of(
        Subject,
        row,
        role=Role(row["role"]),
        flags=tuple(row["flags"]),
        trained_on=tuple(row["trained_on"]),
        settings=row["settings"] or {},
        defaults=row["defaults"] or {},
        inputs=row["inputs"] or {},
        levers=tuple(row["levers"] or ()),
        timings=_timings_of(row["timings"]),
        layout=_layout_of(row["layout"]),
        running=None if row["running"] is None else RunningServer(**row["running"]),
    )


def _layout_of(stored: Values | None) -> CodeLayout | None:
    if stored is None:
        return None
    return CodeLayout(**stored | {"skipped": tuple(stored["skipped"])})


def _timings_of(stored: Values | None) -> BuildTimings | None:
    """Return where a build's time went; a subject of an older hone does not tell.

    What is ``files`` now was ``targets``, and build targets were not told.
    """
    if stored is None:
        return None
    facts = dict(stored)
    facts.setdefault("files", facts.pop("targets", 0))
    facts["slowest"] = tuple((file, seconds) for file, seconds in stored["slowest"])
    facts["build_targets"] = tuple(BuildTarget(**each) for each in stored.get("build_targets", ()))
    return BuildTimings(**facts)


def step_of(row: sa.RowMapping) -> Step:
    """Return the step that a row of ``steps`` is."""
    return record_of(Step, row, group=Group(row["step_group"]))


def warning_of(row: sa.RowMapping) -> Warning:
    """Return the warning that a row of ``warnings`` is."""
    concerns = {"subject": row["subject"] or None, "step": row["step"] or None}
    return record_of(Warning, row, **concerns)


def run_of(
    row: sa.RowMapping,
    machine: sa.RowMapping,
    *,
    subjects: Sequence[sa.RowMapping],
    steps: Sequence[sa.RowMapping],
    warnings: Sequence[sa.RowMapping],
) -> Run:
    """Return the run that a row of ``runs`` is, with what belongs to it."""
    return record_of(
        Run,
        row,
        state=RunState(row["state"]),
        design=record_of(Design, row),
        machine=record_of(Machine, machine),
        subjects=tuple(subject_of(subject) for subject in subjects),
        steps=tuple(step_of(step) for step in steps),
        warnings=tuple(warning_of(warning) for warning in warnings),
    )


def summary_of(
    row: sa.RowMapping,
    subjects: Sequence[tuple[str, str]],
    blocks: int,
    rejected: Sequence[str],
) -> RunSummary:
    """Return the line of a list that a row of ``runs`` is; ``subjects`` are names with DBMSs."""
    return record_of(
        RunSummary,
        row,
        state=RunState(row["state"]),
        subjects=tuple(name for name, _ in subjects),
        dbms=tuple(dict.fromkeys(dbms for _, dbms in subjects)),
        blocks=blocks,
        rejected=tuple(rejected),
    )
