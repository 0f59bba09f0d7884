"""What the kernel tells of levers: what this machine offers, and whether one took effect.

The latter shows in what it reports of a running server.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbhone.files import text_if_there
from dbhone.instance.levers.base import HostCapabilities, Lever, ObservedState
from dbhone.measurement.machine import numa_nodes
from dbhone.source.libraries import find_system_library

_PROC = Path("/proc")
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")
_FIGURE = re.compile(r"^(Size|(?:Shared|Private)_Hugetlb): +(\d+) kB$")
_POLICY = re.compile(r"^[0-9a-f]+ ([a-z]+)", re.M)


def read_observed_state(pid: int, *, proc: Path = _PROC) -> ObservedState:
    """Return the state of a process and its threads; it is empty if the process is gone."""
    own = proc / str(pid)
    maps = text_if_there(own / "smaps", "surrogateescape")
    return ObservedState(
        files=frozenset(_files(maps)),
        cpus=frozenset(_cpus(own)),
        huge_bytes=_huge_bytes(maps),
        numa_policies=frozenset(_POLICY.findall(text_if_there(own / "numa_maps"))),
    )


def _files(maps: str) -> Iterator[Path]:
    for line in maps.splitlines():
        mapping = _MAPPING.match(line)
        if mapping and mapping[1].startswith("/"):
            yield Path(mapping[1])


def _huge_bytes(maps: str) -> int:
    """Return the size of all mappings in huge pages that the server has begun to use.

    The kernel lists a mapping's size first, then how much of it is in huge pages.
    """
    total = length = 0
    for name, kibibytes in _figures(maps):
        if name == "Size":
            length = kibibytes
        elif kibibytes:
            total, length = total + length, 0
    return total * 1024


def _figures(maps: str) -> Iterator[tuple[str, int]]:
    for line in maps.splitlines():
        match = _FIGURE.match(line)
        if match:
            yield match[1], int(match[2])


def _cpus(own: Path) -> Iterator[frozenset[int]]:
    """Yield the allowed CPUs of each thread."""
    try:
        threads = [int(path.name) for path in (own / "task").iterdir()]
    except OSError:
        return
    for thread in threads:
        try:
            yield frozenset(os.sched_getaffinity(thread))
        except OSError:
            continue


_HUGE = re.compile(r"^(HugePages_Total|HugePages_Free|HugePages_Rsvd|Hugepagesize):\s+(\d+)", re.M)


def read_host_capabilities(levers: Iterable[Lever], *, root: Path = Path("/")) -> HostCapabilities:
    """Return what the machine offers to these levers. ``root`` is where ``proc`` and ``sys`` are.

    Libraries and programs are this machine's own, whatever ``root`` is.
    """
    levers = tuple(levers)
    library_names = [name for lever in levers for name in lever.libraries]
    libraries = ((name, find_system_library(name)) for name in library_names)
    programs = ((name, shutil.which(name)) for lever in levers for name in lever.programs)
    huge = _huge_pages(root)
    reserved = huge.get("HugePages_Total", 0)
    free = huge.get("HugePages_Free", 0) - huge.get("HugePages_Rsvd", 0)
    return HostCapabilities(
        cpus=frozenset(os.sched_getaffinity(0)),
        numa_nodes=numa_nodes(root),
        libraries={name: path for name, path in libraries if path},
        programs={name: Path(path) for name, path in programs if path},
        huge_page_bytes=huge.get("Hugepagesize", 0) * 1024,
        huge_pages=reserved,
        huge_pages_free=max(0, free),
    )


def _huge_pages(root: Path) -> dict[str, int]:
    """Return /proc/meminfo's figures of huge pages: sizes in KiB, others in pages."""
    text = text_if_there(root / "proc/meminfo")
    return {name: int(value) for name, value in _HUGE.findall(text)}
