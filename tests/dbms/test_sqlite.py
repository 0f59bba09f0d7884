"""SQLite's recipe, against golden command lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.compilation.transforms.base import Pass
from dbhone.dbms.sqlite import PLUGIN
from dbhone.errors import SourceError
from tests.dbms.recipe_request import as_written, request_for


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
    recipe = PLUGIN.recipe(request_for(PLUGIN, tree, variant, pass_))
    text = as_written(recipe, tree).replace(" -", "\n    -")
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
