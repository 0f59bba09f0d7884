"""The recipes of MySQL, Percona Server and MyRocks, against golden command lines."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.dbms import _mysql_libraries
from dbhone.dbms._mysql_server import MysqlServer
from dbhone.dbms.base import BuildRequest, Phase, Recipe
from dbhone.dbms.myrocks import PLUGIN as MYROCKS
from dbhone.dbms.mysql import PLUGIN as MYSQL
from dbhone.dbms.percona import PLUGIN as PERCONA
from dbhone.errors import SourceError, UnknownName, UsageError
from tests.compilation.compilers import CLANG, GCC
from tests.dbms.mysql_trees import (
    LAUNCHER,
    MYROCKS_56,
    MYROCKS_80,
    MYSQL_56,
    MYSQL_57,
    MYSQL_80,
    MYSQL_84,
    MYSQL_97,
    MYSQL_8018,
    MYSQL_8019,
    MYSQL_8027,
    PERCONA_80,
    PERCONA_84,
    Tree,
)
from tests.dbms.recipe_request import as_written, request_for
from tests.files import put

OPENSSL_1 = "-DWITH_SSL=/opt/openssl-1.1.1"
TAKE_OPENSSL_1 = ("5.6.35", "8.0.18", "8.0.19", "8.0.27")
"""These trees take no newer OpenSSL, whatever the machine of the tests has."""


def request(
    dbms: MysqlServer, tree: Path, variant: str = "rel", pass_: Pass = Pass.PLAIN
) -> BuildRequest:
    options = (OPENSSL_1,) if dbms.version(tree) in TAKE_OPENSSL_1 else ()
    return dataclasses.replace(request_for(dbms, tree, variant, pass_), options=options)


def options_of(recipe: Recipe) -> dict[str, str]:
    """Return what CMake is told, by name."""
    configure = next(step.argv for step in recipe.steps if step.phase is Phase.CONFIGURE)
    told = [re.fullmatch(r"-D(\w+)=(.*)", word) for word in configure]
    return {each[1]: each[2] for each in told if each}


def plain(dbms: MysqlServer, tree: Path, *options: str) -> dict[str, str]:
    """Return what CMake is told in a plain build with these options of the user's."""
    asked = dataclasses.replace(request(dbms, tree), options=options)
    return options_of(dbms.recipe(asked))


@pytest.mark.parametrize(
    ("dbms", "tree", "variant", "pass_"),
    [
        (MYSQL, MYSQL_56, "rel", Pass.PLAIN),
        (MYSQL, MYSQL_56, "lto+pgo", Pass.USE),
        (MYSQL, MYSQL_57, "rel", Pass.PLAIN),
        (MYSQL, MYSQL_57, "pgo", Pass.INSTRUMENT),
        (MYSQL, MYSQL_80, "rel", Pass.PLAIN),
        (MYSQL, MYSQL_80, "pgo", Pass.INSTRUMENT),
        (MYSQL, MYSQL_80, "lto+pgo", Pass.USE),
        (MYSQL, MYSQL_80, "lto+pgo+bolt", Pass.USE),
        (MYSQL, MYSQL_84, "rel", Pass.PLAIN),
        (MYSQL, MYSQL_97, "rel", Pass.PLAIN),
        (PERCONA, PERCONA_80, "rel", Pass.PLAIN),
        (PERCONA, PERCONA_84, "lto+pgo", Pass.USE),
        (MYROCKS, MYROCKS_56, "rel", Pass.PLAIN),
        (MYROCKS, MYROCKS_80, "rel", Pass.PLAIN),
    ],
)
def test_the_recipe_is_as_written_down(
    tmp_path: Path,
    golden: Callable[[str, bytes], None],
    dbms: MysqlServer,
    tree: Tree,
    variant: str,
    pass_: Pass,
) -> None:
    written = tree.write(tmp_path / "tree")
    recipe = dbms.recipe(request(dbms, written, variant, pass_))
    added = f"added: {' '.join(recipe.added_flags)}".rstrip()
    text = as_written(recipe, written, "\n    ") + f"{added}\n"
    series = ".".join(tree.version.split(".")[:2])
    golden(f"recipes/{dbms.name}-{series}-{variant}-{pass_.value}.txt", text.encode())


