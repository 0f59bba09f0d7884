"""A server logs for a while: what it logged is captured, and its settings are restored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pymysql
import pytest
from pg8000 import dbapi as pg8000

from dbhone.capture import live
from dbhone.capture.capture import CaptureOptions
from dbhone.capture.live import capture_live
from dbhone.capture.servers import mysql
from dbhone.capture.servers.base import (
    Connection,
    NoAnswerError,
    RefusedError,
    load_server,
    parse_address,
)
from dbhone.errors import MachineError, UsageError
from dbhone.home import Home
from tests.capture.pretended import ON, PUT_BACK, REMOVE, Pretended
from tests.capture.test_made_up import address_of
from tests.workload.live import started


class Scripted(Connection):
    """A PostgreSQL that answers what a test says, and nothing to anything else."""

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = answers

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
        for question, answer in self._answers.items():
            if question in sql % tuple(values):
                return [(answer,)]
        return []

    def close(self) -> None:
        """Nothing is open."""


def log_path(answers: dict[str, str]) -> list[str]:
    """Return the files that are read as the log of a server that answers so."""
    asked: list[str] = []

    class Recorder(Scripted):
        def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
            if "pg_read_binary_file" in sql:
                asked.append(str(values[0]))
                return [(b"",)]
            return super().rows(sql, values)

    log = load_server("postgresql").log(Recorder(answers))
    with Path("/dev/null").open("wb") as nowhere:
        log.fetch(nowhere)
    return asked


CLUSTER = {"SHOW log_destination": "stderr", "SHOW logging_collector": "off"}
COLLECTED = {"SHOW log_destination": "stderr,csvlog", "SHOW logging_collector": "on"}


def test_a_collected_log_is_read_where_the_server_says_that_it_is() -> None:
    current = {"pg_current_logfile(csvlog)": "log/pg.csv", "pg_stat_file(log/pg.csv)": "12"}
    assert log_path(COLLECTED | current) == ["log/pg.csv"]


def test_the_log_of_a_cluster_of_debian_s_is_found_by_its_name() -> None:
    path = "/var/log/postgresql/postgresql-15-main.log"
    there = {"SHOW cluster_name": "15/main", f"pg_stat_file({path}": "99"}
    assert log_path(CLUSTER | there) == [path]


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"SHOW cluster_name": "15/main"},
        {"SHOW cluster_name": "shop", "pg_stat_file(": "99"},
        {"SHOW cluster_name": "15/../x", "pg_stat_file(": "99"},
    ],
)
def test_without_a_file_of_the_server_there_is_no_log(answers: dict[str, str]) -> None:
    with pytest.raises(MachineError, match="logging_collector is off") as refused:
        log_path(CLUSTER | answers)
    assert "hone capture FILE" in (refused.value.hint or "")


@pytest.mark.parametrize(("verbosity", "is_changed"), [("terse", True), ("verbose", False)])
def test_a_log_without_parameters_is_made_one_that_has_them(
    verbosity: str, is_changed: bool
) -> None:
    class Set(Scripted):
        def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
            if "FROM pg_settings" in sql:
                return [("log_error_verbosity", verbosity), ("log_line_prefix", "%m [%p] ")]
            return super().rows(sql, values)

    statements = load_server("postgresql").logging_statements(Set({"SHOW lc_messages": "C"}))
    change = "ALTER SYSTEM SET log_error_verbosity = 'default'"
    assert (change in statements.switch_on) is is_changed
    assert ("ALTER SYSTEM RESET log_error_verbosity" in statements.put_back) is is_changed


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me@[::1]:5433/shop",
        "postgresql://me%40corp@db1:5432/a%2Fb",
        "mysql://me@localhost:3306/?socket=/run/a%20b.sock",
    ],
)
def test_an_address_is_written_as_it_was_read(text: str) -> None:
    assert parse_address(text).text == text


def test_a_note_names_the_server_and_what_puts_its_settings_back(
    tmp_path: Path, pretended: Pretended
) -> None:
    written: list[str] = []

    def take(_: float) -> None:
        written.extend(note.read_text() for note in notes(tmp_path))

    captured_of(tmp_path, take)
    note = json.loads(written[0]) | {"hone": 0, "watcher": 0}
    (tmp_path / "home" / "logging" / "a.json").write_text(json.dumps(note))
    ((found,), unreadable) = live.left_on(Home(tmp_path / "home"))
    assert not unreadable
    assert found.address == ADDRESS
    before = len(pretended.asked())
    live.put_back(found, lambda _: None)
    assert pretended.asked()[before:] == [*PUT_BACK, *REMOVE]
    assert not notes(tmp_path)


def test_a_server_that_does_not_listen_there_is_told_without_a_librarys_words() -> None:
    server = load_server("postgresql")
    address = parse_address("postgresql://me@127.0.0.1:1/shop")
    with pytest.raises(MachineError, match=r"Connection refused$") as refused:
        server.connect(address, None)
    assert "where it listens" in (refused.value.hint or "")


ADDRESS = parse_address("mysql://me@db1")


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """Return a server that takes every statement; no watcher waits for one that does not answer."""
    server = Pretended(tmp_path / "asked")
    monkeypatch.setattr(live, "load_server", lambda _: server)
    monkeypatch.setattr(live, "_PATIENCE", 0.0)
    return server


def captured_of(
    folder: Path,
    waiting: Callable[[float], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Capture the pretended server for a moment; its folder must have no note of it then."""
    capture_live(
        Home(folder / "home"),
        ADDRESS,
        0.01,
        folder / "a.workload",
        CaptureOptions(),
        ask=lambda _: None,
        tell=tell,
        waiting=waiting,
    )


