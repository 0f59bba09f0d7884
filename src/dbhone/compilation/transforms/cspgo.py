"""Context-sensitive profile-guided optimisation: counted once more, after inlining.

The first profile is that of ``pgo``, with which it shares the instrumented build. The second
build is compiled with it, and counts in the code that inlining has made: a function that is
inlined in several places has counts for each. The third takes both profiles. Source: the commit
35d2d513 of llvm-project, which brought it.
"""

from dbhone.compilation.transforms.base import (
    CompilerFamily,
    FlagContext,
    Flags,
    Pass,
    Slot,
    Transform,
)
from dbhone.compilation.transforms.pgo import clang_flags


class CsPgo(Transform):
    """clang's. Both trainings run the same workload."""

    name = "cspgo"
    summary = "context-sensitive profile-guided optimisation (clang); trained twice"
    order = 40
    slot = Slot.PROFILE
    profile_guided = True
    passes = (Pass.INSTRUMENT, Pass.REINSTRUMENT, Pass.USE)

    def flags(self, context: FlagContext) -> Flags:
        """Return what ``pgo`` has, and in the pass between, what uses one profile and counts."""
        if context.pass_ is not Pass.REINSTRUMENT:
            return clang_flags(context)
        use, generate = f"-fprofile-use={context.profile}", "-fcs-profile-generate"
        return Flags(
            compile=(use, generate, "-fprofile-update=atomic"),
            link=(use, generate),
            proof=(use, generate),
        )

    def refusal(self, family: CompilerFamily, major: int) -> str | None:
        """Refuse gcc, which has nothing like it."""
        del major
        return "gcc does not support it; clang does" if family is CompilerFamily.GCC else None


PLUGIN = CsPgo()
