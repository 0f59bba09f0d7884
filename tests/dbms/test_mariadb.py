"""MariaDB's recipe, against golden command lines, and how its source tree is recognised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.transforms.base import Pass
from dbhone.dbms.base import Phase, Recipe
from dbhone.dbms.mariadb import PLUGIN
from dbhone.errors import SourceError
from tests.dbms.recipe_request import as_written, request_for

SCRIPTS = ("system_tables", "system_tables_data", "performance_tables")


def make_tree(root: Path, version: str, *, maturity: str | None = "stable") -> Path:
    """Write what the recipe looks at, with the names that scripts had in that version."""
    major, minor, patch = version.split(".")
    lines = [f"MYSQL_VERSION_{part}=" for part in ("MAJOR", "MINOR", "PATCH")]
    text = "".join(f"{a}{b}\n" for a, b in zip(lines, (major, minor, patch), strict=True))
    text += f"SERVER_MATURITY={maturity}\n" if maturity else "MYSQL_VERSION_EXTRA=\n"
    (root / "scripts").mkdir(parents=True)
    (root / "VERSION").write_text(text)
    prefix = "mariadb" if int(major) >= 11 else "mysql"
    for name in SCRIPTS:
        (root / "scripts" / f"{prefix}_{name}.sql").write_text("")
    return root


def make_recipe(tree: Path, variant: str = "rel", pass_: Pass = Pass.PLAIN) -> Recipe:
    return PLUGIN.recipe(request_for(PLUGIN, tree, variant, pass_))


@pytest.mark.parametrize(
    ("version", "variant", "pass_"),
    [
        ("10.11.18", "rel", Pass.PLAIN),
        ("10.11.18", "pgo", Pass.INSTRUMENT),
        ("10.11.18", "lto+pgo", Pass.USE),
        ("10.11.18", "bolt", Pass.PLAIN),
        ("11.8.6", "rel", Pass.PLAIN),
    ],
)
def test_the_recipe_is_as_written_down(
    tmp_path: Path, golden: Callable[[str, bytes], None], version: str, variant: str, pass_: Pass
) -> None:
    tree = make_tree(tmp_path / "tree", version)
    text = as_written(make_recipe(tree, variant, pass_), tree, "\n    ")
    series = ".".join(version.split(".")[:2])
    golden(f"recipes/mariadb-{series}-{variant}-{pass_.value}.txt", text.encode())


@pytest.mark.parametrize("pass_", [Pass.INSTRUMENT, Pass.USE])
def test_every_pass_builds_the_same_as_a_plain_build(tmp_path: Path, pass_: Pass) -> None:
    tree = make_tree(tmp_path / "tree", "10.11.18")
    plain = make_recipe(tree)
    guided = make_recipe(tree, "pgo", pass_)
    assert guided.artifacts == plain.artifacts
    assert guided.steps[1:] == plain.steps[1:]


def test_the_flags_of_the_variant_are_all_that_the_type_of_build_has(tmp_path: Path) -> None:
    recipe = make_recipe(make_tree(tmp_path / "tree", "11.8.6"), "o3")
    configure = next(step.argv for step in recipe.steps if step.phase is Phase.CONFIGURE)
    assert "-DCMAKE_C_FLAGS_RELEASE=-O3 -DNDEBUG" in configure
    assert "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG" in configure
    assert "-DCMAKE_BUILD_TYPE=Release" in configure
    assert "-DSECURITY_HARDENED=OFF" in configure


def test_nothing_is_taken_from_libraries_that_would_be_downloaded(tmp_path: Path) -> None:
    recipe = make_recipe(make_tree(tmp_path / "tree", "11.8.6"))
    configure = recipe.steps[0].argv
    assert {f"-DWITH_{name}=system" for name in ("PCRE", "SSL", "ZLIB", "LIBFMT")} <= set(configure)


@given(st.tuples(st.integers(10, 99), st.integers(0, 99), st.integers(0, 99)))
def test_the_version_is_the_trees_own(
    tmp_path_factory: pytest.TempPathFactory, numbers: tuple[int, int, int]
) -> None:
    version = ".".join(map(str, numbers))
    assert PLUGIN.version(make_tree(tmp_path_factory.mktemp("any") / "tree", version)) == version


def test_what_follows_the_numbers_belongs_to_the_version(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", "10.6.14")
    with (tree / "VERSION").open("a") as file:
        file.write("MYSQL_VERSION_EXTRA=-9\n")
    assert PLUGIN.version(tree) == "10.6.14-9"


def test_mysqls_tree_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", "5.7.44", maturity=None)
    with pytest.raises(SourceError, match=r"source tree of MySQL 5\.7\.44, not of MariaDB"):
        PLUGIN.version(tree)


def test_a_tree_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "VERSION").write_text("3.40.1\n")
    with pytest.raises(SourceError, match="not MariaDB's source tree"):
        PLUGIN.version(tmp_path)


def test_a_version_that_is_too_old_is_told(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", "10.5.29")
    with pytest.raises(SourceError, match=r"cannot build MariaDB 10\.5\.29: it builds 10\.6"):
        make_recipe(tree)
