"""The own tests of MySQL and its forks by mysql-test-run: a short list, and the suite ``main``.

A tree brings the tests and the runner. The client programs that these need are built once for each
tree; the servers are of the build's own bytes.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from dbhone.dbms._cmake import COPY, COPY_FOLDER
from dbhone.dbms._mysql_cmake import messages_folder
from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe, load_dbms
from dbhone.files import text_if_there
from dbhone.verification.checks._mysql_test_run import MysqlTestRunner, TestFiles
from dbhone.verification.checks.base import TestJob, TestList, TestPrograms
from dbhone.verification.outcome import Grade

_SHORT = "short"
_FAMILIES = re.compile(
    r"(alias|auto_increment|bigint|case|cast|count_distinct|create|delete|derived|distinct|"
    r"func_(?!encrypt|kdf|misc)\w+|group_(by|min_max)|having|in|insert|insert_(select|update)|join|"
    r"join_(nested|outer)|key|limit|lock|multi_update|null|olap|order_by_none|ps|ps_1general|"
    r"range_none|replace|select_none|sp|sp_trans|sql_mode|subquery_none|subselect|temp_table|"
    r"trigger|truncate|type_\w+|union|update|user_var|variables|view|window_functions|"
    r"with_recursive|with_non_recursive)"
)
"""Tests of ``main`` that ask for answers. MySQL has no short collection of its own."""
_PROGRAMS = frozenset(
    {
        *("mysql", "mysqladmin", "mysqlbinlog", "mysqlcheck", "mysqldump", "mysqlimport"),
        *("mysqlpump", "mysqlshow", "mysqlslap", "mysqltest", "mysql_client_test"),
        *("mysql_config_editor", "mysql_keyring_encryption_test", "mysql_migrate_keyring"),
        *("mysql_plugin", "mysql_secure_installation", "mysql_ssl_rsa_setup", "mysql_upgrade"),
        *("mysql_tzinfo_to_sql", "myisamchk", "myisampack", "myisamlog", "myisam_ftdump"),
        *("my_print_defaults", "my_safe_process", "mysqltest_safe_process", "ibd2sdi"),
        *("innochecksum", "lz4_decompress", "perror", "replace", "resolveip", "zlib_decompress"),
    }
)
"""What the runners of all versions ask for; each tree has some of them."""
_ADDED = re.compile(r"\b(?:MYSQL_)?ADD_EXECUTABLE\s*\(\s*(\w+)")
_TESTS = Path("mysql-test")
_SCRIPTS = Path("scripts")
_UPGRADE = _SCRIPTS / "mysql_fix_privilege_tables.sql"


class MysqlTestPrograms(TestPrograms):
    """The client programs that the runner and the tests call, and what servers are filled with."""

    fixed = True
    build_share = 0.5

    def __init__(self, tested: str) -> None:
        self.tested = tested
        super().__init__()

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the server's own steps, with these programs in the place of the server."""
        server = load_dbms(self.tested).recipe(request)
        configure, _, *share = server.steps
        made = {artifact.name: artifact.made for artifact in server.artifacts}
        folders = _programs_of(request.tree)
        make = ("ninja", f"-j{request.jobs}", *folders, "GenError", "GenFixPrivs")
        scripts = sorted((request.tree / _SCRIPTS).glob("*.sql"))
        filled = (
            (*COPY_FOLDER, str(messages_folder(request.tree)), str(made["share"])),
            (*COPY, *map(str, (*scripts, _UPGRADE)), str(made["share"])),
        )
        # Old trees make each program in the folder of its script, as they do the server.
        together = made["server"].parent != Path("sql")
        programs = (
            Artifact(
                name=name,
                made=(made["server"].parent if together else folder) / name,
                kept=Path("bin") / name,
            )
            for name, folder in folders.items()
        )
        others = (artifact for artifact in server.artifacts if artifact.name != "server")
        return dataclasses.replace(
            server,
            steps=(
                configure,
                BuildStep(phase=Phase.COMPILE, argv=make),
                *share,
                *(BuildStep(phase=Phase.TOOLS, argv=argv) for argv in filled),
            ),
            artifacts=(*programs, *others),
            primary="mysqltest",
        )


def _programs_of(tree: Path) -> dict[str, Path]:
    """Return the folder of each program that the tree has, in the order of their names."""
    found = {
        name: script.parent.relative_to(tree)
        for script in tree.rglob("CMakeLists.txt")
        for name in _ADDED.findall(text_if_there(script))
        if name in _PROGRAMS
    }
    return dict(sorted(found.items()))


class MysqlTestRun(MysqlTestRunner):
    """mysql-test-run.pl with the servers of a build."""

    name = "mysql-test-run"
    title = "MySQL's regression tests"
    systems = frozenset({"mysql", "percona", "myrocks"})
    script, server = "mysql-test-run.pl", "mysqld"
    lists = (
        TestList(name=_SHORT, grades=frozenset({Grade.SMOKE, Grade.FULL}), seconds=300),
        TestList(name="main", grades=frozenset({Grade.FULL}), seconds=2400),
    )

    def test_programs(self, dbms: str) -> TestPrograms:
        """Return the client programs of a vendor's tree."""
        return MysqlTestPrograms(dbms)

    def files(self, job: TestJob) -> TestFiles:
        """Return the tree's tests, with programs that were built of it."""
        assert job.tree is not None, "without a tree there would be no programs"
        return TestFiles(
            tests=job.tree / _TESTS,
            programs=job.tests / "bin",
            share=job.tests / "share",
            libraries=(job.tests / "lib",),
        )

    def chosen(self, job: TestJob, tests: Path) -> tuple[str, ...]:
        """Return the tests of the short list that this version has, or a suite."""
        if job.list == _SHORT:
            names = sorted(test.stem for test in (tests / "t").glob("*.test"))
            return tuple(f"main.{name}" for name in names if _FAMILIES.fullmatch(name))
        return (f"--suite={job.list}",)


PLUGIN = MysqlTestRun()
