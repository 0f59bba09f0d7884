"""What old trees need to be compiled by the compilers of today; the data is ``needs.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from dbhone.dbms.base_versions import Span

_FILE = "needs.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Flags for C and C++ that the trees of some versions need, and why."""

    name: str
    dbms: frozenset[str]
    span: Span
    why: str
    source: str
    c: tuple[str, ...]
    cxx: tuple[str, ...]


@cache
def all_needs() -> tuple[Need, ...]:
    """Return the table, in the file's order."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return tuple(
        Need(
            name=each["name"],
            dbms=frozenset(each["dbms"]),
            span=Span(since=each.get("since", ""), until=each.get("until", "")),
            why=each["why"],
            source=each["source"],
            c=tuple(each.get("c", ())),
            cxx=tuple(each.get("cxx", ())),
        )
        for each in tomllib.loads(text)["need"]
    )


def needs_of(dbms: str, version: str) -> tuple[Need, ...]:
    """Return what the trees of this version need."""
    return tuple(each for each in all_needs() if dbms in each.dbms and each.span.holds(version))
