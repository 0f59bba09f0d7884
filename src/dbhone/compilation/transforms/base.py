"""What a build transform declares. A transform only returns data: it runs and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from dbhone.dbms.base import ProfileOptions

DRAWER = "dbhone.compilation.transforms"


class CompilerFamily(StrEnum):
    """A family of compilers that take the same flags."""

    GCC = "gcc"
    CLANG = "clang"


class Slot(StrEnum):
    """A part of a variant that only one transform can set."""

    LEVEL = "optimisation level"
    DEBUG = "debug information"
    TARGET = "target processor"
    LTO = "link-time optimisation"
    INTERPOSITION = "interposition of symbols"
    PROFILE = "profile guidance"
    ALIGNMENT = "alignment of segments"
    POST_LINK = "post-link optimisation"


class Pass(StrEnum):
    """Which build of a variant this is. Only variants that are trained have more than one.

    The post-link passes change a build that was linked before; the others compile.
    """

    PLAIN = "plain"
    INSTRUMENT = "instrument"
    REINSTRUMENT = "reinstrument"
    """Uses the first profile and counts once more, in the code that came of it."""
    USE = "use"
    POST_LINK_INSTRUMENT = "post-link-instrument"
    POST_LINK_USE = "post-link-use"

    @property
    def trains(self) -> bool:
        """Whether its build is made to be trained."""
        return self in {Pass.INSTRUMENT, Pass.REINSTRUMENT, Pass.POST_LINK_INSTRUMENT}

    @property
    def takes_profile(self) -> bool:
        """Whether it needs the profile of the training before it."""
        return self in {Pass.REINSTRUMENT, Pass.USE, Pass.POST_LINK_USE}

    @property
    def post_link(self) -> bool:
        """Whether it changes a linked file."""
        return self in {Pass.POST_LINK_INSTRUMENT, Pass.POST_LINK_USE}

    @property
    def note(self) -> str:
        """What tells its build from the finished one, for people; empty for most."""
        return _NOTES.get(self, "")


_NOTES = {
    Pass.INSTRUMENT: "instrumented",
    Pass.REINSTRUMENT: "instrumented for context",
    Pass.POST_LINK_INSTRUMENT: "instrumented after linking",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagContext:
    """The facts that flags can depend on.

    ``profile`` is the folder or file that the compiler reads in the USE pass; ``build_folder`` the
    folder in which it runs. Both are placeholders for a digest, which does not depend on the path
    of the home folder.
    """

    family: CompilerFamily
    pass_: Pass
    profile: str
    build_folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Flags for the compiler, the linker (in front of its libraries), and the post-link optimiser.

    ``primary_link`` is for the linking of what is optimised and measured, not for that of a
    library beside it.
    ``proof`` lists the flags that every compile command of the finished build must contain: it is
    an error if a build system drops them. ``guidance`` describes the flags that concern a profile,
    for build systems with an option of their own for it; None if such an option would not mean the
    same. ``post_link`` is what the post-link optimiser is told in a post-link pass.
    """

    compile: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    primary_link: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    guidance: ProfileOptions | None = None
    post_link: tuple[str, ...] = ()

    def __add__(self, later: Flags) -> Flags:
        """Return both; of what a profile means to a build system, the first that says it."""
        return Flags(
            compile=(*self.compile, *later.compile),
            link=(*self.link, *later.link),
            primary_link=(*self.primary_link, *later.primary_link),
            proof=(*self.proof, *later.proof),
            guidance=self.guidance or later.guidance,
            post_link=(*self.post_link, *later.post_link),
        )


class Transform:
    """One modification of a build.

    ``order`` places its flags among those of other transforms: later flags override earlier ones.
    Two transforms of one ``slot`` conflict. ``host_specific`` marks a build for this processor
    only; one with ``cpu_flags`` is for processors that have all of these, as Linux names them.
    ``compile_flags`` are its flags if they are the same for each compiler and each pass, that which
    proves it first. ``kernel_options`` must be in the kernel's configuration, and the files
    ``kernel_settings`` must contain these words. ``for_library`` marks what changes nothing in a
    program, only in a shared library. ``profile_guided`` makes the variant one that is trained:
    ``passes`` are those that compile, in order, if they are not the plain one; ``post_link`` adds
    the post-link passes to whatever compiles.
    """

    name: str
    summary: str
    order: int
    slot: Slot
    host_specific: bool = False
    cpu_flags: frozenset[str] = frozenset()
    kernel_options: tuple[str, ...] = ()
    kernel_settings: Mapping[str, str] = MappingProxyType({})
    for_library: bool = False
    profile_guided: bool = False
    passes: tuple[Pass, ...] = ()
    post_link: bool = False
    conflicts: tuple[str, ...] = ()
    compile_flags: tuple[str, ...] = ()

    def flags(self, context: FlagContext) -> Flags:
        """Return the flags of this transform in one pass of a build."""
        del context
        return Flags(compile=self.compile_flags, proof=self.compile_flags[:1])

    def programs(self, family: CompilerFamily) -> tuple[str, ...]:
        """Return the programs, besides the compiler, that this transform needs."""
        del family
        return ()

    def refusal(self, family: CompilerFamily, major: int) -> str | None:
        """Return why this compiler cannot apply it, None if it can."""
        del family, major
        return None


PROFILE_PLACEHOLDER = "{profile}"
FOLDER_PLACEHOLDER = "{build}"
SYMBOLIC_PROFILE = Path("/dbhone-profile")
"""The folder that is compiled into an instrumented gcc build; GCOV_PREFIX moves it at run time."""
