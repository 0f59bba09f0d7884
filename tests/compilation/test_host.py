"""What this machine's processor can do."""

from __future__ import annotations

from pathlib import Path

from dbhone.compilation.host import lacking_instructions, native_cpu_flags
from tests.files import put, put_program

COMPILER = """\
echo '#define __SSE2__ 1'
case "$1" in
-march=native)
    for name in SSE4_1 AVX512VBMI2 BMI LZCNT LAHF_SAHF SHA XSAVES znver3; do
        echo "#define __${name}__ 1"
    done
    echo '#define __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16 1'
    echo '#define __BIGGEST_ALIGNMENT__ 64'
    ;;
esac
"""
USED = ("abm", "avx512_vbmi2", "bmi1", "cx16", "lahf_lm", "sha_ni", "sse4_1")


def machine(folder: Path, flags: str) -> Path:
    """Return a folder in which a processor has these flags."""
    put(folder / "proc" / "cpuinfo", f"model name\t: X\nflags\t\t: {flags}\n")
    return folder


def test_what_a_compiler_uses_of_this_processor_has_the_names_of_linux(tmp_path: Path) -> None:
    compiler = put_program(tmp_path / "cc", COMPILER)
    flags = "fpu sse2 hypervisor avx2 xsaves " + " ".join(USED)
    assert native_cpu_flags(compiler, machine(tmp_path, flags)) == USED


def test_what_a_processor_lacks_is_named(tmp_path: Path) -> None:
    root = machine(tmp_path, "sse2 avx2")
    assert lacking_instructions(frozenset({"avx2"}), root) is None
    assert (
        lacking_instructions(frozenset({"sha_ni", "avx2", "abm"}), root)
        == "this machine's processor lacks abm, sha_ni"
    )
