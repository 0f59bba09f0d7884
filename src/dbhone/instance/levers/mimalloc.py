"""The allocator mimalloc, preloaded."""

from __future__ import annotations

from dbhone.instance.levers._allocator import Allocator

PLUGIN = Allocator("mimalloc", "libmimalloc.so.3", "libmimalloc.so.2")
