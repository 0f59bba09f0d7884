"""The names of a search's runs: they are made and read here alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_RUN = re.compile(r"(?P<search>tune-[^-]+)-(?P<kind>[a-z]+)-(?P<number>\d+)")


class StageKind(StrEnum):
    """What a run of a search is for."""

    CHOOSE = "choose"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """The name of one run: which ``search`` it is of, what it is for, and which of these it is."""

    search: str
    kind: StageKind
    number: int

    def __str__(self) -> str:
        """Return it as a run keeps it: ``tune-0123456789-choose-1``."""
        return f"{self.search}-{self.kind.value}-{self.number}"


def search_name(digest: str) -> str:
    """Return the name of the search with this digest of what is searched for."""
    return f"tune-{digest}"


def read_run_name(text: str) -> RunName | None:
    """Return the name of a search's run, None for that of any other run."""
    match = _RUN.fullmatch(text)
    if match is None or match["kind"] not in set(StageKind):
        return None
    return RunName(
        search=match["search"], kind=StageKind(match["kind"]), number=int(match["number"])
    )
