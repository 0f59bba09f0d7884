"""An experiment, complete: every name resolved, every default filled in."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbhone.compilation.variant import Variant
from dbhone.dbms.base_settings import Wanted
from dbhone.experiment.observe import Observe
from dbhone.experiment.slicing import Slices
from dbhone.measurement.record import Design, Role
from dbhone.workload.work import Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a profile-guided subject is trained on: sets of the suite, at a named size.

    ``shares`` has, for each set, for how long it is run in comparison with the others.
    """

    sets: tuple[str, ...]
    size: str
    shares: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectDeclaration:
    """One subject as the experiment declares it.

    ``optional`` subjects are left out, with a warning, where their compiler is missing.
    ``copy_number`` is more than 0 for a build that is wanted once more. ``settings`` are
    those asked of its server, for the whole experiment or for it alone; ``options`` those of
    the build; ``fixes`` the fixes and patches that its source gets, by name or by file;
    ``levers`` are words, canonical.
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
    settings: tuple[Wanted, ...] = ()
    options: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    levers: tuple[str, ...] = ()

    @property
    def started_as(self) -> str:
        """Its name with its levers, for people."""
        return f"{self.name} with {', '.join(self.levers)}" if self.levers else self.name

    def runs_like(self, other: SubjectDeclaration) -> bool:
        """Return whether nothing but its build can tell it from another."""
        return (self.levers, self.settings) == (other.levers, other.settings)

    @property
    def made_as(self) -> str:
        """How it is built, for people."""
        made = " ".join((self.variant.name, *self.options, *self.fixes))
        return made if self.variant.ready_made else f"{made} with {self.compiler}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What to compare, on what, and how surely. ``text`` is the file as written.

    ``sets`` are the suite's sets that were asked for, None for all that the version has.
    With ``drop_unknown`` a server's setting that a version lacks is left out. With ``awake``
    no CPU sleeps while something is measured. ``slices`` is how its passes are to be measured.
    With ``allot`` what is hard to tell is asked for longer than what is not.
    """

    name: str
    text: str
    title: str
    subjects: tuple[SubjectDeclaration, ...]
    suite: str
    scale: Scale
    sets: tuple[str, ...] | None
    design: Design
    drop_unknown: bool = False
    awake: bool = False
    slices: Slices = Slices.AUTO
    allot: bool = True
    observe: Observe = field(default_factory=Observe)

    @property
    def size(self) -> str:
        """The named size of the workload."""
        return self.scale.size

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
