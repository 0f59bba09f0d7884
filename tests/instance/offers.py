"""What a pretended host offers to levers."""

from __future__ import annotations

from pathlib import Path

from dbhone.instance.levers.base import HostCapabilities

OFFER = HostCapabilities(
    cpus=frozenset(range(4)),
    numa_nodes=2,
    libraries={"libjemalloc.so.2": Path("/lib/jemalloc"), "libtcmalloc.so.4": Path("/lib/tc")},
    programs={"numactl": Path("/usr/bin/numactl")},
    huge_page_bytes=2 * 1024**2,
    huge_pages=1000,
    huge_pages_free=900,
)
