"""What dbhone must know of the service that a distribution's packages make of a server.

Like ``base.py`` it is pure: it has command lines, and reads what they print.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInstance:
    """A server that the distribution manages, and its data directory.

    ``series`` is that of the programs which serve it.
    """

    series: str
    name: str
    data: Path
    running: bool

    @property
    def label(self) -> str:
        """Its series and its name, for people."""
        return f"{self.series}/{self.name}"

    def in_words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command line with its series and name where ``words`` have their places."""
        return tuple(word.format(series=self.series, name=self.name) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionService:
    """How a distribution runs the servers of one DBMS.

    ``package`` has the server of a ``series``, whose servers read each other's data directories.
    ``instances`` reads what the command ``listing`` prints. ``data_series`` is the file of a data
    directory with its series. ``restart`` restarts an instance where systemd does not run, by
    whose ``unit`` it is done otherwise; ``ask`` succeeds if it takes connections.
    """

    package: str
    series: Callable[[str], str]
    listing: tuple[str, ...]
    instances: Callable[[str], tuple[ServiceInstance, ...]]
    data_series: str
    restart: tuple[str, ...]
    unit: str
    ask: tuple[str, ...]
