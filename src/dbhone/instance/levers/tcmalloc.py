"""The allocator tcmalloc of gperftools, preloaded."""

from __future__ import annotations

from dbhone.instance.levers._allocator import Allocator


class _Tcmalloc(Allocator):
    name = "tcmalloc"
    summary = "the allocator tcmalloc instead of the C library's"
    # The minimal one is the same allocator without gperftools' profilers.
    libraries = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")


PLUGIN = _Tcmalloc()
