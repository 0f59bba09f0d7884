"""The optimisation level of distributions: -O2."""

from dbhone.compilation.transforms.base import Slot, Transform


class Rel(Transform):
    """-O2 with assertions off. Every variant without another level has this one."""

    name = "rel"
    summary = "-O2, the distributions' level"
    order = 10
    slot = Slot.LEVEL
    compile_flags = ("-O2", "-DNDEBUG")


PLUGIN = Rel()
