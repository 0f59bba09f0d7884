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
    Need,
    ObservedState,
    Pull,
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
        " 8.0.27 want them as shared memory, which is allowed to the group in"
        " /proc/sys/vm/hugetlb_shm_group"
    )

    def refusal(self, need: Need, offer: HostCapabilities) -> Unavailable | None:
        """Say how many are missing, and how they are reserved."""
        if not need.dbms.huge_pages:
            return Unavailable(
                reason=f"no setting of {need.dbms.title} puts its cache into huge pages"
            )
        if not offer.huge_page_bytes:
            return Unavailable(reason="this kernel has no huge pages that can be reserved")
        each = math.ceil((need.cache_bytes * _OVERHEAD + _BESIDE) / offer.huge_page_bytes)
        wanted = each * need.servers
        if wanted <= offer.huge_pages_free:
            return self._without_right(need, offer)
        total = offer.huge_pages - offer.huge_pages_free + wanted
        return Unavailable(
            reason=f"{count_of(need.servers, 'server')} with a cache of {size(need.cache_bytes)}"
            f" would need {count_of(wanted, 'huge page')} of {size(offer.huge_page_bytes)}, and"
            f" {offer.huge_pages_free} are free",
            hint=f"reserve them, as root: sysctl vm.nr_hugepages={total}",
        )

    def _without_right(self, need: Need, offer: HostCapabilities) -> Unavailable | None:
        versions = need.dbms.huge_pages_by_shmget
        if versions is None or not need.version or not versions.holds(need.version):
            return None
        if offer.may_share_huge:
            return None
        return Unavailable(
            reason=f"{need.dbms.title} {need.version} wants huge pages as shared memory, which the"
            " account that servers run as may not have",
            hint=f"allow it to its group, as root: sysctl vm.hugetlb_shm_group={offer.group}",
        )

    def pull(self, need: Need, offer: HostCapabilities) -> Pull:
        """Return the setting of the DBMS that asks for them."""
        del offer
        return Pull(settings=need.dbms.huge_pages, huge_bytes=need.cache_bytes)

    def took_effect(self, pull: Pull, traces: ObservedState) -> bool:
        """Return whether the whole cache is there: a server may fall back for a part of it."""
        return traces.huge_bytes >= pull.huge_bytes


PLUGIN = _HugePages()