def notes(folder: Path) -> list[Path]:
    return list((folder / "home" / "logging").glob("*"))


def test_where_the_log_cannot_be_read_nothing_is_switched_on(
    tmp_path: Path, pretended: Pretended
) -> None:
    pretended.refused |= {"the log", *PUT_BACK}
    with pytest.raises(RefusedError, match="the log"):
        captured_of(tmp_path)
    assert not {*ON, *PUT_BACK} & set(pretended.asked())
    assert not notes(tmp_path)


def test_where_a_setting_may_not_be_changed_the_others_are_put_back_and_no_note_stays(
    tmp_path: Path, pretended: Pretended
) -> None:
    pretended.refused |= {ON[1], PUT_BACK[0]}
    with pytest.raises(RefusedError, match=ON[1]):
        captured_of(tmp_path)
    assert pretended.asked()[-4:] == [*ON, *PUT_BACK]
    assert not notes(tmp_path)


@pytest.mark.parametrize(("error", "tries"), [(RefusedError, 1), (NoAnswerError, 3)])
def test_the_watcher_tries_again_only_where_the_server_does_not_answer(
    pretended: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    error: type[MachineError],
    tries: int,
) -> None:
    tried: list[None] = []

    def connect(*_: object) -> Connection:
        tried.append(None)
        raise error("not now") if len(tried) < 3 else RefusedError("never")

    monkeypatch.setattr(pretended, "connect", connect)
    monkeypatch.setattr(live, "_PATIENCE", 600.0)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(RefusedError):
        live._put_back_patiently(ADDRESS, None, pretended.logging_statements(pretended))
    assert len(tried) == tries


@pytest.mark.parametrize(
    ("protocol", "error", "kind"),
    [
        ("mysql", pymysql.OperationalError(1227, "Access denied"), RefusedError),
        ("mysql", pymysql.OperationalError(2013, "Lost connection"), NoAnswerError),
        ("mysql", pymysql.OperationalError(1040, "Too many connections"), NoAnswerError),
        ("postgresql", pg8000.DatabaseError({"C": "42501", "M": "denied"}), RefusedError),
        ("postgresql", pg8000.DatabaseError({"C": "57P03", "M": "starting up"}), NoAnswerError),
        ("postgresql", pg8000.InterfaceError("network error"), NoAnswerError),
    ],
)
def test_a_refusal_is_no_missing_answer(
    monkeypatch: pytest.MonkeyPatch, protocol: str, error: Exception, kind: type[MachineError]
) -> None:
    def connect(**_: object) -> None:
        raise error

    monkeypatch.setattr("pymysql.connect", connect)
    monkeypatch.setattr("pg8000.dbapi.connect", connect)
    address = parse_address(f"{protocol}://me@db1/shop")
    with pytest.raises(kind):
        load_server(protocol).connect(address, None)


def test_what_was_logged_is_removed_once_it_is_fetched(
    tmp_path: Path, pretended: Pretended
) -> None:
    told: list[str] = []
    captured_of(tmp_path, tell=told.append)
    assert pretended.asked() == ["the log", *ON, *PUT_BACK, "fetch", *REMOVE]
    assert "replicas have it, too" in told


class Lost(BaseException):
    """What ends a capture in its middle."""


def test_what_was_logged_is_removed_also_where_a_capture_is_interrupted(
    tmp_path: Path, pretended: Pretended
) -> None:
    def lose(_: float) -> None:
        raise Lost

    with pytest.raises(Lost):
        captured_of(tmp_path, waiting=lose)
    assert pretended.asked() == ["the log", *ON, *PUT_BACK, *REMOVE]
    assert not notes(tmp_path)


