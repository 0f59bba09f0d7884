from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.compilation.manifest import Build, Manifest
from dbhone.compilation.variant import parse_variant
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base import Phase, load_dbms, system_names
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import UsageError
from dbhone.source.kinds.base import parse_reference
from dbhone.verification import verify
from dbhone.verification.checks.base import RegressionTests, TestJob, checks_for
from dbhone.verification.checks.db_stress import PLUGIN as DB_STRESS
from dbhone.verification.checks.mariadb_test_run import PLUGIN as MARIADB_TEST_RUN
from dbhone.verification.checks.mysql_test_run import PLUGIN as MYSQL_TEST_RUN
from dbhone.verification.checks.pg_regress import PLUGIN as PG_REGRESS
from dbhone.verification.checks.sqlite_testrunner import PLUGIN as TEST_RUNNER
from dbhone.verification.checks.sqlsmith import PLUGIN as SQLSMITH
from dbhone.verification.outcome import Grade, Status
from dbhone.verification.verify import lists_of
from tests.dbms.mysql_trees import MYSQL_56, MYSQL_80, Tree
from tests.dbms.recipe_request import request_for
from tests.files import put

PRINTED = Path(__file__).with_name("printed")
PG_15 = """\
============== running regression test queries        ==============
test test_setup                   ... ok          175 ms
parallel group (2 tests):  boolean macaddr8
     boolean                      ... ok           79 ms
     macaddr8                     ... FAILED       85 ms
test copy                         ... FAILED (test process exited with exit code 2)
"""
PG_16 = """\
# +++ regress check in src/test/regress +++
ok 1         - test_setup                                175 ms
# parallel group (2 tests):  boolean macaddr8
ok 2         + boolean                                    79 ms
not ok 3     + macaddr8                                   85 ms
"""
DIFFS = """\
diff -U3 /tree/src/test/regress/expected/macaddr8.out /results/macaddr8.out
--- /tree/src/test/regress/expected/macaddr8.out	2026-11-24
+++ /results/macaddr8.out	2026-11-24
@@ -10,3 +10,3 @@
- t
+ f
"""
STRESS = """\
Batches/snapshots         : {batches}
2026/11/26-03:17:57  Starting verification
Stress Test : 558.788 micros/op 6859 ops/sec
            : Wrote 0.64 MB (0.07 MB/sec) (34% of 59820 ops)
            : Got errors {errors} times
            : 0 CompactFiles() did not succeed
{ending}"""
SUCCESSFUL = "2026/11/26-03:17:57  Verification successful\n"
RUNNER = """\
select1.test... Ok (23ms) (helper 2)
io.test... FAILED - 1 errors of 30 tests (53ms) (helper 1)
join5.test... FAILED - 1 errors of 51 tests (146ms) (helper 1)
"""
RUNNER_END = """\
2 errors from 104 tests.
Errors in: io.test join5.test
No leaks - all allocations freed.
Test database is /job/testrunner.db
Test log file is /job/testrunner.log
This test has FAILED.
"""
RUNNER_CRASHED = """\
Launching helper 1 (testfixture testrunner.tcl helper 1)
Launching helper 2 (testfixture testrunner.tcl helper 2)
select1.test... Ok (23ms) (helper 2)
0 errors from 23 tests.
Tests DID NOT FINISH (crashed?): {left}
Test database is /job/testrunner.db
Test log file is /job/testrunner.log
This test has FAILED.
"""
RUNNER_LOG = """\
io-5.4... Ok
io-5.5...
! io-5.5 expected: [8192]
! io-5.5 got:      [16384]
select1-1.1... Ok
"""


def manifest(source: str) -> Manifest:
    return cast(Manifest, SimpleNamespace(source=source))


@pytest.mark.parametrize("printed", [PG_15, PG_16])
def test_results_of_pg_regress_are_read_with_their_differences(printed: str) -> None:
    found = {test.name: test for test in PG_REGRESS.results(printed, lambda _: DIFFS)}
    assert found["test_setup"].status is found["boolean"].status is Status.PASSED
    assert found["macaddr8"].status is Status.FAILED
    assert "- t\n+ f" in found["macaddr8"].difference


def test_a_test_whose_program_died_is_failed() -> None:
    found = {test.name: test for test in PG_REGRESS.results(PG_15, lambda _: "")}
    assert found["copy"].status is Status.FAILED
    assert found["copy"].difference == "its program failed"


