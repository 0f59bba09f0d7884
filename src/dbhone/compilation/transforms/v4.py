"""Code for the processors of the level x86-64-v4."""

from dbhone.compilation.transforms._microarchitecture import V4_FLAGS, Microarchitecture

PLUGIN = Microarchitecture("v4", "-march=x86-64-v4: for processors with AVX-512", V4_FLAGS)
