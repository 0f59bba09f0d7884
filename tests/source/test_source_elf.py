"""What programs say of who compiled them, and of the C library that they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dbhone.source.elf import glibc_here, read_compiler, read_glibc
from dbhone.versions import numbers
from tests.source.make_elf import elf

OLD = "GCC: (GNU) 4.4.7 20120313 (Red Hat 4.4.7-23)"
UBUNTU = "GCC: (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0"
SYSTEM = "GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)"


def compiled(folder: Path, *said: str) -> Path:
    """Compile a file that says to be of these compilers, and not of the one that it is of."""
    source, made = folder / "said.c", folder / "said.o"
    source.write_text("".join(f'__asm__(".ident \\"{each}\\"");\n' for each in said))
    subprocess.run(("gcc", "-fno-ident", "-c", str(source), "-o", str(made)), check=True)
    return made


def library(folder: Path, name: str, code: str, *arguments: str) -> Path:
    """Make a shared library that is linked with no other but those among the arguments."""
    source, made = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(code)
    command = ("gcc", "-shared", "-fPIC", "-nostdlib", str(source), *arguments, "-o", str(made))
    subprocess.run(command, check=True)
    return made


@pytest.mark.parametrize(
    ("used", "needed"),
    [(("old",), "2.4"), (("new", "old"), "2.14"), (("private",), None), ((), None)],
)
def test_a_program_needs_the_newest_glibc_of_its_symbols(
    tmp_path: Path, used: tuple[str, ...], needed: str | None
) -> None:
    script = tmp_path / "versions"
    script.write_text("GLIBC_2.4 { old; }; GLIBC_2.14 { new; }; GLIBC_PRIVATE { private; };")
    names = ("old", "new", "private")
    code = "".join(f"void {name}(void) {{}}\n" for name in names)
    glibc = library(tmp_path, "c", code, f"-Wl,--version-script={script}", "-Wl,-soname,libc.so.6")
    calls = " ".join(f"{name}();" for name in used)
    declared = "".join(f"void {name}(void);\n" for name in names)
    user = f"{declared}void use(void) {{ {calls} }}\n"
    assert read_glibc(library(tmp_path, "user", user, str(glibc))) == needed


def test_programs_of_this_machine_need_no_newer_glibc_than_it_has() -> None:
    here = glibc_here()
    needed = read_glibc(Path(sys.executable))
    assert here is None or needed is None or numbers(needed) <= numbers(here)


def test_what_needs_no_glibc_says_so(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(elf("libc.so.6"))
    assert read_glibc(program) is None
    assert read_glibc(tmp_path / "absent") is None


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
