"""A lower optimisation level: -O1."""

from dbhone.compilation.transforms.base import Slot, Transform


class O1(Transform):
    """-O1 with assertions off: compiles sooner, for trying an experiment out."""

    name = "o1"
    summary = "-O1: compiles sooner, runs slower; to try things out"
    order = 10
    slot = Slot.LEVEL
    compile_flags = ("-O1", "-DNDEBUG")


PLUGIN = O1()
