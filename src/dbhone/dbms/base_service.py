"""What dbhone must know of the service that a distribution's packages make of a server.

Like ``base.py`` it is pure: it has command lines, and reads what they print.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARK = "+hone"
"""What is in the versions of packages that hone built by a distribution's rules, and in no others.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInstance:
    """A server that the distribution manages, and its data directory.

    ``series`` is that of the programs which serve it. ``supervisor`` is a program, such as Patroni,
    that starts it instead of the distribution; it is empty for none.
    """

    series: str
    name: str
    data: Path
    running: bool
    supervisor: str = ""

    @property
    def label(self) -> str:
        """Its series and its name, for people."""
        return f"{self.series}/{self.name}"

    def in_words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command line with its series and name where ``words`` have their places."""
        return tuple(map(self.in_word, words))

    def in_word(self, word: str) -> str:
        """Return a word with its series and name where it has their places."""
        return word.format(series=self.series, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionService:
    """How a distribution runs the servers of one DBMS.

    ``package`` has the server of a ``series``, whose servers read each other's data directories.
    ``instances`` reads what the command ``listing`` prints. ``data_series`` is the file of a data
    directory with its series. ``restart`` restarts an instance where systemd does not run, by
    whose ``unit`` it is done otherwise. ``ask`` succeeds if it takes connections, and ends with the
    exit code ``starting`` while it starts. ``pid_file`` is the file of a data directory that begins
    with the number of the server's process, which executes ``program``. ``start_file`` says whether
    the packages' scripts start an instance, which ``starts`` reads from it.
    """

    package: str
    series: Callable[[str], str]
    listing: tuple[str, ...]
    instances: Callable[[str], tuple[ServiceInstance, ...]]
    data_series: str
    restart: tuple[str, ...]
    unit: str
    ask: tuple[str, ...]
    starting: int
    pid_file: str
    program: str
    start_file: str
    starts: Callable[[str], bool]
