"""A higher optimisation level: -O3."""

from dbhone.compilation.transforms.base import Slot, Transform


class O3(Transform):
    """-O3 with assertions off."""

    name = "o3"
    summary = "-O3: more inlining, unrolling and vectorisation"
    order = 10
    slot = Slot.LEVEL
    compile_flags = ("-O3", "-DNDEBUG")


PLUGIN = O3()
