"""The allocator tcmalloc of gperftools, preloaded."""

from __future__ import annotations

from dbhone.instance.levers._allocator import Allocator

# The minimal one is the same allocator without gperftools' profilers.
PLUGIN = Allocator("tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
