"""The interface of catalogues: what a server says of its tables, and how its SQL is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from dbhone import registry
from dbhone.capture.made_up import Catalogue, ForeignKey, RowDialect
from dbhone.capture.servers.base import Address, Connection, Row

DRAWER = "dbhone.capture.catalogues"


ByKey = Mapping[object, Sequence[Row]]
"""What a catalogue says of each key of a table, a row for each of the key's columns."""


class CatalogueReader(ABC):
    """Reads the catalogue of servers of one protocol."""

    dialect: RowDialect

    @abstractmethod
    def read(self, connection: Connection, address: Address, password: str | None) -> Catalogue:
        """Return what the database of a connection holds.

        Raises MachineError where the server refuses, ToolError for a program that is missing.
        """


def by_table(rows: Iterable[Row]) -> Mapping[object, ByKey]:
    """Return what rows of a table, a key and more say, by table and key, in the rows' order."""
    found: dict[object, dict[object, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for table, key, *more in rows:
        found[table][key].append(more)
    return found


def foreign_keys(keys: ByKey, written: Callable[[str], str] = str) -> tuple[ForeignKey, ...]:
    """Return foreign keys: of each column its name, the other table, and the column there.

    ``written`` makes of a table's name what stands in SQL.
    """
    return tuple(
        ForeignKey(
            columns=tuple(own for own, _, _ in rows),
            table=written(rows[0][1]),
            referred=tuple(other for _, _, other in rows),
        )
        for rows in keys.values()
    )


def load_catalogue(protocol: str) -> CatalogueReader:
    """Return how the catalogue of a protocol's servers is read. Raises UnknownName."""
    return registry.load(DRAWER, protocol, CatalogueReader, what="kind of server")
