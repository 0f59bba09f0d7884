"""Statements and dumps with which a replay has difficulties, on real servers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.workload import suite as suites
from dbhone.workload.client_programs import postgresql_program
from dbhone.workload.drivers.replay import PLUGIN, UsersData
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from dbhone.workload.workload_file import read_header
from tests.workload.live import Live, started
from tests.workload.written_workload import Asked, workload_of

pytestmark = pytest.mark.integration


def data_of(folder: Path, dump: Path, workload: Path) -> UsersData:
    """Return a dump and a workload, prepared for clients."""
    scripts = suites.load(str(workload)).scripts
    data = UsersData(source=dump, workload=workload, scripts=scripts)
    (folder / "clients").mkdir()
    PLUGIN.materials(data).write(folder / "clients")
    return data.with_materials(folder / "clients")


def user_of(live: Live) -> tuple[str, ...]:
    """Return how PostgreSQL's programs reach the server."""
    endpoint = live.endpoint
    return ("-h", str(endpoint.socket.parent), "-p", str(endpoint.port), "-U", endpoint.user)


def loaded(live: Live, data: UsersData) -> None:
    finished = live.restore(data)
    assert finished.ok, finished.text()


def printed(live: Live, data: UsersData) -> str:
    """Return what is printed when the workload is verified."""
    return live.printed(PLUGIN.verify(live.program, live.endpoint, data))


def test_parameters_get_the_types_that_the_server_cannot_find_out(tmp_path: Path) -> None:
    asked: list[Asked] = [
        ("named", "SELECT count(*) FROM item WHERE $1 IS NULL OR name = $2", ["a", "a"]),
        ("bound", "SELECT count(*) FROM item WHERE $1 IS NULL OR id = $2", [None, "1"]),
        ("named", "SELECT $1 + $2", ["1", "2.5"]),
        ("bound", "SELECT concat($1, $2)", ["a", "b"]),
    ]
    begin: Asked = ("text", "BEGIN", [])
    end: Asked = ("text", "COMMIT", [])
    dump = tmp_path / "a.sql"
    dump.write_text("CREATE TABLE item (id int, name text);\nINSERT INTO item VALUES (1, 'a');\n")
    with started("postgresql") as live:
        transactions = [*([one] for one in asked), [begin, *asked, end]]
        data = data_of(tmp_path, dump, workload_of(tmp_path, "postgresql", transactions))
        loaded(live, data)
        text = printed(live, data)
        scale = Scale(size="smoke", threads=(1,), data={"dump": str(dump)})
        (task,) = Workload(name=str(data.workload), scale=scale).tasks(("earlier",))
        whole, *_ = replace(live, driver=PLUGIN).steps(task.with_materials(tmp_path / "clients"))
    assert PLUGIN.refusals(text, data) is None, text
    assert whole.errors == 0


@pytest.mark.parametrize(
    ("dbms", "error"),
    [("postgresql", "error 23503, insert"), ("mariadb", "error 1452, Cannot add")],
)
def test_what_is_refused_is_told_with_its_error(dbms: str, error: str, tmp_path: Path) -> None:
    dump = tmp_path / "a.sql"
    dump.write_text(
        "CREATE TABLE parent (id int PRIMARY KEY);\n"
        "CREATE TABLE child (id int, CONSTRAINT up FOREIGN KEY (id) REFERENCES parent (id));\n"
    )
    with started(dbms) as live:
        protocol = live.endpoint.protocol.name
        missing: Asked = ("text", "INSERT INTO child VALUES (5)", [])
        sound: Asked = ("text", "SELECT count(*) FROM child", [])
        path = workload_of(tmp_path, protocol, [[sound], [missing, sound]])
        data = data_of(tmp_path, dump, path)
        loaded(live, data)
        told = PLUGIN.refusals(printed(live, data), data)
    assert read_header(path).statements == 6
    assert told is not None
    assert " × " in told
    assert error in told
    assert "in: INSERT INTO child" in told


_DEFINED = """
/*!50001 CREATE VIEW `names` AS SELECT 1 AS `name`*/;
CREATE TABLE `item` (`id` int PRIMARY KEY);
CREATE TABLE `log` (`id` int);
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`app`@`%`*/ /*!50003 TRIGGER t AFTER INSERT ON item
FOR EACH ROW INSERT INTO log VALUES (NEW.id) */;;
DELIMITER ;
/*!50001 DROP VIEW IF EXISTS `names`*/;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`o``neil`@`10.0.0.%` SQL SECURITY DEFINER */
/*!50001 VIEW `names` AS SELECT id AS name FROM item */;
"""


