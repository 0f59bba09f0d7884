"""What old trees need to be compiled here and today; the data is ``needs.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dbhone.dbms.base import BuildRequest, Edit
from dbhone.versions import VersionRange

_FILE = "needs.toml"


@cache
def table() -> Mapping[str, Any]:
    """Return all entries, those with flags as ``need`` and those with changes as ``edit``."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return tomllib.loads(text)


def needs_of(dbms: str, request: BuildRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the flags for C and those for C++ that a tree needs with a compiler."""
    needs = [
        entry
        for entry in _entries("need", dbms, request.version)
        if entry.get("compiler") in (None, request.compiler_family)
        and not ("unless" in entry and any(request.tree.glob(entry["unless"])))
    ]
    c, cxx = (
        tuple(flag for entry in needs for flag in entry.get(language, ()))
        for language in ("c", "cxx")
    )
    return c, cxx


def edits_of(dbms: str, version: str) -> tuple[Edit, ...]:
    """Return what the trees of this version have changed in their files, in the file's order."""
    return tuple(
        Edit(
            name=entry["name"],
            why=entry["why"],
            file=Path(entry["file"]),
            template=Path(entry["template"]) if "template" in entry else None,
            replace=MappingProxyType(entry["replace"]),
        )
        for entry in _entries("edit", dbms, version)
    )


def _entries(kind: str, dbms: str, version: str) -> Iterator[Mapping[str, Any]]:
    for entry in table()[kind]:
        span = VersionRange(since=entry.get("since", ""), until=entry.get("until", ""))
        if dbms in entry["dbms"] and span.holds(version):
            yield entry
