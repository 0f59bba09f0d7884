"""The allocator mimalloc, preloaded."""

from __future__ import annotations

from dbhone.instance.levers._allocator import Allocator


class _Mimalloc(Allocator):
    name = "mimalloc"
    summary = "the allocator mimalloc instead of the C library's"
    libraries = ("libmimalloc.so.3", "libmimalloc.so.2")


PLUGIN = _Mimalloc()
