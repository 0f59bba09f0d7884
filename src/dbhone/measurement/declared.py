"""What an experiment's file declares, read from the text that a run keeps."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dbhone.errors import UsageError
from dbhone.units import parse_duration, parse_percent


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDesign:
    """How an experiment's file says to measure, where the command line may say otherwise.

    The values are those of a file that does not say.
    """

    target: float = 0.02
    budget_seconds: float = 8 * 60.0
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What an experiment's file declares, as far as reports need it.

    ``history`` is the order of versions, empty if the run is not a history. ``workload`` is that
    section of the file. ``subjects`` are all that are declared; some may be missing in the run.
    ``observes`` says whether servers are observed while they are measured. ``grade`` is that at
    which builds were verified, empty for none.
    ``layouts`` is in how many layouts each subject is measured that can have several. ``design`` is
    what the command line may say otherwise.
    """

    history: tuple[str, ...] = ()
    workload: Mapping[str, Any]
    subjects: tuple[str, ...] = ()
    observes: bool = True
    grade: str = ""
    layouts: int = 0
    design: DeclaredDesign = field(default_factory=DeclaredDesign)


@lru_cache(maxsize=64)
def read_declared(text: str) -> Declared:
    """Return what the text of an experiment's file declares; nothing if it is no TOML."""
    try:
        file = tomllib.loads(text)
    except (ValueError, RecursionError):
        file = {}
    order = _table(file, "history").get("order", ())
    design = _table(file, "design")
    return Declared(
        history=tuple(map(str, order)) if isinstance(order, list) else (),
        workload=_table(file, "workload"),
        subjects=tuple(_table(file, "subjects")),
        observes=_table(file, "observe").get("enabled") is not False,
        grade=str(_table(file, "verification").get("grade", "")),
        layouts=layouts if isinstance(layouts := design.get("layouts"), int) else 0,
        design=_design(design),
    )


def _design(table: Mapping[str, Any]) -> DeclaredDesign:
    usual, seed = DeclaredDesign(), table.get("seed")
    return DeclaredDesign(
        target=_parsed(table.get("target"), parse_percent, usual.target),
        budget_seconds=_parsed(table.get("budget"), parse_duration, usual.budget_seconds),
        seed=seed if isinstance(seed, int) else usual.seed,
    )


def _parsed(value: object, parse: Callable[[str], float], usual: float) -> float:
    try:
        return parse(value) if isinstance(value, str) else usual
    except UsageError:
        return usual


def _table(file: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = file.get(name, {})
    return table if isinstance(table, dict) else {}
