"""How much memory servers have, whether they fit, and the sizes that are shares of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from dbhone import cgroup, units
from dbhone.cgroup import usable_memory
from dbhone.dbms.base_server import ServerDbms
from dbhone.dbms.base_settings import LOOSE
from dbhone.errors import MachineError, SettingsError

_BESIDE_CACHE = 128 * 1024 * 1024
"""What a server needs besides its cache: its code, connections, and the log in memory."""
_SHARE = re.compile(
    r"(?P<percent>\d+(?:\.\d+)?) *% of (?P<whole>memory|cache)(?:, at least (?P<least>\w+))?"
)
_MEANT = re.compile(r"% *of\b")
_SHARE_OF_SERVERS = 0.9
_MIB = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """What shares of a size refer to, in bytes.

    ``memory`` is a server's part of the machine's, ``cache`` the cache that the workload asks for.
    """

    memory: int
    cache: int


def memory_for(servers: int) -> int:
    """Return the memory that each of this many servers may have, in bytes."""
    return cgroup.total_memory() // max(servers, 1)


def scaled(value: str, yardstick: Yardstick, dbms: ServerDbms) -> str:
    """Return a setting's value, with a size in the place of a share.

    Shares are written as ``50% of memory`` or ``5% of cache, at least 64M``. They are whole
    mebibytes, rounded down. Other values stay as they are. Raises SettingsError for a share that is
    misspelled.
    """
    share = _SHARE.fullmatch(value.strip())
    if share is None:
        if _MEANT.search(value):
            raise SettingsError(
                f"'{value}' is not a share of memory or cache",
                hint="write it as '50% of memory' or '5% of cache, at least 64M'",
            )
        return value
    whole = yardstick.memory if share["whole"] == "memory" else yardstick.cache
    part = int(whole * float(share["percent"]) / 100)
    least = units.parse_size(share["least"]) if share["least"] else _MIB
    return dbms.amount(max(part // _MIB * _MIB, least))


def is_share_of_memory(value: str) -> bool:
    """Return whether a setting's value is requested as a share of the server's memory."""
    share = _SHARE.fullmatch(value.strip())
    return share is not None and share["whole"] == "memory"


def cache_bytes_of(dbms: ServerDbms, settings: Mapping[str, str], yardstick: Yardstick) -> int:
    """Return a server's cache in bytes: what its settings say, else what the workload asks for.

    Raises SettingsError for a share that is misspelled.
    """
    for name, value in settings.items():
        if dbms.canonical(name.removeprefix(LOOSE)) == dbms.cache_setting:
            size = dbms.bytes_of(scaled(value, yardstick, dbms))
            # The server itself will reject a value that is not a size.
            return yardstick.cache if size is None else size
    return yardstick.cache


def server_memory_limits(needs: Mapping[str, int]) -> dict[str, int]:
    """Return the most memory that each of these servers may hold, in bytes, with its clients.

    It is what the server needs, and an equal part of the rest. ``needs`` has the size of
    each one's cache.
    """
    needed = {name: cache + _BESIDE_CACHE for name, cache in needs.items()}
    spare = max(usable_memory() - sum(needed.values()), 0) // max(len(needed), 1)
    return {name: need + spare for name, need in needed.items()}


def fit_together(caches: Sequence[int]) -> bool:
    """Return whether servers with caches of these sizes fit into the memory of this machine.

    Other programs are left a tenth of it, whatever they use just now: so the answer stays the same.
    """
    return sum(cache + _BESIDE_CACHE for cache in caches) <= _SHARE_OF_SERVERS * memory_for(1)


def check_memory(
    caches: Sequence[int], *, one_by_one: bool = False, said_by: str = "[workload] cache"
) -> None:
    """Raise MachineError if servers with caches of these sizes do not fit into the memory.

    ``one_by_one`` says that at most one server is up at a time: then the largest counts.
    ``said_by`` is what an experiment says the size of its caches by.
    """
    caches = sorted(caches)[-1:] if one_by_one else caches
    needed = sum(cache + _BESIDE_CACHE for cache in caches)
    limit = cgroup.memory_limit(Path("/"))
    available = min(float(psutil.virtual_memory().available), limit)
    if needed > available:
        sizes = " and ".join(dict.fromkeys(units.size(cache) for cache in caches))
        count = "a server" if len(caches) == 1 else f"{len(caches)} servers"
        limited = math.isfinite(limit) and available == limit
        whose = "the control group allows" if limited else "there are"
        raise MachineError(
            f"{count} with a cache of {sizes} would need about"
            f" {units.size(needed)}, and {whose} {units.size(available)}",
            hint=f"choose a smaller cache: {said_by}"
            + (', or one server at a time: [design] servers = "one"' if len(caches) > 1 else ""),
        )
