"""What an experiment's file declared of a run, as far as it is needed after the run.

A run keeps the text of its file. It is read here, once for each text, and nowhere else afterwards.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What an experiment's file declares, as far as reports need it.

    ``history`` is the order of versions, empty if the run is no history. ``workload`` is that
    section of the file. ``subjects`` are all that are declared; some may be missing in the run.
    With ``awake`` no CPU sleeps while something is measured. ``observes`` says whether servers are
    observed meanwhile.
    """

    history: tuple[str, ...] = ()
    workload: Mapping[str, Any]
    subjects: tuple[str, ...] = ()
    awake: bool = False
    observes: bool = True


@cache
def read_declared(text: str) -> Declared:
    """Return what the text of an experiment's file declares; nothing if it is no TOML."""
    try:
        file = tomllib.loads(text)
    except (ValueError, RecursionError):
        file = {}
    order = _table(file, "history").get("order", ())
    return Declared(
        history=tuple(map(str, order)) if isinstance(order, list) else (),
        workload=_table(file, "workload"),
        subjects=tuple(_table(file, "subjects")),
        awake=_table(file, "design").get("awake") is True,
        observes=_table(file, "observe").get("enabled") is not False,
    )


def _table(file: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = file.get(name, {})
    return table if isinstance(table, dict) else {}
