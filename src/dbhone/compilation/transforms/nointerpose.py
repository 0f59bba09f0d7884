"""A shared library whose functions call each other directly."""

from dbhone.compilation.transforms.base import FlagContext, Flags, Slot, Transform

_COMPILE = "-fno-semantic-interposition"


class NoInterpose(Transform):
    """Another library can no longer replace a function for the callers in the library itself.

    So these are inlined, or called without a detour through the table of dynamic symbols. A
    program's own functions cannot be replaced in the first place.
    """

    name = "nointerpose"
    summary = "-fno-semantic-interposition: direct calls inside a shared library"
    order = 25
    slot = Slot.INTERPOSITION
    for_library = True

    def flags(self, context: FlagContext) -> Flags:
        """Return the compiler's flag, and the linker's for what is not inlined."""
        del context
        return Flags(
            compile=(_COMPILE,), primary_link=("-Wl,-Bsymbolic-functions",), proof=(_COMPILE,)
        )


PLUGIN = NoInterpose()
