"""Hints where there are too many names to list them all."""

from __future__ import annotations

from collections.abc import Collection

from dbhone.errors import nearest

_FEW = 12


def nearest_of_many(name: str, known: Collection[str]) -> str:
    """Return a hint that names the closest of ``known``; all of them only if they are few."""
    hint = nearest(name, known)
    if len(known) > _FEW and not hint.startswith("did you mean"):
        return f"none of its {len(known)} names is like it"
    return hint
