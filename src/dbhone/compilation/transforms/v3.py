"""Code for the processors of the level x86-64-v3."""

from dbhone.compilation.transforms._microarchitecture import V3_FLAGS, Microarchitecture

PLUGIN = Microarchitecture(
    "v3", "-march=x86-64-v3: for processors since about 2015 (AVX2)", V3_FLAGS
)
