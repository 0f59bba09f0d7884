"""The optimisation level of distributions: -O2."""

from dbhone.compilation.transforms.base import Context, Flags, Slot, Transform


class Rel(Transform):
    """-O2 with assertions off. Every variant without another level has this one."""

    name = "rel"
    summary = "-O2, the distributions' level"
    order = 10
    slot = Slot.LEVEL

    def flags(self, context: Context) -> Flags:
        """Return -O2."""
        del context
        return Flags(compile=("-O2", "-DNDEBUG"), proof=("-O2",))


PLUGIN = Rel()
