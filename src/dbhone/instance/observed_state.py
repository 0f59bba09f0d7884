"""What the kernel reports of a running server; it shows whether a lever took effect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dbhone.instance.levers.base import ObservedState

_PROC = Path("/proc")
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")
_FIGURE = re.compile(r"^(Size|(?:Shared|Private)_Hugetlb): +(\d+) kB$")
_POLICY = re.compile(r"^[0-9a-f]+ ([a-z]+)", re.M)


def read_observed_state(pid: int, *, proc: Path = _PROC) -> ObservedState:
    """Return the state of a process and its threads; it is empty if the process is gone."""
    own = proc / str(pid)
    maps = _text(own / "smaps")
    return ObservedState(
        files=frozenset(_files(maps)),
        cpus=frozenset(_cpus(own)),
        huge_bytes=_huge_bytes(maps),
        numa_policies=frozenset(_POLICY.findall(_text(own / "numa_maps"))),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


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
