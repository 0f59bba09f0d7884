"""Progress at a pace that people can read."""

from __future__ import annotations

import time

from dbhone.source.kinds.base import Notify

_SECONDS = 1.0


def paced(notify: Notify) -> Notify:
    """Return a ``notify`` that passes on at most one line a second, and drops the others."""
    told = time.monotonic()

    def tell(line: str) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _SECONDS:
            told = now
            notify(line)

    return tell
