"""The allocator jemalloc, preloaded."""

from __future__ import annotations

from dbhone.instance.levers._allocator import Allocator

PLUGIN = Allocator("jemalloc", "libjemalloc.so.2")