@pytest.mark.parametrize(
    ("dbms", "tree"), [(MYSQL, MYSQL_56), (MYSQL, MYSQL_80), (MYROCKS, MYROCKS_80)]
)
def test_all_targets_are_those_of_the_same_configured_tree(
    tmp_path: Path, dbms: MysqlServer, tree: Tree
) -> None:
    asked = request(dbms, tree.write(tmp_path / "tree"))
    alone = dbms.recipe(asked)
    whole = dbms.recipe(dataclasses.replace(asked, all_targets=True))
    different = [
        (mine.argv, other.argv)
        for mine, other in zip(alone.steps, whole.steps, strict=True)
        if mine != other
    ]
    made = ("mysqld", "GenError")
    assert different == [(("ninja", "-j2", *made), ("ninja", "-j2", "all", *made))]
    assert whole.artifacts == alone.artifacts


@pytest.mark.parametrize("pass_", [Pass.INSTRUMENT, Pass.USE])
@pytest.mark.parametrize("tree", [MYSQL_57, MYSQL_80])
def test_every_pass_builds_the_same_as_a_plain_build(
    tmp_path: Path, tree: Tree, pass_: Pass
) -> None:
    written = tree.write(tmp_path / "tree")
    alone = MYSQL.recipe(request(MYSQL, written))
    guided = MYSQL.recipe(request(MYSQL, written, "pgo", pass_))
    assert guided.artifacts == alone.artifacts
    assert guided.steps[1:] == alone.steps[1:]


@pytest.mark.parametrize("pass_", [Pass.INSTRUMENT, Pass.USE])
@pytest.mark.parametrize("tree", [MYSQL_8018, MYSQL_8019, MYSQL_80])
def test_each_flag_about_a_profile_is_given_once(tmp_path: Path, tree: Tree, pass_: Pass) -> None:
    written = tree.write(tmp_path / "tree")
    told = options_of(MYSQL.recipe(request(MYSQL, written, "pgo", pass_)))
    script = written / "cmake/fprofile.cmake"
    code = re.sub("#.*", "", script.read_text()) if script.exists() else ""
    place = told.get("FPROFILE_DIR", "")
    given = told["CMAKE_CXX_FLAGS_RELEASE"].split()
    guidance = parse_variant("pgo").flags(GCC, pass_).guidance
    assert guidance is not None
    for flag in guidance.flags:
        if flag == "-fprofile-generate":
            continue  # the linker's
        by_tree = flag.replace(place, "${FPROFILE_DIR}") in code if place else False
        assert (flag in given) is not by_tree


def test_newer_versions_are_expected_to_take_longer() -> None:
    times = [MYSQL.seconds_of(each) for each in ("5.6.51", "5.7.44", "8.0.46", "9.7.2")]
    assert times == sorted(set(times))
    assert times[0] < MYROCKS.seconds_of("5.6.35") < MYROCKS.seconds_of("8.0.32") == times[2]
    assert MYSQL.seconds_of("") == MYSQL.seconds_of("8.4.0") == times[2]


def test_before_8_0_19_a_profile_is_told_by_flags(tmp_path: Path) -> None:
    tree = MYSQL_8018.write(tmp_path / "tree")
    told = options_of(MYSQL.recipe(request(MYSQL, tree, "pgo", Pass.USE)))
    assert "-fprofile-use={profile}" in told["CMAKE_C_FLAGS_RELEASE"]
    assert not {"FPROFILE_USE", "FPROFILE_DIR"} & told.keys()


def test_from_8_0_19_on_it_is_told_by_the_trees_own_option(tmp_path: Path) -> None:
    tree = MYSQL_8019.write(tmp_path / "tree")
    told = options_of(MYSQL.recipe(request(MYSQL, tree, "pgo", Pass.USE)))
    assert told["FPROFILE_USE"] == "ON"
    assert told["FPROFILE_DIR"] == "{profile}"
    # The first trees with the option do not give this one.
    assert "-fprofile-partial-training" in told["CMAKE_CXX_FLAGS_RELEASE"]


