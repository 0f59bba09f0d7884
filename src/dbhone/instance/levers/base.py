"""What a lever declares: its needs, the changes that it makes, and the signs of its effect.

A lever changes how a server is started, not how it is built: its allocator, the CPUs that it may
use, the memory that it gets. A lever is pure and returns data. ``host_state.py`` reads the
machine, and ``server.py`` acts.
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
    """What a lever acts on. Two levers of one slot exclude each other."""

    ALLOCATOR = "the allocator"
    SERVER_CPUS = "the server's CPUs"
    CLIENT_CPUS = "the client's CPUs"
    NUMA = "the NUMA policy"
    PAGES = "the size of pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCapabilities:
    """What a machine offers to levers.

    ``cpus`` are those that hone itself may use. ``libraries`` and ``programs`` are the paths of
    those that levers name and that the machine has. ``huge_page_bytes`` is 0 where the kernel has
    no huge pages. ``huge_pages`` are reserved; ``huge_pages_free`` of them are neither used nor
    promised.
    """

    cpus: frozenset[int]
    numa_nodes: int
    libraries: Mapping[str, Path]
    programs: Mapping[str, Path]
    huge_page_bytes: int
    huge_pages: int
    huge_pages_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverContext:
    """What a lever is applied to: ``servers`` servers at once, with caches of ``cache_bytes``.

    ``value`` is the canonical form of what the user wrote after the ``=``, empty without one.
    """

    value: str
    dbms: ServerDbms
    cache_bytes: int
    servers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Why a machine cannot apply a lever, and what to do about it.

    If ``libraries`` are given, one of them has to be installed, and the hint names its package.
    """

    reason: str
    hint: str = ""
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverChanges:
    """What levers change about a server's start.

    ``preload`` are libraries that the loader takes before all others. ``prefix`` goes before
    the server's command line: a program that executes the server. ``cpus`` and ``client_cpus``
    are the only ones that the server and its client may run on, None for all. ``settings`` are
    the server's. ``huge_bytes`` is the memory that must lie in huge pages.
    """

    preload: tuple[Path, ...] = ()
    prefix: tuple[str, ...] = ()
    cpus: frozenset[int] | None = None
    client_cpus: frozenset[int] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    huge_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """What the kernel reports of a running server.

    ``files`` are mapped into its memory; ``cpus`` has the allowed CPUs of each of its threads;
    ``huge_bytes`` is the size of what it has mapped in huge pages and begun to use;
    ``numa_policies`` are the policies of its memory (``default``, ``interleave``, …).
    """

    files: frozenset[Path]
    cpus: frozenset[frozenset[int]]
    huge_bytes: int
    numa_policies: frozenset[str]


class Lever(ABC):
    """One lever. ``libraries`` and ``programs`` are those that it needs of the machine.

    ``typical`` is a value with which to check a machine, None for a lever that every machine can
    apply. ``remedy`` says what to look at when the lever had no effect.
    """

    name: str
    summary: str
    slot: Slot
    typical: str | None = ""
    libraries: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    remedy: str = ""

    def canonical(self, value: str) -> str:
        """Return the canonical spelling of a value. Raises UsageError for an invalid one."""
        if value:
            raise UsageError(f"the lever {self.name} takes no value", hint=f"write {self.name}")
        return value

    @abstractmethod
    def refusal(self, context: LeverContext, host: HostCapabilities) -> Unavailable | None:
        """Return why the machine cannot apply it, None if it can."""

    @abstractmethod
    def apply(self, context: LeverContext, host: HostCapabilities) -> LeverChanges:
        """Return what it changes, on a machine that can apply it."""

    @abstractmethod
    def in_service(self, context: LeverContext) -> str:
        """Return how somebody sets it for a service of systemd, in words.

        Nothing is known of the service's cache: ``cache_bytes`` is 0.
        """

    @abstractmethod
    def took_effect(self, changes: LeverChanges, observed: ObservedState) -> bool:
        """Return whether a server that was started with its ``changes`` shows their effect."""
