"""What this machine offers to levers, by the kernel and the loader."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from dbhone.instance.levers.base import HostCapabilities, Lever
from dbhone.source.libraries import find_system_library
from dbhone.tenant import server_groups

_NODE = re.compile(r"node[0-9]+")
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
    groups = server_groups()
    reserved = huge.get("HugePages_Total", 0)
    free = huge.get("HugePages_Free", 0) - huge.get("HugePages_Rsvd", 0)
    return HostCapabilities(
        cpus=frozenset(os.sched_getaffinity(0)),
        numa_nodes=_numa_nodes(root),
        libraries={name: path for name, path in libraries if path},
        programs={name: Path(path) for name, path in programs if path},
        huge_page_bytes=huge.get("Hugepagesize", 0) * 1024,
        huge_pages=reserved,
        huge_pages_free=max(0, free),
        may_share_huge=_shm_group(root) in groups,
        group=groups[0],
    )


def _numa_nodes(root: Path) -> int:
    """Return the number of NUMA nodes; a kernel without NUMA has one."""
    try:
        paths = list((root / "sys/devices/system/node").iterdir())
    except OSError:
        return 1
    return max(1, sum(_NODE.fullmatch(path.name) is not None for path in paths))


def _shm_group(root: Path) -> int | None:
    """Return the group that may put shared memory into huge pages, see hugetlbpage.rst."""
    try:
        return int((root / "proc/sys/vm/hugetlb_shm_group").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _huge_pages(root: Path) -> dict[str, int]:
    """Return /proc/meminfo's figures of huge pages: sizes in KiB, others in pages."""
    try:
        text = (root / "proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return {}
    return {name: int(value) for name, value in _HUGE.findall(text)}
