"""An experiment, complete: every name resolved, every default filled in."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from dbhone.compilation.inputs import BuildInputs
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import UnknownName
from dbhone.experiment.declaration.observe import ObserveOptions
from dbhone.measurement.record import Design, Role
from dbhone.verification.outcome import Grade
from dbhone.workload import users_suite
from dbhone.workload.workload import Workload

T = TypeVar("T")


class Slices(StrEnum):
    """How an experiment wants its sets to be measured."""

    AUTO = "auto"
    """In short slices, with paused drivers, where that can be done and where it pays."""
    FRESH = "fresh"
    """One slice of each subject, by a driver that is started for it."""
    SHORT = "short"
    """In short slices, with paused drivers; a set that cannot be measured so is refused."""


class Servers(StrEnum):
    """How many servers an experiment wants to be up at once."""

    AUTO = "auto"
    """All, if their caches fit into the memory together."""
    ALL = "all"
    """Those of all subjects, side by side."""
    ONE = "one"
    """That of one subject: in a block one subject does everything, then another does."""


class Placement(StrEnum):
    """On which CPUs the clients and the servers of an experiment run."""

    AUTO = "auto"
    """On cores of their own, if servers have as many as clients, and no lever says otherwise."""
    FREE = "free"
    """Wherever the kernel puts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCommand:
    """A program of the user's that a server is trained by, in seconds at most ``timeout``.

    It runs in ``folder``, that of the experiment, of which it may read everything.
    """

    argv: tuple[str, ...]
    folder: Path
    timeout: float

    @property
    def line(self) -> str:
        """The command as one would type it."""
        return shlex.join(self.argv)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files below the folder that its words name: its scripts."""
        named = (self.folder / word for word in self.argv if word)
        return tuple(path for path in named if _is_file(path) and self.folder in path.parents)


def _is_file(path: Path) -> bool:
    """Return whether a word of a command is a file's path; it may be anything else."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a profile-guided subject is trained on: a workload whose sets are all named.

    Its suite is ``foreign`` if it is another than what is measured.
    ``shares`` has, for each set, for how long it is run in comparison with the others. The server
    has the experiment's ``settings``, none of which a subject asks for alone. A ``command`` is run
    once, after the sets, of which there need be none then.
    """

    workload: Workload
    foreign: bool = False
    shares: tuple[float, ...] = ()
    settings: tuple[RequestedSetting, ...] = ()
    drop_unknown: bool = False
    command: TrainingCommand | None = None

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The sets, with the name of a foreign suite, and the command."""
        suite = f"{self._suite_name}/" if self.foreign else ""
        return (*(f"{suite}{name}" for name in self.workload.chosen), *self._command_lines)

    @property
    def label(self) -> str:
        """The same for people: a foreign suite is named once."""
        suite = f"{self._suite_name}: " if self.foreign else ""
        return suite + ", ".join((*self.workload.chosen, *self._command_lines))

    @property
    def _suite_name(self) -> str:
        return Path(self.workload.name).name

    @property
    def _command_lines(self) -> tuple[str, ...]:
        return (self.command.line,) if self.command else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectDeclaration:
    """One subject as the experiment declares it.

    ``training`` is given for a profile-guided build and only for it. ``optional`` subjects are
    left out, with a warning, where they cannot be built. ``settings`` are asked of its server, for
    the whole experiment or for this subject alone. ``levers`` are canonical words.
    """

    name: str
    role: Role
    inputs: BuildInputs
    training: Training | None = None
    optional: bool = False
    settings: tuple[RequestedSetting, ...] = ()
    levers: tuple[str, ...] = ()

    def runs_like(self, other: SubjectDeclaration) -> bool:
        """Return whether nothing but its build can tell it from another."""
        return (self.levers, self.settings) == (other.levers, other.settings)

    def is_built_like(self, other: SubjectDeclaration) -> bool:
        """Return whether both are of one build."""
        return (self.inputs, self.training) == (other.inputs, other.training)

    @property
    def label(self) -> str:
        """Its name, and how it is built, for people."""
        return f"{self.name}: {self.inputs.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What to compare, on what, and how surely. ``text`` is the file as written.

    With ``drop_unknown`` a server's setting that a version lacks is left out. With ``awake``
    no CPU sleeps while something is measured. ``slices`` is how its trials are to be measured, and
    ``servers`` how many servers are up at once, which is never ``AUTO`` here. ``placement`` is
    on which CPUs clients and servers run.
    With ``allot`` what is hard to tell is asked for longer than what is not. With ``stop_early``
    measuring ends when every candidate's summary is clear. ``tolerance`` is the loss that does
    not matter, a fraction, None if each does. Each subject has ``layouts`` of its own, if it can
    have any, 0 is the usual one. ``verification`` is the grade at which builds are verified, None
    if only their answers are compared. ``files`` are the texts of the user's suite and its scripts,
    by name.
    """

    name: str
    text: str
    title: str
    subjects: tuple[SubjectDeclaration, ...]
    workload: Workload
    design: Design
    drop_unknown: bool = False
    awake: bool = False
    slices: Slices = Slices.AUTO
    servers: Servers = Servers.ALL
    placement: Placement = Placement.AUTO
    allot: bool = True
    stop_early: bool = False
    tolerance: float | None = None
    layouts: int = 0
    observe: ObserveOptions = field(default_factory=ObserveOptions)
    verification: Grade | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def suite_label(self) -> str:
        """The name of the suite; a user's is named after the contents of its files."""
        return users_suite.label(self.workload.name, self.files)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """What is measured, and what subjects are trained on."""
        trainings = (subject.training for subject in self.subjects if subject.training)
        return (self.workload, *(training.workload for training in trainings))

    @property
    def size(self) -> str:
        """The named size of the workload."""
        return self.workload.scale.size

    @property
    def servers_up(self) -> int:
        """How many servers are up at once."""
        return 1 if self.one_by_one else len(self.subjects)

    @property
    def one_by_one(self) -> bool:
        """Whether at most one server is up at a time, as it is, too, where all are cold."""
        return self.servers is Servers.ONE or self.workload.cold

    @property
    def base(self) -> SubjectDeclaration:
        """The subject that the others are compared with."""
        return next(subject for subject in self.subjects if subject.role is Role.BASE)

    def subject(self, name: str) -> SubjectDeclaration:
        """Return the subject of this name. Raises UnknownName."""
        for subject in self.subjects:
            if subject.name == name:
                return subject
        raise UnknownName("subject", name, (subject.name for subject in self.subjects))

    @property
    def compared(self) -> tuple[str, ...]:
        """The names of what the base is compared with: candidates, or without any its controls."""
        candidates = self._names_of(Role.CANDIDATE)
        return candidates or self._names_of(Role.CONTROL)

    def _names_of(self, role: Role) -> tuple[str, ...]:
        return tuple(subject.name for subject in self.subjects if subject.role is role)

    def own_layouts(self, name: str, layouts: Sequence[T]) -> Sequence[T]:
        """Return those of a build's layouts that are a subject's own.

        Subjects of one build, such as the base and its control, share them out: in the same ones
        the effect of a layout would cancel between the two.
        """
        subject = self.subject(name)
        sharing = [other.name for other in self.subjects if other.is_built_like(subject)]
        first = sharing.index(name) * self.layouts
        return layouts[first : first + self.layouts]

    @property
    def trained_sets(self) -> frozenset[str]:
        """The sets that some subject is trained on: the in-sample ones."""
        trainings = (subject.training for subject in self.subjects if subject.training)
        own = (training.workload for training in trainings if not training.foreign)
        return frozenset(name for workload in own for name in workload.chosen)
