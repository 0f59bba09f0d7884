"""Experiment files that hone writes: what is usual, and TOML with a value on one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbhone.dbms.base import Dbms
from dbhone.source.known_versions import KnownVersion

CONTROL = "control"
_SHARE = 15 * 60.0
"""Seconds for each subject: a dozen blocks of the usual suite, and what comes before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How an experiment is to be measured.

    ``budget`` is in seconds, None for a quarter of an hour for each subject; ``target`` is a
    fraction.
    """

    budget: float | None
    target: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the subjects are to do.

    ``suite`` None takes the usual one; ``sets`` and ``threads`` empty take the suite's own.
    """

    suite: str | None
    size: str
    sets: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()


def workload_table(work: Work, dbms: Dbms) -> dict[str, Any]:
    """Return the ``[workload]`` of an experiment on a DBMS."""
    chosen = {"sets": work.sets, "threads": work.threads}
    return {
        "suite": work.suite or dbms.usual_suite,
        "size": work.size,
        **{name: values for name, values in chosen.items() if values},
    }


def design_table(wishes: Wishes, subjects: int) -> dict[str, Any]:
    """Return the ``[design]`` of an experiment of so many subjects."""
    budget = wishes.budget or _SHARE * subjects
    return {
        "target": f"{wishes.target * 100:g}%",
        "budget": f"{budget / 60:g}m",
        "seed": wishes.seed,
    }


def version_table(version: KnownVersion, **taken: str) -> dict[str, Any]:
    """Return the subject that is a version, with what else makes it (``dbms`` or ``like``)."""
    made = {"variant": version.variant} if version.variant is not None else {}
    return {**taken, "source": version.name, **made}


def file_text(
    comment: str, head: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return a file's text: a comment, what stands before all tables, and the tables."""
    parts = [f"# {comment}", _lines(head)]
    parts += [f"[{_key(name)}]\n{_lines(values)}" for name, values in tables.items() if values]
    return "\n\n".join(parts) + "\n"


def _lines(values: Mapping[str, Any]) -> str:
    return "\n".join(f"{_key(name)} = {_value(value)}" for name, value in values.items())


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalpha() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_value(each)}" for name, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    # What JSON writes as a string, a number or a truth is one in TOML, too.
    return json.dumps(value, ensure_ascii=False)