def test_results_of_sqlites_runner_are_read_with_what_single_tests_got() -> None:
    found = {test.name: test for test in TEST_RUNNER.results(RUNNER, lambda _: RUNNER_LOG)}
    assert [test.status for test in found.values()] == [
        Status.PASSED,
        Status.FAILED,
        Status.FAILED,
    ]
    assert found["io.test"].difference.endswith("! io-5.5 got:      [16384]")
    assert found["join5.test"].difference == "1 of its tests fail"


def test_a_script_whose_helper_crashed_has_failed() -> None:
    printed = RUNNER_CRASHED.format(left="io.test")
    found = {test.name: test for test in TEST_RUNNER.results(printed, lambda _: "")}
    assert found["select1.test"].status is Status.PASSED
    assert found["io.test"].status is Status.FAILED
    assert found["io.test"].difference == "it did not finish"


TOLD_15 = """
========================
 1 of 4 tests failed.
========================
"""
PASSED_15 = """
=======================
 All 217 tests passed.
=======================
"""
MTR_FAILED = """\
The servers were restarted 3 times

Completed: Failed 1/106 tests, 99.06% were successful.

Failing test(s): main.func_math
"""
MTR_PASSED = "The servers were restarted 3 times\n\nCompleted: All 106 tests were successful.\n"
MTR_TIMEOUT = "Timeout: All 40 tests were successful.\n"
MTR_STOPPED = "Not all tests completed: Failed 1/40 tests, 97.50% were successful.\n"
MTR_LEFT = "In completed tests: All 40 tests were successful.\n"


@pytest.mark.parametrize(
    ("regression", "printed", "whole"),
    [
        (PG_REGRESS, PG_15 + TOLD_15, True),
        (PG_REGRESS, PG_15 + PASSED_15, True),
        (PG_REGRESS, PG_15, False),
        (PG_REGRESS, PG_16 + "1..3\n# 1 of 3 tests failed.\n", True),
        (PG_REGRESS, PG_16 + "Bail out!# could not fork: no memory\n", False),
        (MYSQL_TEST_RUN, MTR_FAILED, True),
        (MARIADB_TEST_RUN, MTR_PASSED, True),
        (MYSQL_TEST_RUN, MTR_TIMEOUT, False),
        (MYSQL_TEST_RUN, MTR_STOPPED, False),
        (MYSQL_TEST_RUN, MTR_LEFT, False),
        (MYSQL_TEST_RUN, "mysql-test-run: *** ERROR: Test suite aborted\n", False),
        (TEST_RUNNER, RUNNER + RUNNER_END, True),
        (TEST_RUNNER, RUNNER, False),
        (TEST_RUNNER, RUNNER_CRASHED.format(left="io.test join5.test"), True),
        (TEST_RUNNER, RUNNER_CRASHED.format(left="io.test join5.test where.test"), False),
        (DB_STRESS, "", True),
    ],
)
def test_a_runner_says_that_it_has_come_to_the_end_of_its_list(
    regression: RegressionTests, printed: str, *, whole: bool
) -> None:
    assert regression.came_to_end(printed) is whole


def test_results_of_mariadb_test_run_are_read_with_their_combinations() -> None:
    printed = (PRINTED / "mariadb-test-run.txt").read_text()
    found = {test.name: test for test in MARIADB_TEST_RUN.results(printed, lambda _: "")}
    assert {name: test.status.value for name, test in found.items()} == {
        "sys_vars.sysvars_server_notembedded (64bit,unix)": "passed",
        "rpl.rpl_gtid_basic (mix)": "passed",
        "rocksdb.rocksdb": "skipped",
        "oqgraph.general-innodb": "skipped",
        "main.pool_of_threads": "passed",
        "multi_source.multisource": "passed",
        "main.mysqlcheck": "failed",
        "plugins.cracklib_password_check": "skipped",
    }
    assert "Table 'bug47205' is read only" in found["main.mysqlcheck"].difference


@pytest.mark.parametrize(
    ("printed", "passed"),
    [
        (STRESS.format(batches=0, errors=0, ending=SUCCESSFUL), True),
        (STRESS.format(batches=1, errors=0, ending=""), True),
        (STRESS.format(batches=0, errors=0, ending=""), False),
        (STRESS.format(batches=1, errors=3, ending=""), False),
        (STRESS.format(batches=0, errors=0, ending="Verification failed :(\n"), False),
        ("Choosing random keys with no overwrite\n", False),
        ("", False),
    ],
)
def test_a_stress_test_is_passed_if_it_came_to_its_end_and_found_what_it_wrote(
    printed: str, *, passed: bool
) -> None:
    (result,) = DB_STRESS.results(printed, lambda _: "")
    assert (result.status is Status.PASSED) is passed
    assert (result.difference == "") is (passed or not printed)


