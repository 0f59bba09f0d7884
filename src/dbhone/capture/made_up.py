"""Dumps with made-up rows: a user's tables, as many rows, as many different values, none of the
originals.

Every value is computed from the number of its row. A column's values are counted from 1 to the
number of different ones; which of them a row has is drawn by a hash of the row's number. Unique
keys and foreign keys hold: what is unique counts through, and what refers to another table has
what a row of that table has. The statistics are those of the server's catalogue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import IO

from dbhone.errors import UsageError

_CHUNK = 1_000_000
"""The rows that one statement makes."""
_DEEPEST = 10
"""Over how many tables foreign keys may lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column. ``kind`` is the name of its type, ``spelled`` the type as the catalogue writes it.

    ``limit`` is the length or the precision that it allows, 0 for none, ``scale`` the digits after
    the point, ``width`` the usual length. ``distinct`` is the number of different values, ``nulls``
    the fraction that has none.
    """

    name: str
    kind: str
    spelled: str
    distinct: int
    nulls: float = 0.0
    limit: int = 0
    scale: int = 0
    width: int = 16
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Columns whose values are those of the ``referred`` columns in a row of another table."""

    columns: tuple[str, ...]
    table: str
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, its number of rows, its unique keys (the primary one, too), its foreign keys.

    ``name`` is written as SQL does.
    """

    name: str
    rows: int
    columns: tuple[Column, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    foreign: tuple[ForeignKey, ...] = ()

    def column(self, name: str) -> Column:
        """Return the column of this name."""
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What a database holds: SQL that makes its tables, and what else it has once they are filled.

    ``left_out`` says what is not made, for people.
    """

    before: str
    after: str
    tables: tuple[Table, ...]
    left_out: tuple[str, ...] = ()


class RowDialect(ABC):
    """How a protocol's SQL writes what made-up rows need; ``number`` is an expression.

    ``inserting`` stands before SELECT, where a value is given for what the server would count.
    """

    inserting: str = ""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Return a column's name as SQL writes it."""

    @abstractmethod
    def divided(self, number: str, by: int) -> str:
        """Return the whole part of a quotient."""

    @abstractmethod
    def hashed(self, number: str, salt: int) -> str:
        """Return a number from 0 to about 2³¹ that depends on another and on ``salt``."""

    @abstractmethod
    def value(self, column: Column, number: str) -> str | None:
        """Return the value of that number, from 1 on; None for a type of which none is known."""

    @abstractmethod
    def begin(self, most_rows: int) -> Iterator[str]:
        """Yield the statements before rows are made."""

    @abstractmethod
    def numbers(self, first: int, last: int) -> str:
        """Return what follows FROM so that ``i`` has these numbers."""

    @abstractmethod
    def end(self) -> Iterator[str]:
        """Yield the statements after rows are made."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """Columns whose values follow from one number: a column, or those of a foreign key.

    ``size`` is how many numbers there are, ``salt`` what makes its draws others than those of
    other units.
    """

    columns: tuple[str, ...]
    size: int
    salt: int
    foreign: ForeignKey | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    """How a unit in a unique key counts: through numbers below ``size``, one in ``stride`` rows."""

    stride: int
    size: int | None


@dataclass(slots=True)
class _Plan:
    """How the rows of a table are made."""

    table: Table
    rows: int
    units: dict[str, _Unit]
    counted: dict[tuple[str, ...], _Counted] = field(default_factory=dict)


def write_made_up(catalogue: Catalogue, dialect: RowDialect, file: IO[str]) -> None:
    """Write a dump that makes the tables and their rows.

    Raises UsageError for a column that must have a value of a type of which none can be made up.
    """
    maker = _Maker(catalogue.tables, dialect)
    file.write(catalogue.before)
    most = max((plan.rows for plan in maker.plans.values()), default=0)
    for statement in dialect.begin(most):
        file.write(f"{statement};\n")
    for table in catalogue.tables:
        for statement in maker.inserts(table):
            file.write(f"{statement};\n")
    for statement in dialect.end():
        file.write(f"{statement};\n")
    file.write(catalogue.after)


class _Maker:
    def __init__(self, tables: Sequence[Table], dialect: RowDialect) -> None:
        self._dialect = dialect
        self.plans = _plans({table.name: table for table in tables})

    def inserts(self, table: Table) -> Iterator[str]:
        """Yield the statements that fill a table."""
        plan, quoted = self.plans[table.name], self._dialect.quoted
        if not table.columns or not plan.rows:
            return
        names = ", ".join(quoted(column.name) for column in table.columns)
        values = ",\n  ".join(self._cell(plan, column) for column in table.columns)
        for first in range(1, plan.rows + 1, _CHUNK):
            source = self._dialect.numbers(first, min(first + _CHUNK - 1, plan.rows))
            into = f"{table.name} ({names}){self._dialect.inserting}"
            yield f"INSERT INTO {into}\nSELECT\n  {values}\nFROM {source}"

    def _cell(self, plan: _Plan, column: Column) -> str:
        """Return a column of the row ``i``, which may be null where no unique key has it."""
        unit = plan.units[column.name]
        value = self._value(plan, column.name, "i", 0)
        if value is None:
            if column.required:
                raise UsageError(
                    f"no values of the type {column.spelled} can be made up for"
                    f" {plan.table.name}.{column.name}",
                    hint="give a dump or a copy of the data instead",
                )
            return "NULL"
        nulls = round(1000 * column.nulls)
        in_key = any(column.name in key for key in plan.table.unique)
        if column.required or in_key or not nulls:
            return value
        drawn = self._dialect.hashed("i", unit.salt + 1)
        return f"CASE WHEN {drawn} % 1000 < {nulls} THEN NULL ELSE {value} END"

    def _value(self, plan: _Plan, name: str, row: str, depth: int) -> str | None:
        """Return what a column has in the row of this number, None if there is nothing to have."""
        if depth > _DEEPEST:
            raise UsageError(f"the foreign keys of {plan.table.name} form a cycle")
        unit = plan.units[name]
        if not unit.size:
            return None
        number = self._number(plan, unit, row)
        if unit.foreign is None:
            return self._dialect.value(plan.table.column(name), number)
        referred = unit.foreign.referred[unit.foreign.columns.index(name)]
        return self._value(self.plans[unit.foreign.table], referred, number, depth + 1)

    def _number(self, plan: _Plan, unit: _Unit, row: str) -> str:
        counted = plan.counted.get(unit.columns)
        if counted is None:
            return f"(1 + {self._dialect.hashed(row, unit.salt)} % {unit.size})"
        if counted.stride == 1 and counted.size is None:
            return row
        count = f"({row} - 1)"
        if counted.stride > 1:
            count = self._dialect.divided(count, counted.stride)
        return f"(1 + {count})" if counted.size is None else f"(1 + {count} % {counted.size})"


def _plans(tables: Mapping[str, Table]) -> dict[str, _Plan]:
    """Return how the rows of all tables are made.

    Where a table gets fewer rows than it should, those that refer to it have fewer to choose from.
    """
    while True:
        plans = {name: _planned(table, tables) for name, table in tables.items()}
        fewer = {name: plan.rows for name, plan in plans.items() if plan.rows < plan.table.rows}
        if not fewer:
            return plans
        tables = {
            name: replace(table, rows=fewer.get(name, table.rows)) for name, table in tables.items()
        }


def _planned(table: Table, tables: Mapping[str, Table]) -> _Plan:
    """Return how a table's rows are made, so that its unique keys hold."""
    plan = _Plan(table=table, rows=table.rows, units=_units(table, tables))
    if any(column.required and not plan.units[column.name].size for column in table.columns):
        plan.rows = 0
    # A key of one column decides most: it counts through, and wider keys with it are unique, too.
    made: list[set[tuple[str, ...]]] = []
    for key in sorted(table.unique, key=len):
        units = {plan.units[name].columns: plan.units[name] for name in key}
        if not all(unit.size for unit in units.values()):
            continue  # with a null, no two rows have the same
        # What is in it is unique already, such as the same columns in another order.
        if not any(unique <= units.keys() for unique in made):
            _count(plan, list(units.values()))
            made.append(set(units))
    return plan


