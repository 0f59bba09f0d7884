"""Link-time optimisation: the whole program is optimised at once."""

from dbhone.compilation.transforms.base import (
    CompilerFamily,
    FlagContext,
    Flags,
    Pass,
    Slot,
    Transform,
)


class Lto(Transform):
    """gcc's parallel LTO; clang's ThinLTO with lld.

    The instrumented pass of a profile-guided build leaves it out, as MySQL's own build does:
    both compilers read the profile before link time, and the pass is quicker without.
    """

    name = "lto"
    summary = "link-time optimisation (clang: ThinLTO, needs lld)"
    order = 30
    slot = Slot.LTO

    def flags(self, context: FlagContext) -> Flags:
        """Return the flags for compiling and, with the level of the compile, for linking."""
        if context.pass_ is Pass.INSTRUMENT:
            return Flags()
        if context.family is CompilerFamily.GCC:
            # -fno-fat-lto-objects: nothing reads the objects but the link-time optimiser.
            compile_flags = ("-flto", "-fno-fat-lto-objects")
            return Flags(compile=compile_flags, link=("-flto=auto",), proof=("-flto",))
        link = ("-flto=thin", "-fuse-ld=lld")
        return Flags(compile=("-flto=thin",), link=link, proof=("-flto=thin",))

    def programs(self, family: CompilerFamily) -> tuple[str, ...]:
        """Return lld for clang; gcc brings its own plugin for the system's linker."""
        return ("ld.lld",) if family is CompilerFamily.CLANG else ()


PLUGIN = Lto()
