"""Names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 4


def listed(names: Sequence[str]) -> str:
    """Return some names in a sentence, and how many more there are."""
    shown = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
