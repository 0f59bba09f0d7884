"""What a lever declares: what it needs of the machine, what it brings, how one sees that it works.

A lever is something that is done to a server when it is started, and not to its build: another
allocator, the CPUs that it may use, the memory that it gets. A lever is pure. It returns
data; ``instance/pulling.py`` asks the machine, and ``instance/server.py`` acts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import UsageError

DRAWER = "dbhone.instance.levers"


class Slot(StrEnum):
    """What a lever acts on. Two levers of one slot cannot both be pulled."""

    ALLOCATOR = "the allocator"
    SERVER_CPUS = "the server's CPUs"
    CLIENT_CPUS = "the client's CPUs"
    NUMA = "the NUMA policy"
    PAGES = "the size of pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCapabilities:
    """What a machine offers to levers.

    ``cpus`` are those that hone itself may use. ``libraries`` and ``programs`` have where those
    are that levers name and the machine has. ``huge_page_bytes`` is 0 where the kernel has no
    huge pages; of those that are reserved ``huge_pages_free`` are promised to nobody. With
    ``may_share_huge`` the account that servers run as may have System V shared memory in them;
    ``group`` is its group.
    """

    cpus: frozenset[int]
    numa_nodes: int
    libraries: Mapping[str, Path]
    programs: Mapping[str, Path]
    huge_page_bytes: int
    huge_pages: int
    huge_pages_free: int
    may_share_huge: bool
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a lever is pulled for: ``servers`` servers at once, with caches of ``cache_bytes``.

    ``value`` is what the user wrote after the ``=``, canonical, and empty without one.
    ``version`` is that of the DBMS, empty as long as it is not known.
    """

    value: str
    dbms: ServerDbms
    cache_bytes: int
    servers: int
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Why a machine cannot give a lever, and what can be done about it.

    ``libraries`` are those of which one has to be installed; the package that brings one on
    this machine is then the advice.
    """

    reason: str
    hint: str = ""
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """What levers bring to a server's start.

    ``preload`` are libraries that the loader takes before all others. ``prefix`` goes before
    the server's command line: a program that becomes the server. ``cpus`` and ``client_cpus``
    are the only ones that the server and its client may run on, None for all. ``settings`` are
    the server's. ``huge_bytes`` is how much of its memory must lie in huge pages.
    """

    preload: tuple[Path, ...] = ()
    prefix: tuple[str, ...] = ()
    cpus: frozenset[int] | None = None
    client_cpus: frozenset[int] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    huge_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """What the kernel tells of a running server.

    ``files`` are mapped into its memory; ``cpus`` has the allowed CPUs of each of its threads;
    ``huge_bytes`` is the size of what it has mapped in huge pages and begun to use;
    ``numa_policies`` are the policies of its memory (``default``, ``interleave``, …).
    """

    files: frozenset[Path]
    cpus: frozenset[frozenset[int]]
    huge_bytes: int
    numa_policies: frozenset[str]


class Lever(ABC):
    """One lever. ``libraries`` and ``programs`` are those that it asks the machine for.

    ``takes`` describes its value to users, empty for a lever without one. ``typical`` is a value
    to ask a machine with, None where every machine has some. ``remedy`` says what to look at
    when it was pulled and has done nothing.
    """

    name: str
    summary: str
    slot: Slot
    takes: str = ""
    typical: str | None = ""
    libraries: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    remedy: str = ""

    def canonical(self, value: str) -> str:
        """Return the one spelling of a value. Raises UsageError for one that cannot be meant."""
        if value:
            raise UsageError(f"the lever {self.name} takes no value", hint=f"write {self.name}")
        return value

    @abstractmethod
    def refusal(self, need: Need, offer: HostCapabilities) -> Unavailable | None:
        """Say why the machine cannot give it, None if it can."""

    @abstractmethod
    def pull(self, need: Need, offer: HostCapabilities) -> Pull:
        """Return what it brings, on a machine that can give it."""

    @abstractmethod
    def took_effect(self, pull: Pull, traces: ObservedState) -> bool:
        """Return whether a server that was started with ``pull``, its own, shows it."""
