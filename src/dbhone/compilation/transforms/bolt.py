"""Post-link optimisation by BOLT: the linked program is rearranged by what it executes.

BOLT moves blocks and functions, so the program keeps the relocations that the linker had. gcc must
not split a function in two, which BOLT could not put together again. The program's own counters,
which BOLT adds, need no hardware counters: see ``bolt.py`` for how they are read.

The options are those of BOLT's own documentation (bolt/README.md, llvm-project), with ``cdsort``,
which took the place of ``hfsort+``. Folding of identical functions is left out: it can make equal
the addresses of two functions that a program compares.
"""

from dbhone.compilation.transforms.base import (
    CompilerFamily,
    FlagContext,
    Flags,
    Pass,
    Slot,
    Transform,
)

_WHOLE_FUNCTIONS = "-fno-reorder-blocks-and-partition"
_KEEP_RELOCATIONS = "-Wl,-q"
_OPTIMISE = (
    "-reorder-blocks=ext-tsp",
    "-reorder-functions=cdsort",
    "-split-functions",
    "-split-all-cold",
    "-split-eh",
    "-dyno-stats",
)


class Bolt(Transform):
    """BOLT, after whatever compiled and linked: plain, with a profile, or with LTO."""

    name = "bolt"
    summary = "post-link optimisation by BOLT: new layout of the linked code; needs training"
    order = 50
    slot = Slot.POST_LINK
    profile_guided = True
    post_link = True
    conflicts = ("g",)

    def flags(self, context: FlagContext) -> Flags:
        """Return what prepares the link, or what BOLT is told.

        What only compiles to be trained is left as it is, so that others can share it.
        """
        if context.pass_ is Pass.POST_LINK_INSTRUMENT:
            return Flags(post_link=("-instrument", "-instrumentation-file-append-pid"))
        if context.pass_ is Pass.POST_LINK_USE:
            return Flags(post_link=_OPTIMISE)
        if context.pass_.trains:
            return Flags()
        if context.family is CompilerFamily.CLANG:
            return Flags(primary_link=(_KEEP_RELOCATIONS,))
        return Flags(
            compile=(_WHOLE_FUNCTIONS,),
            # With link-time optimisation it is the linker that compiles.
            primary_link=(_WHOLE_FUNCTIONS, _KEEP_RELOCATIONS),
            proof=(_WHOLE_FUNCTIONS,),
        )


PLUGIN = Bolt()
