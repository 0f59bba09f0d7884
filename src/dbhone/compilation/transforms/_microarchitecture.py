"""What the levels of the x86-64 psABI have in common: x86-64-v2, -v3 and -v4.

A level names what a processor must have; the builds run on all processors of the level and above.
The levels and their flags are those of the psABI, section "Micro-Architecture Levels". Linux calls
LAHF-SAHF ``lahf_lm`` and LZCNT ``abm``.
"""

from dbhone.compilation.transforms.base import CompilerFamily, Slot, Transform

V2_FLAGS = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
V3_FLAGS = V2_FLAGS | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
V4_FLAGS = V3_FLAGS | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_FIRST_GCC, _FIRST_CLANG = 11, 12


class Microarchitecture(Transform):
    """-march=x86-64-vN, where N ends the transform's name."""

    order = 20
    slot = Slot.TARGET

    def __init__(self, name: str, summary: str, cpu_flags: frozenset[str]) -> None:
        self.name = name
        self.summary = summary
        self.cpu_flags = cpu_flags
        self.compile_flags = (f"-march=x86-64-{name}",)

    def refusal(self, family: CompilerFamily, major: int) -> str | None:
        """Refuse a compiler that does not know the levels."""
        first = _FIRST_GCC if family is CompilerFamily.GCC else _FIRST_CLANG
        if major >= first:
            return None
        return f"it does not know x86-64-{self.name}; {family.value} {first} or newer does"
