"""The server's cache in huge pages, which the kernel has reserved for such use.

They are those of /proc/sys/vm/nr_hugepages (hugetlbpage.rst of the kernel), not the transparent
ones, which the kernel gives and takes as it likes. Both DBMS families put their cache of data
pages there; their code stays in small pages.
"""

from __future__ import annotations

import math

from dbhone.instance.levers.base import (
    HostCapabilities,
    Lever,
    LeverChanges,
    LeverContext,
    ObservedState,
    Slot,
    Unavailable,
)
from dbhone.units import count_of, size

_OVERHEAD = 1.1
_BESIDE = 320 * 1024 * 1024
"""What a server puts there besides its cache, and before it: MariaDB's caches of MyISAM and Aria
are 128 MiB each, log buffers 16 MiB. If too little were left, InnoDB would do without, silently."""


class _HugePages(Lever):
    name = "huge-pages"
    summary = "the server's cache in the kernel's reserved huge pages"
    slot = Slot.PAGES
    remedy = (
        "were the huge pages still free when it started? MariaDB before 10.5 and MySQL before"
        " 8.0.27 take them only for an account in the group of /proc/sys/vm/hugetlb_shm_group:"
        " run hone as such a user"
    )

    def refusal(self, context: LeverContext, host: HostCapabilities) -> Unavailable | None:
        """Say how many are missing, and how they are reserved."""
        if not context.dbms.huge_pages:
            return Unavailable(
                reason=f"no setting of {context.dbms.title} puts its cache into huge pages"
            )
        if not host.huge_page_bytes:
            return Unavailable(reason="this kernel has no huge pages that can be reserved")
        per_server = math.ceil((context.cache_bytes * _OVERHEAD + _BESIDE) / host.huge_page_bytes)
        wanted = per_server * context.servers
        if wanted <= host.huge_pages_free:
            return None
        total = host.huge_pages - host.huge_pages_free + wanted
        return Unavailable(
            reason=f"{count_of(context.servers, 'server')} with a cache of"
            f" {size(context.cache_bytes)} would need {count_of(wanted, 'huge page')} of"
            f" {size(host.huge_page_bytes)}, and {host.huge_pages_free} are free",
            hint=f"reserve them, as root: sysctl vm.nr_hugepages={total}",
        )

    def apply(self, context: LeverContext, host: HostCapabilities) -> LeverChanges:
        """Return the setting of the DBMS that asks for them."""
        del host
        return LeverChanges(settings=context.dbms.huge_pages, huge_bytes=context.cache_bytes)

    def in_service(self, context: LeverContext) -> str:
        """Return the setting, and how the pages are reserved."""
        pairs = context.dbms.huge_pages.items()
        settings = " and ".join(f"{name} = {value}" for name, value in pairs)
        return (
            f"{settings} in the server's settings, and as root sysctl"
            " vm.nr_hugepages=NUMBER, with more of them than its cache needs"
        )

    def took_effect(self, changes: LeverChanges, observed: ObservedState) -> bool:
        """Return whether the whole cache is there: a server may fall back for a part of it."""
        return observed.huge_bytes >= changes.huge_bytes


PLUGIN = _HugePages()
