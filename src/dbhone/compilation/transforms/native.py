"""Code for the processor of this machine, and for no other."""

from dbhone.compilation.transforms.base import Context, Flags, Slot, Transform


class Native(Transform):
    """-march=native: the build may not run on another processor."""

    name = "native"
    summary = "-march=native: for this machine's processor only"
    order = 20
    slot = Slot.TARGET
    host_specific = True

    def flags(self, context: Context) -> Flags:
        """Return -march=native."""
        del context
        return Flags(compile=("-march=native",), proof=("-march=native",))


PLUGIN = Native()
