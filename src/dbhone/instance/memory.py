"""Whether servers fit into the memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import psutil

from dbhone import units
from dbhone.errors import MachineError
from dbhone.measurement import cgroup

_BESIDE_CACHE = 128 * 1024 * 1024
"""What a server needs besides its cache: its code, connections, and the log in memory."""


def check_memory(caches: Sequence[int]) -> None:
    """Raise MachineError if servers with caches of these sizes do not fit into the memory."""
    needed = sum(cache + _BESIDE_CACHE for cache in caches)
    limit = cgroup.memory_limit(Path("/"))
    available = min(float(psutil.virtual_memory().available), limit)
    if needed > available:
        sizes = " and ".join(dict.fromkeys(units.size(cache) for cache in caches))
        count = "a server" if len(caches) == 1 else f"{len(caches)} servers"
        whose = (
            "the control group allows"
            if math.isfinite(limit) and available == limit
            else ("there are")
        )
        raise MachineError(
            f"{count} with a cache of {sizes} would need about"
            f" {units.size(needed)}, and {whose} {units.size(available)}",
            hint="choose a smaller cache: [workload] cache",
        )