def test_a_tree_whose_script_lost_its_execute_bit_is_told_by_flags(tmp_path: Path) -> None:
    tree = MYSQL_80.write(tmp_path / "tree")
    assert "perl" in MYSQL.required_programs(tree)
    (tree / LAUNCHER).chmod(0o644)
    told = options_of(MYSQL.recipe(request(MYSQL, tree, "pgo", Pass.USE)))
    assert "-fprofile-use={profile}" in told["CMAKE_CXX_FLAGS_RELEASE"].split()
    assert not {"FPROFILE_USE", "REPRODUCIBLE_BUILD"} & told.keys()
    assert "perl" not in MYSQL.required_programs(tree)


@pytest.mark.parametrize(("variant", "pass_"), [("rel", Pass.PLAIN), ("pgo", Pass.USE)])
def test_base_and_candidate_are_compiled_by_the_same_script(
    tmp_path: Path, variant: str, pass_: Pass
) -> None:
    tree = MYSQL_80.write(tmp_path / "tree")
    told = options_of(MYSQL.recipe(request(MYSQL, tree, variant, pass_)))
    assert told["REPRODUCIBLE_BUILD"] == "ON"


@pytest.mark.parametrize(("variant", "flag"), [("pgo", False), ("lto+pgo", True)])
def test_link_time_optimisation_is_the_variants_alone(
    tmp_path: Path, variant: str, flag: bool
) -> None:
    tree = MYSQL_80.write(tmp_path / "tree")
    told = options_of(MYSQL.recipe(request(MYSQL, tree, variant, Pass.USE)))
    assert told["WITH_LTO"] == "OFF"
    assert ("-flto" in told["CMAKE_CXX_FLAGS_RELEASE"].split()) is flag
    assert ("-flto=auto" in told["CMAKE_EXE_LINKER_FLAGS"].split()) is flag


def test_with_clang_a_profile_is_told_by_flags(tmp_path: Path) -> None:
    tree = MYSQL_80.write(tmp_path / "tree")
    asked = request_for(MYSQL, tree, "pgo", Pass.INSTRUMENT, compiler=CLANG)
    told = options_of(MYSQL.recipe(asked))
    assert "-fprofile-generate" in told["CMAKE_CXX_FLAGS_RELEASE"].split()
    assert "FPROFILE_GENERATE" not in told


def test_no_flags_of_a_package_and_no_linker_by_chance(tmp_path: Path) -> None:
    told = plain(MYSQL, MYSQL_80.write(tmp_path / "tree"))
    names = ("WITH_PACKAGE_FLAGS", "USE_LD_LLD", "WITH_NUMA", "DOWNLOAD_BOOST")
    assert [told[name] for name in names] == ["OFF"] * 4


def test_old_trees_get_the_flags_that_they_need(tmp_path: Path) -> None:
    told = plain(MYSQL, MYSQL_57.write(tmp_path / "old"))
    assert "-std=gnu++98" in told["CMAKE_CXX_FLAGS_RELEASE"].split()
    assert "-std=gnu++98" not in told["CMAKE_C_FLAGS_RELEASE"]
    assert "-fno-strict-aliasing" in told["CMAKE_C_FLAGS_RELEASE"].split()
    told = plain(MYSQL, MYSQL_8019.write(tmp_path / "newer"), OPENSSL_1)
    assert "-include limits" in told["CMAKE_CXX_FLAGS_RELEASE"]
    told = plain(MYSQL, MYSQL_80.write(tmp_path / "new"))
    assert told["CMAKE_CXX_FLAGS_RELEASE"] == "-O2 -DNDEBUG -std=c++17"
    assert told["CMAKE_C_FLAGS_RELEASE"] == "-O2 -DNDEBUG"


