"""Code for the processors of the level x86-64-v2."""

from dbhone.compilation.transforms._microarchitecture import V2_FLAGS, Microarchitecture

PLUGIN = Microarchitecture(
    "v2", "-march=x86-64-v2: for processors since about 2009 (SSE 4.2)", V2_FLAGS
)
