"""PostgreSQL's recipe, against golden command lines, the trees that it takes, and its settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.dbms._postgresql_service import SERVICE
from dbhone.dbms.base import Phase, Recipe
from dbhone.dbms.base_settings import Origin
from dbhone.dbms.postgresql import PLUGIN, Postgresql
from dbhone.errors import SettingsError, SourceError
from tests.compilation.compilers import CLANG, GCC
from tests.dbms.recipe_request import request_for
from tests.files import put


def make_tree(root: Path, version: str = "15.18", name: str = "PostgreSQL") -> Path:
    (root / "src" / "backend").mkdir(parents=True)
    lines = ("#! /bin/sh", f"PACKAGE_NAME='{name}'", f"PACKAGE_VERSION='{version}'")
    (root / "configure").write_text("\n".join(lines) + "\n")
    return root


def as_text(recipe: Recipe, tree: Path) -> str:
    lines = [f"{step.phase.value}: {' '.join(step.argv)}" for step in recipe.steps]
    lines += [
        f"keep {each.name}: {each.made} -> {each.kept}{' (whole)' if each.tree else ''}"
        for each in recipe.artifacts
    ]
    return "\n".join(lines).replace(str(tree), "TREE") + "\n"


@pytest.mark.parametrize(
    ("variant", "pass_", "compiler"),
    [
        ("rel", Pass.PLAIN, GCC),
        ("o3+native", Pass.PLAIN, GCC),
        ("pgo", Pass.INSTRUMENT, GCC),
        ("lto+pgo", Pass.USE, GCC),
        ("lto+pgo", Pass.USE, CLANG),
        ("bolt", Pass.PLAIN, GCC),
        ("lto+pgo+bolt", Pass.USE, CLANG),
        ("lto+cspgo", Pass.REINSTRUMENT, CLANG),
        ("v3", Pass.PLAIN, GCC),
    ],
)
def test_the_recipe_is_as_written_down(
    tmp_path: Path,
    golden: Callable[[str, bytes], None],
    variant: str,
    pass_: Pass,
    compiler: Compiler,
) -> None:
    tree = make_tree(tmp_path / "tree")
    recipe = PLUGIN.recipe(request_for(PLUGIN, tree, variant, pass_, compiler=compiler))
    name = f"recipes/postgresql-{compiler.family.value}-{variant}-{pass_.value}.txt"
    golden(name, as_text(recipe, tree).encode())


@pytest.mark.parametrize("version", ["13.22", "14.13", "16.9", "17.5", "18.3", "18rc1", "19devel"])
def test_all_versions_are_built_alike(tmp_path: Path, version: str) -> None:
    tree, other = make_tree(tmp_path / "tree", version), make_tree(tmp_path / "other")
    assert PLUGIN.version(tree) == version
    found = as_text(PLUGIN.recipe(request_for(PLUGIN, tree, "o3")), tree)
    assert found == as_text(PLUGIN.recipe(request_for(PLUGIN, other, "o3")), other)
    assert PLUGIN.required_programs(tree) == ("make", "bison", "flex", "perl")


def test_all_targets_are_built_with_the_variants_flags_and_what_was_made_is_installed(
    tmp_path: Path,
) -> None:
    tree = make_tree(tmp_path / "tree")
    asked = request_for(PLUGIN, tree, "o3+lto")
    alone = PLUGIN.recipe(asked)
    whole = PLUGIN.recipe(dataclasses.replace(asked, all_targets=True))
    first = next(step.argv for step in whole.steps if step.phase is Phase.COMPILE)
    assert "make -j2" in " ".join(first)
    assert not {"-C", "src/backend"} < set(first)
    assert not any(step.argv[0] == "find" and "-delete" in step.argv for step in whole.steps)
    assert whole.artifacts == alone.artifacts
    assert whole.steps != alone.steps


def test_only_the_server_gets_the_variants_flags(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    recipe = PLUGIN.recipe(request_for(PLUGIN, tree, "o3+lto+pgo", Pass.USE))
    for step in recipe.steps:
        line = " ".join(step.argv)
        assert ("-fprofile-use" in line) == (step.phase is Phase.COMPILE)
        if "-O2" in line:
            assert step.phase is Phase.TOOLS


def make_debian_tree(root: Path, changelog: str | None = None) -> Path:
    tree = make_tree(root)
    (tree / "debian").mkdir()
    entry = "postgresql-15 (15.18-0+deb12u1) bookworm-security; urgency=medium\n\n  * New.\n\n"
    signed = " -- Maintainer <m@example.org>  Tue, 12 May 2026 17:03:04 +0200\n"
    (tree / "debian" / "changelog").write_text(changelog or entry + signed)
    return tree


def debian_recipe(tree: Path, variant: str, pass_: Pass) -> Recipe:
    return PLUGIN.recipe(request_for(PLUGIN, tree, variant, pass_, packaging="deb"))


@pytest.mark.parametrize(
    ("variant", "pass_"), [("lto", Pass.PLAIN), ("lto+pgo", Pass.INSTRUMENT), ("lto+pgo", Pass.USE)]
)
def test_the_recipe_by_debians_rules_is_as_written_down(
    tmp_path: Path, golden: Callable[[str, bytes], None], variant: str, pass_: Pass
) -> None:
    tree = make_debian_tree(tmp_path / "tree")
    text = as_text(debian_recipe(tree, variant, pass_), tree)
    golden(f"recipes/postgresql-deb-{variant}-{pass_.value}.txt", text.encode())


def test_debians_rules_never_see_the_variants_flags(tmp_path: Path) -> None:
    recipe = debian_recipe(make_debian_tree(tmp_path / "tree"), "o3+lto+pgo", Pass.USE)
    for step in recipe.steps:
        assert ("-fprofile-use" in " ".join(step.argv)) == (step.phase is Phase.COMPILE)


def test_a_changelog_without_an_entry_is_refused(tmp_path: Path) -> None:
    tree = make_debian_tree(tmp_path / "tree", changelog="nothing\n")
    with pytest.raises(SourceError, match="does not begin with an entry"):
        debian_recipe(tree, "lto", Pass.PLAIN)


def test_what_debians_packages_install_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "usr" / "lib" / "postgresql" / "15" / "bin"
    folder.mkdir(parents=True)
    (folder / "initdb").touch()
    assert PLUGIN.installation(tmp_path / "usr") is None
    (folder / "postgres").touch()
    found = PLUGIN.installation(tmp_path / "usr")
    assert found is not None
    assert (found.prefix, found.server) == (tmp_path / "usr", folder / "postgres")


def test_debians_clusters_are_read() -> None:
    printed = (
        "14  old  5433 down,binaries_missing postgres /var/lib/postgresql/14/old /var/log/a.log\n"
        "15  main 5432 online,recovery       postgres /var/lib/postgresql/15/main /var/log/b.log\n"
        "15  ha   5434 online,patroni        postgres /var/lib/postgresql/15/ha   /var/log/c.log\n"
    )
    old, main, watched = SERVICE.instances(printed)
    assert (old.label, old.running) == ("14/old", False)
    assert (main.label, main.running) == ("15/main", True)
    assert (main.supervisor, watched.supervisor) == ("", "patroni")
    assert main.in_word(SERVICE.start_file) == "/etc/postgresql/15/main/start.conf"
    assert main.in_words(SERVICE.restart) == ("pg_ctlcluster", "15", "main", "restart")
    assert SERVICE.package.format(series=SERVICE.series("15.18")) == "postgresql-15"


@pytest.mark.parametrize(
    ("text", "starts"),
    [("# auto: with the system\nauto\n", True), ("manual # for now\n", False), ("", True)],
)
def test_the_packages_scripts_start_a_cluster_unless_it_says_otherwise(
    text: str, starts: bool
) -> None:
    assert SERVICE.starts(text) is starts


def test_what_the_server_needs_is_alike_in_every_pass(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    requests = (
        request_for(PLUGIN, tree, "rel"),
        request_for(PLUGIN, tree, "pgo", Pass.INSTRUMENT),
        request_for(PLUGIN, tree, "lto+pgo", Pass.USE),
    )
    others = {
        tuple(step for step in PLUGIN.recipe(each).steps if step.phase is not Phase.COMPILE)
        for each in requests
    }
    assert len(others) == 1


@pytest.mark.parametrize(
    ("version", "name", "said"),
    [
        ("12.22", "PostgreSQL", "hone cannot build PostgreSQL 12.22"),
        ("9.6.24", "PostgreSQL", "hone cannot build PostgreSQL 9.6.24"),
        ("1.0", "Other", "the script configure is not PostgreSQL's"),
    ],
)
def test_other_trees_are_refused(tmp_path: Path, version: str, name: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        PLUGIN.version(make_tree(tmp_path / "tree", version, name))


@pytest.mark.parametrize(
    "name", ["config.status", "src/Makefile.global", "src/include/pg_config.h"]
)
def test_a_tree_that_was_configured_in_its_own_folder_is_refused(tmp_path: Path, name: str) -> None:
    tree = make_tree(tmp_path / "tree")
    put(tree / "src" / "include" / "pg_config.h.in")
    PLUGIN.check_source(tree)
    put(tree / name)
    with pytest.raises(SourceError, match=f"in its own folder.* it holds {name}$") as caught:
        PLUGIN.check_source(tree)
    assert "'make distclean' in a copy" in str(caught.value.hint)
    assert "git:PATH@HEAD" in str(caught.value.hint)
    assert PLUGIN.version(tree) == "15.18"


def test_a_tree_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not PostgreSQL's source tree"):
        PLUGIN.version(tmp_path)


FILE = """\
# - Memory -
shared_buffers = 4GB\t\t# min 128kB
#work_mem = 4MB
Work_Mem 64MB
search_path = '"$user", public'
log_line_prefix = 'it''s %m [%p] # '   # a comment
escaped = 'a\\'b'
random_page_cost = 1.1
pg_stat_statements.max = 10000
work_mem = '32MB'
"""


def read(text: str) -> dict[str, str]:
    return {each.name: each.value for each in Postgresql().read_settings_file(text)}


def test_settings_are_read_without_quotes_and_comments_and_the_last_of_a_name_counts() -> None:
    assert read(FILE) == {
        "shared_buffers": "4GB",
        "work_mem": "32MB",
        "search_path": '"$user", public',
        "log_line_prefix": "it's %m [%p] # ",
        "escaped": "a'b",
        "random_page_cost": "1.1",
        "loose_pg_stat_statements.max": "10000",  # an extension's may be missing
    }


def test_what_a_server_answers_is_read_as_well() -> None:
    answer = "DateStyle = 'ISO, DMY'\nlog_line_prefix = E'it''s \\\\ '\nshared_buffers = '128MB'\n"
    assert read(answer) == {
        "datestyle": "ISO, DMY",
        "log_line_prefix": "it's \\ ",
        "shared_buffers": "128MB",
    }


def test_everything_is_known_to_be_from_a_file() -> None:
    assert {each.origin for each in Postgresql().read_settings_file(FILE)} == {Origin.FILE}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\ninclude_dir = 'conf.d'\n", "line 2: 'include_dir"),
        ("work_mem = 4 MB\n", "line 1: 'work_mem = 4 MB' is not a setting"),
        ("work_mem\n", "line 1"),
        ("work_mem = 'open\n", "line 1"),
        ("# work_mem = 4MB\n\n", "in all its lines there is no setting"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read(text)


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1))
def test_what_hone_writes_it_reads(value: str) -> None:
    assert read(Postgresql().settings_file({"search_path": value})) == {"search_path": value}
