"""Debug information, at whatever optimisation level."""

from dbhone.compilation.transforms.base import Slot, Transform


class G(Transform):
    """-g: the code stays the same, the file grows, and profilers and debuggers can name lines."""

    name = "g"
    summary = "-g: debug information; the code stays the same"
    order = 15
    slot = Slot.DEBUG
    compile_flags = ("-g",)


PLUGIN = G()