def _count(plan: _Plan, units: Sequence[_Unit]) -> None:
    """Have units count like the digits of a number, so that no two rows have the same.

    What refers to another table has no more numbers than that has rows: there may be fewer rows.
    """
    free = [unit for unit in units if unit.columns not in plan.counted]
    if not free:
        raise UsageError(f"the unique keys of {plan.table.name} cannot be made up together")
    free.sort(key=lambda unit: (unit.foreign is None, unit.size))
    *digits, last = free
    stride = 1
    for unit in digits:
        plan.counted[unit.columns] = _Counted(stride, unit.size)
        stride *= unit.size
    if last.foreign is None:
        plan.counted[last.columns] = _Counted(stride, None)
        return
    plan.counted[last.columns] = _Counted(stride, last.size if digits else None)
    plan.rows = min(plan.rows, prod(unit.size for unit in free))


def _units(table: Table, tables: Mapping[str, Table]) -> dict[str, _Unit]:
    """Return the unit of each column. Of foreign keys that share columns the widest counts.

    What refers to a table without rows has no numbers, where it may be null.
    """
    units: dict[str, _Unit] = {}
    required = {column.name for column in table.columns if column.required}
    for place, key in enumerate(sorted(table.foreign, key=lambda key: -len(key.columns))):
        referred = tables.get(key.table)
        if referred is None or units.keys() & set(key.columns):
            continue
        columns = key.columns
        if not referred.rows:
            columns = tuple(name for name in columns if name not in required) or columns
        unit = _Unit(columns, referred.rows, 2 * place + 1_000_003, key)
        units |= dict.fromkeys(columns, unit)
    for place, column in enumerate(table.columns):
        if column.name not in units:
            size = max(1, min(column.distinct, table.rows))
            units[column.name] = _Unit((column.name,), size, 2 * place + 7)
    return units
