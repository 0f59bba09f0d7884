from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dbhone.errors import MachineError
from dbhone.source import libraries
from dbhone.source.libraries import (
    find_system_library,
    install_advice,
    require_libraries,
)
from tests.files import put, put_program
from tests.source.make_elf import OTHER_MACHINE, elf

NOWHERE = "libdbhone-tests-nowhere.so.1"


class Tree:
    """A tree with a program, and a machine whose packages are pretended."""

    def __init__(self, root: Path) -> None:
        self.root = root / "tree"
        self.path = root / "path"
        self.path.mkdir()
        self.program = self.put("bin/mysqld", elf())

    def put(self, name: str, content: bytes) -> Path:
        return put(self.root / name, content)

    def answers(self, program: str, text: str) -> None:
        """Have a program of the machine print a text."""
        (self.path / f"{program}.text").write_text(text)
        put_program(self.path / program, f"exec /bin/cat '{self.path}/{program}.text'")

    def folders(self) -> tuple[Path, ...]:
        return require_libraries(self.program, self.root)

    def error(self) -> MachineError:
        with pytest.raises(MachineError) as caught:
            self.folders()
        return caught.value


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    tree = Tree(tmp_path)
    tree.answers("ldconfig", "")
    monkeypatch.setenv("PATH", str(tree.path))
    return tree


def test_a_library_that_is_nowhere_is_missing(tree: Tree) -> None:
    tree.put("bin/mysqld", elf(NOWHERE))
    assert tree.error().message == f"mysqld needs {NOWHERE}, which this machine lacks"


def test_a_library_in_the_loaders_cache_is_found(tree: Tree, tmp_path: Path) -> None:
    library = tmp_path / "there.so"
    library.write_bytes(elf("libwhatever.so.1"))
    tree.answers("ldconfig", f"1 libs found\n\t{NOWHERE} (libc6,x86-64) => {library}\n")
    tree.put("bin/mysqld", elf(NOWHERE))
    # What the machine's own libraries need is its packages' business.
    assert tree.folders() == ()


@pytest.mark.parametrize("kind", ["rpath", "runpath"])
@pytest.mark.parametrize("folder", ["$ORIGIN/../lib", "/nowhere:${ORIGIN}/../$LIB"])
def test_a_library_is_found_where_the_program_says(tree: Tree, kind: str, folder: str) -> None:
    rpath, runpath = (folder, "") if kind == "rpath" else ("", folder)
    tree.put("bin/mysqld", elf(NOWHERE, rpath=rpath, runpath=runpath))
    tree.put(f"lib/{NOWHERE}", elf())
    assert tree.folders() == ()


def test_an_rpath_holds_for_the_libraries_of_libraries_a_runpath_does_not(tree: Tree) -> None:
    tree.put("lib/libone.so", elf("libtwo.so"))
    tree.put("lib/libtwo.so", elf())
    tree.put("bin/mysqld", elf("libone.so", rpath="$ORIGIN/../lib"))
    assert tree.folders() == ()
    tree.put("bin/mysqld", elf("libone.so", runpath="$ORIGIN/../lib"))
    assert tree.folders() == (tree.root / "lib",)


def test_the_trees_own_libraries_are_followed(tree: Tree) -> None:
    tree.put("bin/mysqld", elf("libone.so", runpath="$ORIGIN/../lib"))
    tree.put("lib/libone.so", elf(NOWHERE, "libone.so"))
    assert tree.error().message == f"mysqld needs {NOWHERE}, which this machine lacks"


def test_a_library_that_lies_elsewhere_in_the_tree_wants_its_folder_named(tree: Tree) -> None:
    tree.put("bin/mysqld", elf(NOWHERE))
    tree.put(f"libs/{NOWHERE}", elf())
    assert tree.folders() == (tree.root / "libs",)


@pytest.mark.parametrize("content", [elf(machine=OTHER_MACHINE), b"x", elf(type=1), b""])
def test_what_the_loader_would_not_take_is_not_found(tree: Tree, content: bytes) -> None:
    tree.put("bin/mysqld", elf(NOWHERE, runpath="$ORIGIN/../lib"))
    tree.put(f"lib/{NOWHERE}", content)
    assert tree.error().message == f"mysqld needs {NOWHERE}, which this machine lacks"


POLICY = "{}:\n  Installed: (none)\n  Candidate: {}\n  Version table:\n"


def test_a_missing_library_is_reported_with_the_package_that_brings_it(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.source.libraries._STANDARD", ())
    tree.answers("apt-cache", POLICY.format("libaio1", "0.3") + POLICY.format("libnuma1", "2"))
    tree.put("bin/mysqld", elf("libaio.so.1", "libnuma.so.1"))
    error = tree.error()
    assert error.message == "mysqld needs libaio.so.1 and libnuma.so.1, which this machine lacks"
    assert error.hint == "apt-get install libaio1 libnuma1"


def test_a_library_that_the_distribution_no_longer_has_is_reported_with_what_to_do(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.source.libraries._STANDARD", ())
    tree.answers("apt-cache", POLICY.format("libjemalloc1", "(none)"))
    tree.put("bin/mysqld", elf("libjemalloc.so.1"))
    hint = str(tree.error().hint)
    assert "libjemalloc2" in hint
    assert "apt-get install" not in hint


def test_of_another_library_no_package_is_known(tree: Tree) -> None:
    tree.put("bin/mysqld", elf(NOWHERE))
    assert tree.error().hint == f"{NOWHERE}: no package is known to bring it"


def test_the_machines_own_library_is_the_first_that_its_programs_can_load(
    tree: Tree, tmp_path: Path
) -> None:
    other, damaged, right = (tmp_path / name for name in ("s390.so", "damaged.so", "right.so"))
    other.write_bytes(elf(machine=OTHER_MACHINE))
    damaged.write_bytes(b"nothing")
    right.write_bytes(elf())
    lines = (f"\t{NOWHERE} (libc6) => {path}\n" for path in (other, damaged, right))
    tree.answers("ldconfig", f"3 libs found\n{''.join(lines)}")
    assert find_system_library(NOWHERE) == right
    assert find_system_library("libother.so.1") is None


def test_of_several_libraries_the_one_that_can_be_installed_is_advised(tree: Tree) -> None:
    names = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
    tree.answers("apt-cache", POLICY.format("libgoogle-perftools4t64", "2.15"))
    assert install_advice(names) == "apt-get install libgoogle-perftools4t64"
    tree.answers("apt-cache", "")
    assert install_advice(names).startswith("Fedora has it in the package gperftools-libs")
    assert install_advice((NOWHERE,)) == f"install what brings {NOWHERE}"


def test_every_known_library_has_a_package() -> None:
    table = tomllib.loads(libraries._PACKAGES.read_text())
    assert list(table) == sorted(table, key=lambda name: name.replace("-", "."))
    for soname, entry in table.items():
        assert ".so." in soname
        assert entry["packages"], soname
        assert set(entry) <= {"packages", "note"}