def test_a_parser_that_the_tree_brings_can_be_made_anew(tmp_path: Path) -> None:
    tree = MYSQL_56.write(tmp_path / "tree")
    usual = MYSQL.recipe(request(MYSQL, tree)).steps
    put(tree / "sql/sql_yacc.cc")
    configured, added, *others = MYSQL.recipe(request(MYSQL, tree)).steps
    assert (configured, *others) == usual
    assert added.argv == ("chmod", "--recursive", "u+w", "sql")


def test_boost_that_clang_rejects_is_let_through_unless_the_tree_patches_it(tmp_path: Path) -> None:
    def cxx_flags(compiler: Compiler) -> list[str]:
        asked = request_for(MYSQL, tree, compiler=compiler)
        return options_of(MYSQL.recipe(asked))["CMAKE_CXX_FLAGS_RELEASE"].split()

    tree = MYSQL_80.write(tmp_path / "tree")
    assert "-Wno-enum-constexpr-conversion" in cxx_flags(CLANG)
    assert "-Wno-enum-constexpr-conversion" not in cxx_flags(GCC)
    patched = "boost/numeric/conversion/detail/int_float_mixture.hpp"
    put(tree / "include/boost_1_77_0/patches" / patched)
    assert "-Wno-enum-constexpr-conversion" not in cxx_flags(CLANG)


def test_a_boost_that_is_nowhere_is_told_with_its_version(tmp_path: Path) -> None:
    tree = dataclasses.replace(MYSQL_80, boost="boost_9_77_0", bundled=False).write(tmp_path / "t")
    with pytest.raises(SourceError, match="boost_9_77_0") as caught:
        plain(MYSQL, tree)
    assert caught.value.hint is not None
    assert "DBHONE_LIBRARIES" in caught.value.hint
    assert "-DWITH_BOOST=" in caught.value.hint


def test_boost_is_taken_from_the_users_folder(tmp_path: Path) -> None:
    tree = dataclasses.replace(MYSQL_80, boost="boost_9_77_0", bundled=False).write(tmp_path / "t")
    put(tmp_path / "libraries/boost_9_77_0/boost/version.hpp")
    asked = dataclasses.replace(request(MYSQL, tree), libraries=tmp_path / "libraries")
    told = options_of(MYSQL.recipe(asked))
    assert told["WITH_BOOST"] == str(tmp_path / "libraries/boost_9_77_0")


def test_the_users_own_boost_comes_before_the_trees(tmp_path: Path) -> None:
    told = plain(MYSQL, MYSQL_80.write(tmp_path / "tree"), "-DWITH_BOOST=/opt/boost")
    assert told["WITH_BOOST"] == "/opt/boost"


@pytest.mark.parametrize("option", ["-DWITH_BOOST=/opt/boost", "-DWITH_BOOST:PATH=/opt/boost"])
def test_a_boost_that_the_user_names_is_looked_for_nowhere_else(
    tmp_path: Path, option: str
) -> None:
    tree = dataclasses.replace(MYSQL_80, boost="boost_9_77_0", bundled=False).write(tmp_path / "t")
    recipe = MYSQL.recipe(dataclasses.replace(request(MYSQL, tree), options=(option,)))
    assert repr(recipe).count("WITH_BOOST") == repr(recipe).count(option) > 0


def test_a_tree_that_takes_openssl_1_alone_gets_the_users(tmp_path: Path) -> None:
    tree = MYSQL_8019.write(tmp_path / "tree")
    header = "# define OPENSSL_VERSION_NUMBER  0x1010117fL\n"
    put(tmp_path / "libraries/openssl-1.1.1w/include/openssl/opensslv.h", header)
    asked = dataclasses.replace(request(MYSQL, tree), libraries=tmp_path / "libraries", options=())
    told = options_of(MYSQL.recipe(asked))
    assert told["WITH_SSL"] in (str(tmp_path / "libraries/openssl-1.1.1w"), "system")


