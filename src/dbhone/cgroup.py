"""The control group that hone runs in: where the kernel keeps its limits and what they cost."""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath

_MOUNT = Path("sys/fs/cgroup")
_UNLIMITED = 1 << 60
"""Version 1 tells "no limit" as a number near 2**63."""


def folders(root: Path, controller: str) -> tuple[Path, ...]:
    """Return the folders of our group and of those above it, the nearest first.

    The result is empty if none can be seen. ``root`` is ``/``. ``controller`` is ``cpu`` or
    ``memory``: version 1 has a tree for each of them, version 2 one for all.
    """
    own_folder = _own(root, controller)
    if own_folder is None:
        return ()
    top, own = own_folder
    chain = [top / own, *(top / parent for parent in own.parents)] if own.parts else [top]
    return tuple(folder for folder in chain if folder.is_dir())


def _own(root: Path, controller: str) -> tuple[Path, PurePosixPath] | None:
    """Return where the controller's tree is, and the path of our group in it."""
    try:
        text = (root / "proc/self/cgroup").read_text()
    except OSError:
        return None
    unified = None
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        relative = PurePosixPath(path.lstrip("/"))
        if controller in names.split(","):
            for name in (names, controller):
                if (root / _MOUNT / name).is_dir():
                    return root / _MOUNT / name, relative
        if not names:
            unified = relative
    return None if unified is None else (root / _MOUNT, unified)


def cpu_limit(root: Path) -> float:
    """Return how many cores' worth of time the group may use; infinite without a limit."""
    limits = (_cpu_limit(folder) for folder in folders(root, "cpu"))
    return min(limits, default=math.inf)


def _cpu_limit(folder: Path) -> float:
    words = _words(folder / "cpu.max")
    if not words:
        words = _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
    if len(words) != 2 or words[0] == "max" or int(words[0]) <= 0:
        return math.inf
    return int(words[0]) / int(words[1])


def memory_limit(root: Path) -> float:
    """Return how many bytes of memory the group may hold; infinite without a limit."""
    limits = (_memory_limit(folder) for folder in folders(root, "memory"))
    return min(limits, default=math.inf)


def _memory_limit(folder: Path) -> float:
    words = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
    if not words or words[0] == "max" or int(words[0]) >= _UNLIMITED:
        return math.inf
    return float(words[0])


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
