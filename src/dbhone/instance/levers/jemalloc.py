"""The allocator jemalloc, preloaded."""

from __future__ import annotations

from dbhone.instance.levers._allocator import Allocator


class _Jemalloc(Allocator):
    name = "jemalloc"
    summary = "the allocator jemalloc instead of the C library's"
    libraries = ("libjemalloc.so.2",)


PLUGIN = _Jemalloc()
