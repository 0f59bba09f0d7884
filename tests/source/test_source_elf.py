"""What programs say of who compiled them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dbhone.source.elf import read_compiler

OLD = "GCC: (GNU) 4.4.7 20120313 (Red Hat 4.4.7-23)"
UBUNTU = "GCC: (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0"
SYSTEM = "GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)"


def compiled(folder: Path, *said: str) -> Path:
    """Compile a file that says to be of these compilers, and not of the one that it is of."""
    source, made = folder / "said.c", folder / "said.o"
    source.write_text("".join(f'__asm__(".ident \\"{each}\\"");\n' for each in said))
    subprocess.run(("gcc", "-fno-ident", "-c", str(source), "-o", str(made)), check=True)
    return made


@pytest.mark.parametrize(
    ("said", "compiler"),
    [
        ((OLD,), "gcc 4.4.7"),
        ((UBUNTU,), "gcc 7.5.0"),
        ((SYSTEM, UBUNTU), "gcc 7.5.0"),
        ((UBUNTU, OLD), "gcc 7.5.0"),
        ((UBUNTU, "Debian clang version 14.0.6", "Linker: Debian LLD 14.0.6"), "clang 14.0.6"),
        (("GCC: (GNU) 13.2.0",), "gcc 13.2.0"),
        (("Frobnicator 3.1",), None),
        ((), None),
    ],
)
def test_a_program_says_who_compiled_it(
    tmp_path: Path, said: tuple[str, ...], compiler: str | None
) -> None:
    assert read_compiler(compiled(tmp_path, *said)) == compiler


def test_what_is_no_program_says_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(OLD)
    assert read_compiler(text) is None
    assert read_compiler(tmp_path / "absent") is None
