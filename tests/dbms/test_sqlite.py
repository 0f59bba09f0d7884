"""SQLite's recipe, against golden command lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import CompilerFamily, Pass
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.sqlite import PLUGIN
from dbhone.errors import SourceError
from tests.dbms.recipe_request import request_for

GCC = Compiler(
    family=CompilerFamily.GCC, path=Path("/bin/gcc"), version="12.2.0", identity="gcc 12.2.0"
)


def make_tree(root: Path, *, autosetup: bool) -> Path:
    (root / "src").mkdir(parents=True)
    (root / "src" / "sqlite.h.in").write_text("")
    (root / "VERSION").write_text("3.53.4\n" if autosetup else "3.40.1\n")
    if autosetup:
        (root / "auto.def").write_text("")
    return root


@pytest.mark.parametrize("autosetup", [False, True], ids=["autoconf", "autosetup"])
@pytest.mark.parametrize(
    ("variant", "pass_"),
    [
        ("rel", Pass.PLAIN),
        ("pgo", Pass.INSTRUMENT),
        ("lto+pgo", Pass.USE),
        ("nointerpose+bolt", Pass.PLAIN),
    ],
)
def test_the_recipe_is_as_written_down(
    tmp_path: Path,
    golden: Callable[[str, bytes], None],
    *,
    autosetup: bool,
    variant: str,
    pass_: Pass,
) -> None:
    tree = make_tree(tmp_path / "tree", autosetup=autosetup)
    flags = parse_variant(variant).flags(GCC, pass_)
    request = request_for(PLUGIN, tree, GCC, flags, shell=pass_ is not Pass.INSTRUMENT)
    recipe = PLUGIN.recipe(request)
    lines = [f"{step.phase.value}: {' '.join(step.argv)}" for step in recipe.steps]
    lines += [f"keep {each.name}: {each.made} -> {each.kept}" for each in recipe.artifacts]
    text = "\n".join(lines).replace(str(tree), "TREE").replace(" -", "\n    -") + "\n"
    kind = "autosetup" if autosetup else "autoconf"
    golden(f"recipes/sqlite-{kind}-{variant}-{pass_.value}.txt", text.encode())


def test_the_version_is_the_trees_own(tmp_path: Path) -> None:
    assert PLUGIN.version(make_tree(tmp_path / "tree", autosetup=False)) == "3.40.1"


def test_what_is_no_version_is_not_shown_as_one(tmp_path: Path) -> None:
    private = tmp_path / "key"
    private.write_bytes(b"secret\xff")
    tree = make_tree(tmp_path / "tree", autosetup=False)
    (tree / "VERSION").unlink()
    (tree / "VERSION").symlink_to(private)
    with pytest.raises(SourceError, match="no version of SQLite") as raised:
        PLUGIN.version(tree)
    assert "secret" not in str(raised.value)


def test_a_tree_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "VERSION").write_text("1.0")
    with pytest.raises(SourceError, match="not SQLite's source tree"):
        PLUGIN.version(tmp_path)