def test_a_stress_test_loads_the_library_that_is_tested_and_asks_for_no_faults(
    tmp_path: Path,
) -> None:
    for tests in DB_STRESS.lists:
        job = TestJob(
            build=cast(Build, SimpleNamespace(folder=tmp_path / "build")),
            tests=tmp_path / "tests",
            tree=None,
            folder=tmp_path / "job",
            list=tests.name,
            names=(),
            jobs=2,
        )
        command = DB_STRESS.command(job)
        assert command.env == {"LD_LIBRARY_PATH": str(tmp_path / "build" / "lib")}
        assert "--write_fault_one_in=0" in command.argv
        shares = [word for word in command.argv if re.match(r"--[a-z]+percent=", word)]
        assert sum(int(word.partition("=")[2]) for word in shares) == 100


@pytest.mark.parametrize(
    ("has_setup", "tests"), [(True, ("test_setup", "select")), (False, ("select",))]
)
def test_named_tests_of_postgresql_follow_the_one_that_makes_their_tables(
    tmp_path: Path, *, has_setup: bool, tests: tuple[str, ...]
) -> None:
    scripts = tmp_path / "tree" / "src" / "test" / "regress" / "sql"
    scripts.mkdir(parents=True)
    if has_setup:
        (scripts / "test_setup.sql").touch()
    endpoint = Endpoint(protocol=POSTGRESQL, socket=tmp_path / "s", user="u", database="d")
    job = TestJob(
        build=cast(Build, SimpleNamespace(folder=tmp_path / "build")),
        tests=tmp_path / "tests",
        tree=tmp_path / "tree",
        folder=tmp_path / "job",
        list="parallel_schedule",
        names=("select",),
        jobs=2,
        endpoint=endpoint,
    )
    assert PG_REGRESS.command(job).argv[-len(tests) :] == tests


@pytest.mark.parametrize("fixes", ["", " with a.patch", " with https://a.org/b.patch, c.patch"])
def test_packages_with_tests_are_of_the_version_that_the_source_names(fixes: str) -> None:
    named = MARIADB_TEST_RUN.package(manifest(f"apt:mariadb=1:10.11.19-0+deb12u1{fixes}"))
    assert "mariadb-server-core=1:10.11.19-0+deb12u1,libpcre2-posix3" in named
    assert named.count("1:10.11.19-0+deb12u1,") == named.count(",")
    parse_reference(named)


def test_packages_with_tests_are_the_newest_for_a_source_that_names_no_version() -> None:
    assert MARIADB_TEST_RUN.package(manifest("git:x@y")).startswith("deb:mariadb-test,")


def test_generated_queries_lose_what_makes_their_answers_chance() -> None:
    printed = (
        "select a from t as s tablesample system (8.3) where b;\n"
        "select random() from t;\nupdate t set a = 1;\nselect 1 as x;\n"
    )
    assert SQLSMITH.queries(printed) == ("select a from t as s  where b", "select 1 as x")


@pytest.mark.parametrize("dbms", system_names())
def test_every_grade_includes_the_lists_of_lower_ones_or_longer_ones(dbms: str) -> None:
    smoke, full = lists_of(dbms, Grade.SMOKE), lists_of(dbms, Grade.FULL)
    assert smoke
    for check, tests in smoke:
        of_check = [other for each, other in full if each is check]
        assert tests in of_check or any(other.seconds > tests.seconds for other in of_check)


def test_a_dbms_without_regression_tests_is_told_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verify, "checks_for", lambda _dbms: ())
    with pytest.raises(UsageError, match="no regression tests of MySQL"):
        lists_of("mysql", Grade.SMOKE)
    assert lists_of("mysql", Grade.ANSWERS) == ()


def test_test_programs_are_a_build_of_their_own_with_the_version_of_the_tree() -> None:
    for dbms in system_names():
        for check in checks_for(dbms):
            if not isinstance(check, RegressionTests):
                continue
            programs = check.test_programs(dbms)
            if programs is not None:
                assert programs.name == f"{dbms}-tests"
                assert programs.tested == load_dbms(dbms).name


