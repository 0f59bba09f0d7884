"""What dbhone must know of a database system, and the values that say it.

A DBMS file is pure: it reads the source tree that it is shown and returns data. It starts
nothing and writes nothing; only the core acts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dbhone import registry
from dbhone.dbms.base_counters import CounterSource
from dbhone.dbms.base_service import DistributionService
from dbhone.errors import SourceError
from dbhone.requirements import Requirement, RequirementKind
from dbhone.versions import ALWAYS, VersionRange

DRAWER = "dbhone.dbms"
LIBRARIES_VARIABLE = "DBHONE_LIBRARIES"
"""Names a folder with libraries that some trees want in one version only: boost_1_59_0, …"""


class Phase(StrEnum):
    """What a build step is for; the log and the timings are divided by it."""

    CONFIGURE = "configure"
    COMPILE = "compile"
    TOOLS = "tools"
    LAYOUTS = "layouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStep:
    """One program to run in the build folder."""

    phase: Phase
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file to keep: ``made`` in the build folder (links are followed), kept as ``kept``.

    With ``tree`` it is a folder, kept whole with the links in it.
    """

    name: str
    made: Path
    kept: Path
    tree: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What must be another in one ``file`` of a tree before it can be built here, and ``why``.

    A file that is not there is begun as a copy of ``template``. Of ``replace``, which maps text to
    what stands in its place, that is done which is found; a tree in which nothing is found has no
    need of it.
    """

    name: str
    why: str
    file: Path
    template: Path | None
    replace: Mapping[str, str]


class ProfileMode(StrEnum):
    """What a compiler does with a profile in this build."""

    GENERATE = "generate"
    USE = "use"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """The profile of a build, for a build system that has an option of its own for it.

    ``place`` is where the compiler writes its counters to or reads them from. ``flags`` are
    those of the request that say this and nothing else: a recipe that has the build system
    give one of them takes it out.
    """

    pass_: ProfileMode
    place: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The programs that a recipe's command lines name.

    ``compiler`` runs the chosen compiler and records each command; what is optimised and
    measured is compiled with it and with the variant's flags. ``host_compiler`` is the
    compiler itself, for drivers, shells and the tools that a build makes for its own use.
    ``cxx_compiler`` and ``host_cxx_compiler`` are the same for C++.
    ``archiver``, ``ranlib`` and ``nm`` understand the objects of this compiler's link-time
    optimisation: gcc-ar, llvm-ar; where they are missing, ar.
    """

    compiler: Path
    host_compiler: Path
    cxx_compiler: Path
    host_cxx_compiler: Path
    archiver: Path
    ranlib: Path
    nm: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest(Tools):
    """What a recipe may use, these programs among it.

    ``compiler_family`` is "gcc" or "clang". ``link_flags`` are for everything that is linked,
    ``primary_link_flags`` only for the program or library that is measured; that a tool of the
    build gets them, too, does no harm.
    ``shell`` tells whether the DBMS's shell is wanted: an instrumented build needs none.
    ``guidance`` is given if the build system may be told of the profile by its own option.
    ``options`` are the build options that the user asks for, as written. ``libraries`` is the
    user's folder of libraries in versions that the machine does not have. ``packaging`` is the kind
    of packages that the distribution's rules in the tree make, None if they are left aside. With
    ``all_targets`` everything is built that the configured tree builds by itself, with the
    variant's flags, and not only what the artifacts need.
    """

    tree: Path
    version: str
    compiler_family: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    primary_link_flags: tuple[str, ...]
    jobs: int
    shell: bool
    guidance: ProfileOptions | None = None
    options: tuple[str, ...] = ()
    libraries: Path | None = None
    packaging: str | None = None
    all_targets: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one build is made. ``primary`` names the artifact that is optimised and measured.

    ``added_flags`` are the compiler's flags that stand beside the variant's, because the tree
    cannot be compiled without them. ``unmovable`` are the functions of the primary artifact whose
    code a post-link optimiser must leave where it is.
    """

    steps: tuple[BuildStep, ...]
    artifacts: tuple[Artifact, ...]
    primary: str
    added_flags: tuple[str, ...] = ()
    unmovable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsistencyCheck:
    """A program that says whether a database is consistent, and what it says if it is."""

    argv: tuple[str, ...]
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """A licence by its SPDX expression, the files of a tree that hold it, and what it asks.

    ``duty`` is for whoever passes binaries on.
    """

    name: str
    files: tuple[str, ...]
    duty: str


class Dbms(ABC):
    """A database system that dbhone can build."""

    name: str
    title: str
    reference: str
    """The source to use when the user names none."""
    build_seconds: float
    """About how long two cores take for one build of a usual version: see ``seconds_of``."""
    needs_cxx: bool = False
    """Whether a C++ compiler takes part in a build."""
    requirements: tuple[Requirement, ...] = ()
    """What a build requires besides compilers; ``required_programs`` are among it."""
    text_bytes: int = 0
    """About how many bytes of code what is measured has: a post-link optimiser needs memory."""
    is_library: bool = False
    """Whether what is measured is a shared library and not a program."""
    takes_options: bool = False
    """Whether its recipe knows what to do with the build options of a request."""
    builds_all: bool = True
    """Whether its tree has more to build than a build of hone's makes."""
    packagings: frozenset[str] = frozenset()
    """The kinds of packages of which its recipe knows the distribution's rules."""
    lacks: tuple[str, ...] = ()
    """What distributions' packages of it have and a build by its own recipe has not, in words."""
    service: DistributionService | None = None
    """How a distribution that packs it runs it; None where hone does not know."""
    usual_suite: str
    """The suite to use when the user names none."""
    licence: Licence | None = None
    """Under what its binaries may be passed on; None where hone does not know."""
    drivers: frozenset[str] = frozenset()
    """Artifacts of its builds that only measure it."""
    builds: VersionRange = ALWAYS
    """The versions that hone has a recipe for."""
    counters: tuple[CounterSource, ...] = ()
    """What it counts of itself while it runs; not every version has all."""

    def seconds_of(self, version: str) -> float:
        """Return about how long two cores take for one build: for plans before the first.

        ``version`` is empty where it is not known yet.
        """
        del version
        return self.build_seconds

    @property
    def interface(self) -> str:
        """What a driver speaks with it: a server's protocol, or else the library of this name."""
        return self.name

    @abstractmethod
    def version(self, tree: Path) -> str:
        """Return the version of the source tree; raise SourceError if it is not one of ours."""

    def check_source(self, tree: Path) -> None:
        """Raise SourceError for a source tree of ours that cannot be built as it is."""
        del tree

    def check_builds(self, version: str) -> None:
        """Raise SourceError for a version that hone has no recipe for."""
        if not self.builds.holds(version):
            raise SourceError(f"hone cannot build {self.title} {version}: it builds {self.builds}")

    def edits(self, version: str) -> tuple[Edit, ...]:
        """Return what must be another in source trees of this version before they are built."""
        del version
        return ()

    def extensions(self, packaging: str | None) -> frozenset[str] | None:
        """Return the extensions that databases can have in a build; None where there are none.

        ``packaging`` is as in BuildRequest.
        """
        del packaging
        return None

    @abstractmethod
    def recipe(self, request: BuildRequest) -> Recipe:
        """Return how to build what ``request`` asks for."""

    def required_programs(self, tree: Path) -> tuple[str, ...]:
        """Return the programs, besides compilers, that a build of this source tree needs.

        Those of its requirements, unless some trees need others.
        """
        del tree
        programs = (need for need in self.requirements if need.kind is RequirementKind.PROGRAM)
        return tuple(need.name for need in programs)


class EmbeddedDbms(Dbms):
    """A DBMS that is a library: the driver is linked with it and makes its own database."""

    is_library = True

    @abstractmethod
    def consistency_check(self, shell: Path, database: Path) -> ConsistencyCheck:
        """Return the quick check of a database's consistency, made with a build's own shell."""


def system_names() -> tuple[str, ...]:
    """Return the names of all database systems that dbhone knows."""
    return tuple(registry.load_all(DRAWER, Dbms, what="DBMS"))


def load_dbms(name: str) -> Dbms:
    """Return what dbhone knows of a DBMS. Raises UnknownName."""
    return registry.load(DRAWER, name, Dbms, what="DBMS")


def load_embedded_dbms(name: str) -> EmbeddedDbms:
    """Return what dbhone knows of a DBMS that is embedded. Raises UnknownName."""
    return registry.load(DRAWER, name, EmbeddedDbms, what="DBMS")