@pytest.mark.parametrize(("one", "programs"), [(True, []), (False, ["patchelf"])])
def test_an_openssl_that_is_not_the_machines_takes_one_program_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: bool, programs: list[str]
) -> None:
    number = "0x1010117fL" if one else "0x30000080L"
    header = f"# define OPENSSL_VERSION_NUMBER  {number}\n"
    put(tmp_path / "usr/include/openssl/opensslv.h", header)
    monkeypatch.setattr(_mysql_libraries, "_MACHINE", tmp_path / "usr")
    needed = MYSQL.required_programs(MYSQL_8027.write(tmp_path / "tree"))
    assert [each for each in needed if each == "patchelf"] == programs


def test_group_replication_stays_where_a_tree_stumbles_over_its_lack(tmp_path: Path) -> None:
    stumbling = plain(MYSQL, MYSQL_8027.write(tmp_path / "old"), OPENSSL_1)
    assert "WITH_GROUP_REPLICATION" not in stumbling
    assert plain(MYSQL, MYSQL_80.write(tmp_path / "new"))["WITH_GROUP_REPLICATION"] == "OFF"


@pytest.mark.parametrize(
    ("tree", "more"),
    [
        (MYSQL_57, set()),
        (MYSQL_80, {"DATA_LOCK", "SERVER_TELEMETRY_TRACES"}),
        (MYSQL_84, {"DATA_LOCK", "SERVER_TELEMETRY_TRACES", "METRICS"}),
        (
            MYSQL_97,
            {"DATA_LOCK", "SERVER_TELEMETRY_TRACES", "METRICS", "SERVER_TELEMETRY_LOGS"},
        ),
    ],
)
def test_the_performance_schemas_switches_are_those_of_the_tree_but_threads(
    tmp_path: Path, tree: Tree, more: set[str]
) -> None:
    told = plain(MYSQL, tree.write(tmp_path / "tree"), "no-psi")
    switches = {name for name in told if name.startswith("DISABLE_PSI_")}
    assert switches == {f"DISABLE_PSI_{each}" for each in {"MUTEX", "MEMORY", *more}}
    assert {told[each] for each in switches} == {"ON"}


def test_a_set_may_be_one_switch(tmp_path: Path) -> None:
    told = plain(MYSQL, MYSQL_80.write(tmp_path / "tree"), "no-psi-memory")
    assert [name for name in told if name.startswith("DISABLE_PSI_")] == ["DISABLE_PSI_MEMORY"]


def test_options_that_a_version_no_longer_has_are_not_passed(tmp_path: Path) -> None:
    gone = {"WITH_LIBEVENT", "USE_LD_LLD"}
    assert gone <= plain(MYSQL, MYSQL_80.write(tmp_path / "old")).keys()
    assert not gone & plain(MYSQL, MYSQL_84.write(tmp_path / "new")).keys()


def test_a_set_that_means_nothing_in_a_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'no-psi-memory' have no effect in version 5\.6\.51"):
        plain(MYSQL, MYSQL_56.write(tmp_path / "tree"), "no-psi-memory")


def test_an_unknown_set_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        plain(MYSQL, MYSQL_80.write(tmp_path / "tree"), "nopsi")
    assert caught.value.hint is not None
    assert "'no-psi'" in caught.value.hint


@pytest.mark.parametrize(
    "option",
    ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-O0", "-DWITH_LTO=ON", "-DFPROFILE_USE=1"],
)
def test_what_the_variant_decides_is_no_option(tmp_path: Path, option: str) -> None:
    with pytest.raises(UsageError, match="is decided by hone"):
        plain(MYSQL, MYSQL_80.write(tmp_path / "tree"), option)


@pytest.mark.parametrize("option", ["-DNAME", "--debug", "-DA=B;C", "-G"])
def test_what_is_no_option_is_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(UsageError, match="is not a build option"):
        plain(MYSQL, MYSQL_80.write(tmp_path / "tree"), option)


def test_a_version_without_a_recipe_is_told(tmp_path: Path) -> None:
    tree = Tree(version="5.5.62").write(tmp_path / "tree")
    with pytest.raises(SourceError, match=r"cannot build MySQL 5\.5\.62: it builds 5\.6 and newer"):
        plain(MYSQL, tree)
