"""Profile-guided optimisation: compile instrumented, train, compile again with the profile.

The flags for gcc are those that MySQL's own build uses: counters that survive threads
(``prefer-atomic``), tolerance of the small inconsistencies that remain (``correction``), and
code that the training did not reach optimised as usual instead of for size
(``partial-training``). Some build systems, such as MySQL's, have an option of their own for these
flags; ``guidance`` tells them what to set. clang needs flags only: an environment variable
names the folder of its counters when the server starts, and the option would only repeat that.
"""

from dbhone.compilation.transforms.base import (
    SYMBOLIC_PROFILE,
    CompilerFamily,
    FlagContext,
    Flags,
    Pass,
    Slot,
    Transform,
)
from dbhone.dbms.base import ProfileMode, ProfileOptions


class Pgo(Transform):
    """Instrumented counters for both compilers; for clang at the level of its IR."""

    name = "pgo"
    summary = "profile-guided optimisation; needs training"
    order = 40
    slot = Slot.PROFILE
    profile_guided = True
    passes = (Pass.INSTRUMENT, Pass.USE)

    def flags(self, context: FlagContext) -> Flags:
        """Return the flags of the instrumented or of the profile-using pass."""
        if context.family is CompilerFamily.GCC:
            return _gcc(context)
        return clang_flags(context)

    def refusal(self, family: CompilerFamily, major: int) -> str | None:
        """Refuse a gcc that cannot name profiles independently of the build folder."""
        if family is CompilerFamily.GCC and major < 11:
            return f"gcc {major} lacks -fprofile-prefix-path; gcc 11 or newer has it"
        return None


def _gcc(context: FlagContext) -> Flags:
    # Names of profile files are relative to this folder, so that both passes agree on them.
    prefix = f"-fprofile-prefix-path={context.build_folder}"
    if context.pass_ is Pass.INSTRUMENT:
        generate = f"-fprofile-generate={SYMBOLIC_PROFILE}"
        counting = (generate, "-fprofile-update=prefer-atomic")
        return Flags(
            compile=(*counting, prefix),
            link=("-fprofile-generate",),
            proof=(generate,),
            guidance=ProfileOptions(
                pass_=ProfileMode.GENERATE,
                place=str(SYMBOLIC_PROFILE),
                flags=(*counting, "-fprofile-generate"),
            ),
        )
    use = f"-fprofile-use={context.profile}"
    own = (use, "-fprofile-correction", "-fprofile-partial-training")
    return Flags(
        compile=(*own, "-Wmissing-profile", prefix),
        link=(use,),
        proof=(use,),
        guidance=ProfileOptions(pass_=ProfileMode.USE, place=context.profile, flags=own),
    )


def clang_flags(context: FlagContext) -> Flags:
    """Return clang's flags of the instrumented or of the profile-using pass."""
    if context.pass_ is Pass.INSTRUMENT:
        generate = "-fprofile-generate"
        compile_flags = (generate, "-fprofile-update=atomic")
        return Flags(compile=compile_flags, link=(generate,), proof=(generate,))
    use = f"-fprofile-use={context.profile}"
    return Flags(compile=(use,), link=(use,), proof=(use,))


PLUGIN = Pgo()
