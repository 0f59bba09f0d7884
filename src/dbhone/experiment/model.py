"""An experiment, complete: every name resolved, every default filled in."""

from __future__ import annotations

from dataclasses import dataclass

from dbhone.build.variant import Variant
from dbhone.measurement.record import Design, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a profile-guided subject is trained on: sets of the suite, at a named size."""

    sets: tuple[str, ...]
    size: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectDeclaration:
    """One subject as the experiment declares it.

    ``optional`` subjects are left out, with a warning, where their compiler is missing.
    ``copy_number`` is more than 0 for a build that is wanted once more.
    """

    name: str
    role: Role
    dbms: str
    source: str
    variant: Variant
    compiler: str
    training: Training | None
    copy_number: int
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What to compare, on what, and how surely. ``text`` is the file as written.

    ``sets`` are the suite's sets that were asked for, None for all that the version has.
    """

    name: str
    text: str
    title: str
    subjects: tuple[SubjectDeclaration, ...]
    suite: str
    size: str
    sets: tuple[str, ...] | None
    design: Design

    @property
    def base(self) -> SubjectDeclaration:
        """The subject that the others are compared with."""
        return next(each for each in self.subjects if each.role is Role.BASE)

    @property
    def trained_sets(self) -> frozenset[str]:
        """The sets that some subject is trained on: the in-sample ones."""
        return frozenset(
            name for each in self.subjects if each.training for name in each.training.sets
        )
