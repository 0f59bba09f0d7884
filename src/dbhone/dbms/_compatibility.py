"""What old trees need to be compiled here and today; the data is ``needs.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from dbhone.dbms.base import Edit
from dbhone.versions import VersionRange

_FILE = "needs.toml"

What = TypeVar("What", "Need", Edit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Flags for C and C++ that the trees of some versions need, and why."""

    name: str
    why: str
    c: tuple[str, ...]
    cxx: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[What]):
    """An entry of the table: whose trees need ``what``, and where that is known from."""

    dbms: frozenset[str]
    span: VersionRange
    source: str
    what: What

    def is_for(self, dbms: str, version: str) -> bool:
        """Return whether the trees of this version need it."""
        return dbms in self.dbms and self.span.holds(version)


@cache
def all_needs() -> tuple[Entry[Need], ...]:
    """Return the flags that trees need, in the file's order."""
    return tuple(_entry(row, _need(row)) for row in _table()["need"])


@cache
def all_edits() -> tuple[Entry[Edit], ...]:
    """Return what trees have changed in their files, in the file's order."""
    return tuple(_entry(row, _edit(row)) for row in _table()["edit"])


def needs_of(dbms: str, version: str) -> tuple[Need, ...]:
    """Return the flags that the trees of this version need."""
    return tuple(need.what for need in all_needs() if need.is_for(dbms, version))


def edits_of(dbms: str, version: str) -> tuple[Edit, ...]:
    """Return what the trees of this version have changed in their files."""
    return tuple(edit.what for edit in all_edits() if edit.is_for(dbms, version))


def _table() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return tomllib.loads(text)


def _entry(declared: Mapping[str, Any], what: What) -> Entry[What]:
    return Entry(
        dbms=frozenset(declared["dbms"]),
        span=VersionRange(since=declared.get("since", ""), until=declared.get("until", "")),
        source=declared["source"],
        what=what,
    )


def _need(declared: Mapping[str, Any]) -> Need:
    c, cxx = (tuple(declared.get(key, ())) for key in ("c", "cxx"))
    return Need(name=declared["name"], why=declared["why"], c=c, cxx=cxx)


def _edit(declared: Mapping[str, Any]) -> Edit:
    return Edit(
        name=declared["name"],
        why=declared["why"],
        file=Path(declared["file"]),
        template=Path(declared["template"]) if "template" in declared else None,
        replace=MappingProxyType(dict(declared["replace"])),
    )
