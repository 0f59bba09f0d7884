"""RocksDB's recipe, against golden command lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.compilation.transforms.base import Pass
from dbhone.dbms.rocksdb import PLUGIN
from dbhone.errors import SourceError
from tests.dbms.recipe_request import as_written, request_for

VERSION_H = """\
// #define ROCKSDB_MAJOR 1 in a comment is none
#define ROCKSDB_MAJOR {}
#define ROCKSDB_MINOR {}
#define ROCKSDB_PATCH {}
"""


def make_tree(root: Path, version: str = "7.8.3", soname: str = "rocksdb_VERSION_LIB") -> Path:
    header = root / "include" / "rocksdb" / "version.h"
    header.parent.mkdir(parents=True)
    header.write_text(VERSION_H.format(*version.split(".")))
    (root / "CMakeLists.txt").write_text(f"SOVERSION ${{{soname}}}\n")
    return root


@pytest.mark.parametrize(
    ("variant", "pass_"),
    [("rel", Pass.PLAIN), ("pgo", Pass.INSTRUMENT), ("lto+pgo", Pass.USE)],
)
def test_the_recipe_is_as_written_down(
    tmp_path: Path, golden: Callable[[str, bytes], None], *, variant: str, pass_: Pass
) -> None:
    tree = make_tree(tmp_path / "tree")
    recipe = PLUGIN.recipe(request_for(PLUGIN, tree, variant, pass_))
    text = as_written(recipe, tree).replace(" -", "\n    -")
    golden(f"recipes/rocksdb-{variant}-{pass_.value}.txt", text.encode())


@pytest.mark.parametrize(
    ("soname", "name"),
    [
        ("rocksdb_VERSION_LIB", "librocksdb.so.9.11"),
        ("rocksdb_VERSION_MAJOR", "librocksdb.so.9"),
    ],
)
def test_the_library_has_the_name_by_which_programs_ask_for_it(
    tmp_path: Path, soname: str, name: str
) -> None:
    tree = make_tree(tmp_path / "tree", "9.11.2", soname)
    recipe = PLUGIN.recipe(request_for(PLUGIN, tree))
    (library,) = (each for each in recipe.artifacts if each.name == recipe.primary)
    assert library.kept == Path("lib") / name


def test_the_version_is_the_trees_own(tmp_path: Path) -> None:
    assert PLUGIN.version(make_tree(tmp_path / "tree")) == "7.8.3"


def test_a_version_that_is_too_old_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cannot build RocksDB 6\.29\.5: it builds 7\.0"):
        PLUGIN.version(make_tree(tmp_path / "tree", "6.29.5"))


def test_another_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not RocksDB's source tree"):
        PLUGIN.version(tmp_path)


def test_a_database_is_checked_by_the_builds_own_ldb() -> None:
    check = PLUGIN.consistency_check(Path("/b/ldb"), Path("/d/db"))
    assert check.argv == ("/b/ldb", "--db=/d/db", "checkconsistency")
    assert check.expected == "OK"