def test_the_accounts_of_a_dump_s_views_and_triggers_exist_and_cannot_log_in(
    tmp_path: Path,
) -> None:
    dump = tmp_path / "a.sql"
    dump.write_text(_DEFINED)
    with started("mariadb") as live:
        asked: list[Asked] = [
            ("text", "INSERT INTO item VALUES (1)", []),
            ("text", "SELECT * FROM names", []),
        ]
        path = workload_of(tmp_path, "mysql", [[one] for one in asked])
        data = data_of(tmp_path, dump, path)
        loaded(live, data)
        first, *_ = printed(live, data).partition("refused")
        locked = live.ask(
            "SELECT COUNT(*) FROM mysql.global_priv WHERE User IN ('app', 'o`neil')"
            " AND JSON_VALUE(Priv, '$.account_locked')"
        )
        assert live.ask("SELECT COUNT(*) FROM log") == ["1"]
    assert "answer 2 1 " in first, "the first insertion succeeds, and the view is asked"
    assert locked == ["2"]


@pytest.mark.parametrize("is_custom", [True, False])
def test_the_roles_of_policies_exist(is_custom: bool, tmp_path: Path) -> None:
    dump = tmp_path / "a.dump"
    with started("postgresql") as live:
        first = live.in_database("first")
        for statement in (
            "CREATE ROLE app",
            'CREATE ROLE "an other"',
            "CREATE TABLE item (id int)",
            "ALTER TABLE item ENABLE ROW LEVEL SECURITY",
            'CREATE POLICY own ON item FOR SELECT TO app, "an other" USING (id > 0)',
        ):
            first.ask(statement)
        kind = ("-Fc",) if is_custom else ()
        program = postgresql_program("pg_dump")
        first.printed((program, *kind, *user_of(first), "-f", str(dump), "first"))
    with started("postgresql") as live:
        workload = workload_of(tmp_path, "postgresql", [[("text", "SELECT 1", [])]])
        loaded(live, data_of(tmp_path, dump, workload))
        roles = live.ask("SELECT count(*) FROM pg_roles WHERE rolname IN ('app', 'an other')")
        assert roles == ["2"]
        assert live.ask("SELECT count(*) FROM pg_policies") == ["1"]


@pytest.mark.parametrize("says_its_name", [True, False])
def test_a_dump_of_mariadb_is_asked_by_the_name_of_its_database(
    says_its_name: bool, tmp_path: Path
) -> None:
    dump = tmp_path / "a.sql"
    name = "a `shop"
    begin = "CREATE DATABASE `a ``shop`;\nUSE `a ``shop`;\n" if says_its_name else ""
    dump.write_text(f"{begin}CREATE TABLE `orders` (`id` int);\n")
    with started("mariadb") as live:
        asked: list[Asked] = [
            ("text", "SELECT * FROM `a ``shop`.orders", []),
            ("text", "SELECT * FROM orders", []),
        ]
        databases = {"other" if says_its_name else name: 2, "third": 1}
        path = workload_of(tmp_path, "mysql", [asked], databases)
        data = data_of(tmp_path, dump, path)
        assert data.asked_database == name
        loaded(live, data)
        there = replace(live, endpoint=replace(live.endpoint, database=name))
        told = PLUGIN.refusals(printed(there, data), data)
    assert told is None


def test_a_dump_of_postgresql_is_asked_in_the_usual_database(tmp_path: Path) -> None:
    dump = tmp_path / "a.sql"
    dump.touch()
    asked: Asked = ("text", "SELECT 1", [])
    data = data_of(tmp_path, dump, workload_of(tmp_path, "postgresql", [[asked]], {"shop": 1}))
    assert data.asked_database is None


@pytest.mark.parametrize("is_custom", [True, False])
@pytest.mark.parametrize(("locale", "told"), [("C.UTF-8", "C.UTF-8"), ("C", None)])
def test_a_locale_that_the_data_does_not_have_any_more_is_told(
    is_custom: bool, locale: str, told: str | None, tmp_path: Path
) -> None:
    dump = tmp_path / "a.dump"
    with started("postgresql") as live:
        live.ask(f"CREATE DATABASE first TEMPLATE template0 LOCALE '{locale}'")
        kind = ("-Fc",) if is_custom else ("--create",)
        program = postgresql_program("pg_dump")
        live.printed((program, *kind, *user_of(live), "-f", str(dump), "first"))
    asked: Asked = ("text", "SELECT 1", [])
    data = data_of(tmp_path, dump, workload_of(tmp_path, "postgresql", [[asked]], {"first": 1}))
    assert data.other_locale == told
