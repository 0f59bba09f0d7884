"""Which runs a list shows: filters and pages, as the address of the list says them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from dbhone.errors import UsageError
from dbhone.measurement.store import RunSummary
from dbhone.serve.state import State

PER_PAGE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A run that may be listed, and where it is in its life."""

    run: RunSummary
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a reader wants to see; what is empty does not matter. ``page`` begins with 1."""

    dbms: str = ""
    suite: str = ""
    state: str = ""
    text: str = ""
    page: int = 1

    @property
    def any(self) -> bool:
        """Whether some runs may be left out."""
        return bool(self.dbms or self.suite or self.state or self.text)

    def address(self, page: int) -> str:
        """Return the address of a page of the list with these filters."""
        wanted = {
            "dbms": self.dbms,
            "suite": self.suite,
            "state": self.state,
            "text": self.text,
            "page": str(page) if page > 1 else "",
        }
        said = urlencode({name: value for name, value in wanted.items() if value})
        return f"/?{said}" if said else "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of the list, the newest run first. ``found`` runs are on ``pages`` pages.

    ``choices`` has by filter what can be chosen.
    """

    filters: Filters
    shown: tuple[Listed, ...]
    found: int
    pages: int
    choices: Mapping[str, tuple[str, ...]]


def read_filters(query: Mapping[str, str]) -> Filters:
    """Return the filters of an address. Raises UsageError for a page that is no number."""
    page = query.get("page") or "1"
    if not (page.isascii() and page.isdigit() and int(page[:9]) > 0):
        raise UsageError(f"'{page}' is not a page", hint="pages are numbered from 1")
    return Filters(
        dbms=query.get("dbms", ""),
        suite=query.get("suite", ""),
        state=query.get("state", ""),
        text=query.get("text", "").strip(),
        page=int(page[:9]),
    )


def choose(runs: Sequence[Listed], filters: Filters) -> Listing:
    """Return the page of the list that the filters ask for; past the last page, the last."""
    found = [each for each in reversed(runs) if _wanted(each, filters)]
    pages = max(1, -(-len(found) // PER_PAGE))
    page = min(filters.page, pages)
    return Listing(
        filters=replace(filters, page=page),
        shown=tuple(found[(page - 1) * PER_PAGE : page * PER_PAGE]),
        found=len(found),
        pages=pages,
        choices={
            "dbms": _sorted(name for each in runs for name in each.run.dbms),
            "suite": _sorted(each.run.suite for each in runs),
            "state": _sorted(each.state.value for each in runs),
        },
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _wanted(each: Listed, filters: Filters) -> bool:
    run = each.run
    texts = (str(run.id), run.title, run.experiment_name, *run.subjects)
    return (
        filters.dbms in ("", *run.dbms)
        and filters.suite in ("", run.suite)
        and filters.state in ("", each.state.value)
        and any(filters.text.casefold() in text.casefold() for text in texts)
    )