class Tables(Connection):
    """A MySQL whose log is off and empty, and that refuses what a test says."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused
        self.triggers = 0

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
        if any(word in sql for word in self._refused):
            raise RefusedError("denied")
        if "information_schema.TRIGGERS" in sql:
            return [(self.triggers,)]
        variables = {"general_log": "0", "log_output": "FILE"}
        return [(value,) for name, value in variables.items() if sql.endswith(f"GLOBAL.{name}")]

    def close(self) -> None:
        """Nothing is open."""


def test_a_table_is_emptied_only_where_replicas_do_not_get_that() -> None:
    statements = mysql.PLUGIN.logging_statements(Tables())
    assert statements.remove == (
        "SET SESSION sql_log_bin = 0",
        "TRUNCATE TABLE mysql.general_log",
    )
    assert not statements.told
    for refused in ("sql_log_bin", "TRUNCATE"):
        statements = mysql.PLUGIN.logging_statements(Tables(refused))
        assert not statements.remove
        assert "stays in the table" in statements.told[0]


def test_users_are_told_of_triggers_before_a_capture() -> None:
    server = Tables()
    server.triggers = 2
    assert "replayed twice" in mysql.PLUGIN.logging_statements(server).told[0]


@pytest.mark.parametrize(
    "logged", [b"", b"2026-05-04T10:20:30.000000Z\t    8 Connect\tme@db1 on\n"]
)
def test_where_no_client_asks_anything_that_is_told_with_the_server_s_address(
    tmp_path: Path, pretended: Pretended, logged: bytes
) -> None:
    pretended.logged = logged
    with pytest.raises(UsageError, match=r"no client asked mysql://me@db1:3306/ anything in 0 s"):
        captured_of(tmp_path)


def test_a_log_that_a_server_gave_has_the_server_s_address_for_a_name(
    tmp_path: Path, pretended: Pretended
) -> None:
    pretended.logged = b"nothing of it is a log\n"
    with pytest.raises(UsageError, match=r"^mysql://me@db1:3306/ is not a log"):
        captured_of(tmp_path)


def test_a_session_of_mysql_is_not_idle_while_the_server_logs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Cursor:
        def __enter__(self) -> Cursor:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

        def execute(self, sql: str, _: object) -> None:
            asked.append(sql)

        def fetchall(self) -> list[tuple[str]]:
            return [("1",)]

    class Session:
        cursor = Cursor

    monkeypatch.setattr("pymysql.connect", lambda **_: Session())
    log = mysql.PLUGIN.log(mysql.PLUGIN.connect(ADDRESS, None))
    before = len(asked)
    log.look()
    assert len(asked) > before


@pytest.mark.integration
def test_what_clients_ask_meanwhile_is_captured_and_the_settings_are_restored(
    tmp_path: Path,
) -> None:
    settings = "SELECT CONCAT(@@GLOBAL.general_log, @@GLOBAL.log_output)"
    with started("mariadb") as server:
        before = server.ask(settings)

        def ask(_: float) -> None:
            server.ask("SELECT 4711")

        captured = capture_live(
            Home(tmp_path / "home"),
            address_of(server),
            3.0,
            tmp_path / "a.workload",
            CaptureOptions(),
            ask=lambda _: None,
            tell=lambda _: None,
            waiting=ask,
        )
        assert server.ask(settings) == before
    assert ("SELECT ", "") in [each.pieces for each in captured.header.templates]
    assert not list((tmp_path / "home" / "logging").iterdir())


@pytest.mark.integration
def test_a_second_capture_of_a_server_is_refused_while_one_is_under_way(tmp_path: Path) -> None:
    settings = "SELECT CONCAT(@@GLOBAL.general_log, @@GLOBAL.log_output)"
    with started("mariadb") as server:
        before = server.ask(settings)
        refused: list[str] = []

        def capture(name: str, waiting: Callable[[float], None]) -> None:
            capture_live(
                Home(tmp_path / name),
                address_of(server),
                2.0,
                tmp_path / f"{name}.workload",
                CaptureOptions(),
                ask=lambda _: None,
                tell=lambda _: None,
                waiting=waiting,
            )

        def second(_: float) -> None:
            server.ask("SELECT 4711")
            with pytest.raises(MachineError, match="another capture") as error:
                capture("second", lambda _: None)
            refused.append(str(error.value))

        capture("first", second)
        assert refused
        assert server.ask(settings) == before


@pytest.mark.integration
@pytest.mark.parametrize("dbms", ["mariadb", "postgresql"])
def test_a_servers_logging_is_claimed_until_the_connection_ends(dbms: str) -> None:
    with started(dbms) as running:
        address = address_of(running)
        server = load_server(address.protocol)
        with server.connect(address, None) as first:
            assert server.claim(first)
            with server.connect(address, None) as second:
                assert not server.claim(second)
        with server.connect(address, None) as third:
            while not server.claim(third):  # a server may take a moment to end a session
                pass
