"""Compilers are found, and known by what they say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dbhone.compilation import toolchain
from dbhone.compilation.toolchain import (
    check_name,
    find_compiler,
    identity_of,
    requirements_of,
)
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.errors import ToolError, UsageError
from dbhone.source.elf import read_links
from tests.files import put_program


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    put_program(folder / "apt-get")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_compiler_is_known_by_what_it_says(path: Path) -> None:
    says = 'case "$1" in --version) echo "gcc (Some 13.2.0-1) 13.2.0";; *) echo 13.2.0;; esac'
    put_program(path / "gcc", says)
    compiler = find_compiler("gcc")
    assert (compiler.family, compiler.major, compiler.label) == (
        CompilerFamily.GCC,
        13,
        "gcc 13.2.0",
    )


def a_gcc(prefix: Path, *, driver: str = "plain", part: str = "plain") -> str:
    """Make a gcc and its cc1, which tell the same version whatever they are; return its path."""
    says = (
        '--version) echo "gcc (GCC) 13.2.0";;',
        '-print-prog-name=cc1) echo "${0%/bin/gcc}/cc1";;',
        "-print-prog-name=*) echo cc1plus;;",
        "*) echo 13.2.0;;",
    )
    gcc = put_program(prefix / "bin/gcc", f'# {driver}\ncase "$1" in {" ".join(says)} esac')
    (prefix / "cc1").write_text(part)
    return str(gcc)


def test_a_patched_compiler_that_tells_the_same_version_is_another(tmp_path: Path) -> None:
    plain, again, driver, part = (
        find_compiler(path).identity
        for path in (
            a_gcc(tmp_path / "plain"),
            a_gcc(tmp_path / "again"),
            a_gcc(tmp_path / "driver", driver="patched"),
            a_gcc(tmp_path / "part", part="patched"),
        )
    )
    assert plain == again
    assert len({plain, driver, part}) == 3
    assert all(each.startswith("gcc (GCC) 13.2.0, SHA-256 ") for each in (plain, driver, part))


@pytest.mark.parametrize(
    ("prefix", "brought"), [("usr", True), ("usr/lib/gcc", True), ("usr/local", False)]
)
def test_a_compiler_that_a_distribution_brought_is_known_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, brought: bool
) -> None:
    monkeypatch.setattr(toolchain, "_DISTRIBUTION", tmp_path / "usr")
    monkeypatch.setattr(toolchain, "_LOCAL", tmp_path / "usr/local")
    compiler = find_compiler(a_gcc(tmp_path / prefix))
    assert (compiler.identity == "gcc (GCC) 13.2.0") == brought


def test_the_assembler_and_the_linker_that_a_compiler_calls_are_known(path: Path) -> None:
    put_program(path / "as", "echo GNU assembler 2.40")
    put_program(path / "ld", "echo GNU ld 2.40")
    own = path.parent / "own"
    own.mkdir()
    put_program(own / "ld", "echo LLD 19.1")
    put_program(path / "gcc", 'case "$1" in -print*) echo "${1#*=}";; *) echo gcc 13.2.0;; esac')
    says = f"-print*) echo {own / 'ld'};; *) echo clang version 19.1.0"
    put_program(path / "clang", f'case "$1" in {says};; esac')
    gcc, clang = find_compiler("gcc"), find_compiler("clang")
    assert gcc.assembler is not None and gcc.assembler.startswith("GNU assembler 2.40")
    assert gcc.linker is not None and gcc.linker.startswith("GNU ld 2.40")
    assert clang.assembler is None
    assert clang.linker is not None and clang.linker.startswith("LLD 19.1")


def test_a_library_that_came_with_a_program_tells_it_from_others(tmp_path: Path) -> None:
    true = Path("/bin/true")
    links = read_links(true)
    assert links is not None
    identities = set()
    for content in ("plain", "patched"):
        for name in ("bin", "lib"):
            (tmp_path / content / name).mkdir(parents=True)
        program = Path(shutil.copy(true, tmp_path / content / "bin"))
        (tmp_path / content / "lib" / links.needed[0]).write_text(content)
        identities.add(identity_of(program, "clang version 19.1.0"))
    assert len(identities) == 2


def test_the_tool_of_the_compilers_own_version_is_preferred(path: Path) -> None:
    put_program(path / "clang", "echo Debian clang version 14.0.6")
    for name in ("llvm-profdata", "llvm-profdata-14"):
        put_program(path / name)
    assert find_compiler("clang").find("llvm-profdata") == path / "llvm-profdata-14"


def test_a_missing_compiler_tells_what_to_install(path: Path) -> None:
    with pytest.raises(ToolError, match="the compiler clang is not installed") as caught:
        find_compiler("clang")
    assert " install -y --no-install-recommends clang lld llvm" in (caught.value.hint or "")


def test_a_version_of_clang_needs_the_linker_that_reads_its_objects() -> None:
    assert "lld-19" in {need.package for need in requirements_of("clang-19")}


def test_clang_needs_the_runtime_of_its_own_version_where_it_does_not_bring_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def packages_of_runtime() -> list[tuple[str, str]]:
        needs = requirements_of("clang")
        return [(need.name, need.package) for need in needs if "rt" in need.package]

    monkeypatch.setattr(toolchain, "distribution", lambda: "ubuntu22.04")
    assert packages_of_runtime() == []
    monkeypatch.setattr(toolchain, "distribution", lambda: "debian12")
    assert packages_of_runtime() == [("clang", "libclang-rt-dev")]
    put_program(path / "clang")
    monkeypatch.setattr(Path, "resolve", lambda _: Path("/usr/lib/llvm-14/bin/clang"))
    ((name, package),) = packages_of_runtime()
    assert "/llvm-14/" in name
    assert package == "libclang-rt-dev"


@pytest.mark.usefixtures("path")
def test_a_missing_version_of_a_compiler_is_named() -> None:
    with pytest.raises(ToolError) as caught:
        find_compiler("gcc-99")
    assert " install -y --no-install-recommends gcc-99" in (caught.value.hint or "")


def test_a_compiler_that_does_not_work_is_reported(path: Path) -> None:
    put_program(path / "gcc", "exit 1")
    with pytest.raises(ToolError, match="does not tell its version"):
        find_compiler("gcc")


@pytest.mark.parametrize("name", ["x86_64-linux-gnu-gcc-12", "clang", "clang-19.1"])
def test_a_compiler_may_be_named_by_its_path(tmp_path: Path, name: str) -> None:
    put_program(tmp_path / name, "echo 14.0.6")
    compiler = find_compiler(str(tmp_path / name))
    assert compiler.path == tmp_path / name
    assert compiler.family is (CompilerFamily.GCC if "gcc" in name else CompilerFamily.CLANG)
    partner = name.replace("gcc", "g++").replace("clang", "clang++")
    put_program(tmp_path / partner)
    assert compiler.find_cxx() == tmp_path / partner


def test_a_path_without_a_compiler_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="is not installed") as caught:
        find_compiler(str(tmp_path / "gcc"))
    assert caught.value.hint == "check that the path is right and may be executed"


@pytest.mark.parametrize(
    "name", ["icc", "gcc;rm", "../gcc", "clang++", "/opt/bin/icc", "/opt/../gcc;rm", "opt/gcc"]
)
def test_unknown_compilers_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not a compiler that hone knows"):
        check_name(name)


@pytest.mark.parametrize(
    ("name", "partner"),
    [("gcc", "g++"), ("gcc-12", "g++-12"), ("clang", "clang++"), ("clang-14", "clang++-14")],
)
def test_a_compiler_has_its_partner_for_cxx(path: Path, name: str, partner: str) -> None:
    put_program(path / name, "echo 14.0.6")
    compiler = find_compiler(name)
    assert compiler.find_cxx() is None
    put_program(path / partner)
    assert compiler.find_cxx() == path / partner


def test_the_archiver_is_the_compilers_own_if_it_has_one(path: Path) -> None:
    put_program(path / "gcc", "echo 12.2.0")
    compiler = find_compiler("gcc")
    assert compiler.find_binary_tool("ar") == Path("ar")
    put_program(path / "gcc-ar-12")
    assert compiler.find_binary_tool("ar") == path / "gcc-ar-12"