@pytest.mark.parametrize(
    ("tree", "folder"), [(MYSQL_56, "client"), (MYSQL_80, "runtime_output_directory")]
)
def test_the_client_programs_of_mysqls_tests_are_built_instead_of_its_server(
    tmp_path: Path, tree: Tree, folder: str
) -> None:
    programs = MYSQL_TEST_RUN.test_programs("mysql")
    root = tree.write(tmp_path / "tree")
    put(root / "client/CMakeLists.txt", "MYSQL_ADD_EXECUTABLE(mysqltest a.cc)\nIF(ECHO)\n")
    put(root / "tests/CMakeLists.txt", "ADD_EXECUTABLE(unheard_of a.c)\n")
    recipe = programs.recipe(request_for(load_dbms("mysql"), root))
    (make,) = (step.argv for step in recipe.steps if step.phase is Phase.COMPILE)
    assert make == ("ninja", "-j2", "mysqltest", "GenError", "GenFixPrivs")
    kept = {artifact.name: artifact for artifact in recipe.artifacts}
    assert kept["mysqltest"].made == Path(folder) / "mysqltest"
    assert "share" in kept
    assert "server" not in kept


@pytest.mark.parametrize(
    ("makefile", "modules"),
    [("all: refint$(DLSUFFIX) autoinc$(DLSUFFIX)\n", {"refint.so", "autoinc.so"}), ("", set())],
    ids=["PostgreSQL 17", "PostgreSQL 18"],
)
def test_the_modules_of_postgresqls_tests_are_those_that_the_version_has(
    tmp_path: Path, makefile: str, modules: set[str]
) -> None:
    put(tmp_path / "configure", "PACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='18.1'\n")
    put(tmp_path / "src/backend/Makefile")
    put(tmp_path / "src/test/regress/GNUmakefile", makefile)
    asked = request_for(load_dbms("postgresql"), tmp_path)
    recipe = PG_REGRESS.test_programs("postgresql").recipe(asked)
    kept = {artifact.name for artifact in recipe.artifacts if artifact.name.endswith(".so")}
    assert kept == {"regress.so", *modules}


@pytest.mark.parametrize(
    ("tests", "name", "has"),
    [
        ("parallel_schedule", "numeric", True),
        ("parallel_schedule", "eval-plan-qual", False),
        ("isolation_schedule", "eval-plan-qual", True),
        ("isolation_schedule", "numeric", False),
        ("parallel_schedule", "*", False),
    ],
)
def test_a_list_of_postgresqls_has_the_tests_of_its_own_folder_only(
    tmp_path: Path, tests: str, name: str, *, has: bool
) -> None:
    put(tmp_path / "src/test/regress/sql/numeric.sql")
    put(tmp_path / "src/test/isolation/specs/eval-plan-qual.spec")
    assert PG_REGRESS.has_test(tests, name, tmp_path) is has


def test_mysqls_short_list_is_of_the_tests_that_the_version_has(tmp_path: Path) -> None:
    for name in ("select_none", "type_float", "grant", "window_functions"):
        put(tmp_path / f"t/{name}.test")
    job = cast(TestJob, SimpleNamespace(list="short"))
    chosen = MYSQL_TEST_RUN.chosen(job, tmp_path)
    assert chosen == ("main.select_none", "main.type_float", "main.window_functions")


def test_a_sqlite_whose_tests_use_no_shared_library_is_refused(tmp_path: Path) -> None:
    programs = TEST_RUNNER.test_programs("sqlite")
    assert programs is not None
    put(tmp_path / "src/sqlite.h.in")
    put(tmp_path / "VERSION", "3.48.0")
    assert programs.recipe(request_for(programs, tmp_path)).primary == "library"
    put(tmp_path / "VERSION", "3.49.0")
    put(tmp_path / "auto.def")
    with pytest.raises(UsageError, match=r"builds of SQLite 3\.49\.0") as error:
        programs.recipe(request_for(programs, tmp_path))
    assert error.value.hint == "verify it with --grade answers"


def test_every_variant_of_a_library_can_be_tested() -> None:
    """The library that is tested is built as the build was, whatever its transforms are for."""
    programs = TEST_RUNNER.test_programs("sqlite")
    for name in ("rel", "nointerpose", "nointerpose+lto+pgo"):
        variant = parse_variant(name)
        variant.check_artifact(load_dbms("sqlite"))
        variant.check_artifact(programs)
