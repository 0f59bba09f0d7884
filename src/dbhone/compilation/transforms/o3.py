"""A higher optimisation level: -O3."""

from dbhone.compilation.transforms.base import Context, Flags, Slot, Transform


class O3(Transform):
    """-O3 with assertions off."""

    name = "o3"
    summary = "-O3: more inlining, unrolling and vectorisation"
    order = 10
    slot = Slot.LEVEL

    def flags(self, context: Context) -> Flags:
        """Return -O3."""
        del context
        return Flags(compile=("-O3", "-DNDEBUG"), proof=("-O3",))


PLUGIN = O3()
