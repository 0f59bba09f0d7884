"""What a build transform declares. A transform only returns data: it runs and writes nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dbhone.dbms.base import ProfileOptions

DRAWER = "dbhone.compilation.transforms"


class Family(StrEnum):
    """A family of compilers that take the same flags."""

    GCC = "gcc"
    CLANG = "clang"


class Slot(StrEnum):
    """A part of a variant that only one transform can set."""

    LEVEL = "optimisation level"
    DEBUG = "debug information"
    TARGET = "target processor"
    LTO = "link-time optimisation"
    PROFILE = "profile guidance"


class Pass(StrEnum):
    """Which build of a variant this is. Only profile-guided variants have more than one."""

    PLAIN = "plain"
    INSTRUMENT = "instrument"
    USE = "use"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The facts that flags can depend on.

    ``profile`` is the folder or file that the compiler reads in the USE pass; ``build_folder`` the
    folder in which it runs. Both are placeholders for a digest, which does not depend on the path
    of the home folder.
    """

    family: Family
    major: int
    pass_: Pass
    profile: str
    build_folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Flags for the compiler and, in front of its libraries, the linker.

    ``primary_link`` is for the linking of what is optimised and measured, not for that of a
    library beside it.
    ``proof`` lists the flags that every compile command of the finished build must contain: it is
    an error if a build system drops them. ``guidance`` describes the flags that concern a profile,
    for build systems with an option of their own for it; None if such an option would not mean the
    same.
    """

    compile: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    primary_link: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    guidance: ProfileOptions | None = None


class Transform(ABC):
    """One modification of a build.

    ``order`` places its flags among those of other transforms: later flags override earlier ones.
    Two transforms of one ``slot`` conflict. ``host_specific`` marks a build for this processor
    only. ``profile_guided`` makes the variant a build in two passes with training in between.
    """

    name: str
    summary: str
    order: int
    slot: Slot
    host_specific: bool = False
    profile_guided: bool = False
    conflicts: tuple[str, ...] = ()

    @abstractmethod
    def flags(self, context: Context) -> Flags:
        """Return the flags of this transform in one pass of a build."""

    def programs(self, family: Family) -> tuple[str, ...]:
        """Return the programs, besides the compiler, that this transform needs."""
        del family
        return ()

    def refusal(self, family: Family, major: int) -> str | None:
        """Return why this compiler cannot apply it, None if it can."""
        del family, major
        return None


PROFILE_PLACEHOLDER = "{profile}"
FOLDER_PLACEHOLDER = "{build}"
SYMBOLIC_PROFILE = Path("/dbhone-profile")
"""The folder that is compiled into an instrumented gcc build; GCOV_PREFIX moves it at run time."""
