"""What others published: figures with their source, one TOML file each below ``published/``.

A file has what was compared and where, which subjects of one's own its subjects stand for, and
figures: ``[[steps]]`` for each number of threads, ``[[groups]]`` as ratios to the base,
``[build_seconds]``. Absolute figures are of the author's machine, and only become ratios.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from dbhone import registry
from dbhone.errors import UnknownName

_DRAWER = "dbhone.report.published"
Words = tuple[str, ...]


class By(StrEnum):
    """What tells a publication's subjects apart, and so which of one's own they stand for."""

    VARIANT = "variant"
    VERSION = "version"
    DBMS = "dbms"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StepFigures(_Section):
    """A metric of one step, by subject, one value for each number of threads."""

    step: str
    metric: str
    threads: tuple[int, ...]
    values: dict[str, tuple[float, ...]]


class Spread(_Section):
    """How the ratios of a group's steps to the base lie."""

    average: float
    median: float
    min: float
    max: float
    stddev: float


class GroupFigures(_Section):
    """Such spreads by subject, of what are one or several groups here."""

    groups: Annotated[Words, Field(min_length=1)]
    threads: int
    values: dict[str, Spread]


class Publication(_Section):
    """A publication's file.

    ``subjects`` have for each of the author's subjects the variants, versions or DBMSs (``by``)
    of one's own that it stands for.
    """

    title: str
    author: str
    source: str
    date: str
    machine: str
    what: str
    note: str
    base: str
    by: By
    subjects: dict[str, Words]
    regime: str | None = None
    steps: tuple[StepFigures, ...] = ()
    groups: tuple[GroupFigures, ...] = ()
    build_seconds: dict[str, float] = {}

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return all subjects but the base."""
        return tuple(each for each in self.subjects if each != self.base)


def publication_names() -> tuple[str, ...]:
    """Return the names of all publications."""
    return tuple(sorted(registry.toml_files(_DRAWER)))


def load_publication(name: str) -> Publication:
    """Return a publication. Raises UnknownName, with the nearest."""
    files = registry.toml_files(_DRAWER)
    if name not in files:
        raise UnknownName("published result", name, publication_names())
    text = files[name].read_text(encoding="utf-8")
    return Publication.model_validate(tomllib.loads(text))
