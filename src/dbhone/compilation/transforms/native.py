"""Code for the processor of this machine, and for no other."""

from dbhone.compilation.transforms.base import Slot, Transform


class Native(Transform):
    """-march=native: the build may not run on another processor."""

    name = "native"
    summary = "-march=native: for this machine's processor only"
    order = 20
    slot = Slot.TARGET
    host_specific = True
    compile_flags = ("-march=native",)


PLUGIN = Native()
