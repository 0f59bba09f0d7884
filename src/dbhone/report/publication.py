"""What others published, and which of its subjects stand for which of a run's.

A file has what was compared and where, which subjects of one's own its subjects stand for, and
figures: ``[[steps]]`` for each number of threads, ``[[groups]]`` as ratios to the base,
``[build_seconds]``. Absolute figures are of the author's machine, and only become ratios.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from dbhone import registry
from dbhone.errors import UnknownName, UsageError
from dbhone.measurement.record import Role, Run, Subject

_DRAWER = "dbhone.report.published"
Words = tuple[str, ...]


class By(StrEnum):
    """The property by which a publication distinguishes its subjects, and by which ours match.

    Its value is the name of the subject's attribute.
    """

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
    """How the ratios of a group's steps to the base are distributed."""

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

    ``name`` is the file's own. ``subjects`` have for each of the author's subjects the variants,
    versions or DBMSs (``by``) of one's own that it stands for. ``suite`` is the suite of ours whose
    sets the ``steps`` are.
    """

    name: str
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
    suite: str | None = None
    steps: tuple[StepFigures, ...] = ()
    groups: tuple[GroupFigures, ...] = ()
    build_seconds: dict[str, float] = {}

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return all subjects but the base."""
        return tuple(subject for subject in self.subjects if subject != self.base)


def publication_names() -> tuple[str, ...]:
    """Return the names of all publications."""
    return tuple(sorted(registry.toml_files(_DRAWER)))


def load_publication(name: str) -> Publication:
    """Return a publication. Raises UnknownName, with the nearest."""
    files = registry.toml_files(_DRAWER)
    if name not in files:
        raise UnknownName("published result", name, publication_names())
    text = files[name].read_text(encoding="utf-8")
    return Publication.model_validate(tomllib.loads(text) | {"name": name})


SYNTAX = "NAME or NAME:THEIRS=MINE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedChoice:
    """A publication to show beside a run, and the pairs of subjects that the user named."""

    publication: Publication
    said: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A published subject and one of the run's. ``why`` says why they belong together."""

    theirs: str
    mine: Subject
    why: str


def parse_choice(word: str) -> PublishedChoice:
    """Return the choice in ``NAME:THEIRS=MINE,…``. Raises UsageError, UnknownName."""
    name, colon, rest = word.partition(":")
    publication = load_publication(name)
    texts: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        theirs, equals, own_name = part.strip().partition("=")
        if not (theirs and equals and own_name):
            raise UsageError(f"'{word}' is not a valid choice", hint=f"write it as {SYNTAX}")
        if theirs == publication.base:
            raise UsageError(
                f"{theirs} is the base of {name}: it stands for your base",
                hint=f"name another subject: {', '.join(publication.candidates)}",
            )
        if theirs not in publication.candidates:
            raise UnknownName(f"subject of {name}", theirs, publication.candidates)
        texts[theirs] = own_name
    return PublishedChoice(publication=publication, said=texts)


def pairs(request: PublishedChoice, run: Run, base: Subject) -> tuple[Pair, ...]:
    """Return the pairs of published subjects and the run's, in the publication's order.

    They are the user's. If there are none, each sound candidate pairs with the published subjects
    that stand for it and not for its base. Raises UsageError if there is no pair.
    """
    own = [
        subject
        for subject in run.subjects
        if subject.role is Role.CANDIDATE and subject.broken is None
    ]
    if request.said:
        return tuple(
            Pair(theirs=theirs, mine=_named(example, own, run), why="as you said")
            for theirs, example in request.said.items()
        )
    publication = request.publication
    found = tuple(
        Pair(theirs=theirs, mine=example, why=f"by its {_WORDS[publication.by]}")
        for theirs in publication.candidates
        for example in own
        if fits(publication, theirs, example) and not fits(publication, theirs, base)
    )
    if not found:
        theirs = publication.candidates[0]
        example = own[0].name if own else "SUBJECT"
        raise UsageError(
            f"no candidate of run {run.id} has a {_WORDS[publication.by]} that is compared in"
            f" {publication.name}",
            hint=f"pair them by name: --beside {publication.name}:{theirs}={example}",
        )
    return found


_WORDS = {By.VARIANT: "variant", By.VERSION: "version", By.DBMS: "DBMS"}


def fits(publication: Publication, theirs: str, subject: Subject) -> bool:
    """Return whether a published subject stands for one of the run's, by its properties."""
    return getattr(subject, publication.by.value) in publication.subjects[theirs]


def _named(name: str, subjects: list[Subject], run: Run) -> Subject:
    for subject in subjects:
        if subject.name == name:
            return subject
    raise UnknownName(
        f"sound candidate of run {run.id}", name, [subject.name for subject in subjects]
    )
