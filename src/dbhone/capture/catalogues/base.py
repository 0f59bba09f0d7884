"""The interface of catalogues: what a server says of its tables, and how its SQL is written."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dbhone import registry
from dbhone.capture.made_up import Catalogue, Dialect
from dbhone.capture.servers.base import Address, Connection

DRAWER = "dbhone.capture.catalogues"


class CatalogueReader(ABC):
    """Reads the catalogue of servers of one protocol."""

    protocol: str
    dialect: Dialect

    @abstractmethod
    def read(self, connection: Connection, address: Address, password: str | None) -> Catalogue:
        """Return what the database of a connection holds.

        Raises MachineError where the server refuses, ToolError for a program that is missing.
        """


def load_catalogue(protocol: str) -> CatalogueReader:
    """Return how the catalogue of a protocol's servers is read. Raises UnknownName."""
    return registry.load(DRAWER, protocol, CatalogueReader, what="kind of server")
