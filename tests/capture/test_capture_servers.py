"""Servers that are asked to log: what they are asked for, and what a log of theirs is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pymysql
import pytest
from pg8000 import dbapi as pg8000

from dbhone.capture.servers import mysql
from dbhone.capture.servers.base import (
    Connection,
    NoAnswerError,
    RefusedError,
    load_server,
    parse_address,
)
from dbhone.errors import MachineError, UsageError
from tests.capture.addresses import address_of
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


def test_users_are_told_in_which_file_of_postgresql_the_statements_stay() -> None:
    current = {"pg_current_logfile(csvlog)": "log/pg.csv", "pg_stat_file(log/pg.csv)": "12"}
    (told,) = load_server("postgresql").log(Scripted(COLLECTED | current)).told
    assert "with all values, stays in the server's log, log/pg.csv" in told


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


def test_users_are_told_of_roles_and_databases_that_log_as_they_want() -> None:
    class OfRoles(Scripted):
        def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
            if "pg_db_role_setting" in sql:
                return [
                    ("role app", "log_min_duration_statement", "-1"),
                    ("role app", "search_path", "a"),
                    ("role audit", "log_min_duration_statement", "0"),
                ]
            if "FROM pg_settings" in sql:
                return [("log_min_duration_statement", "-1"), ("log_line_prefix", "%m [%p] ")]
            return super().rows(sql, values)

    server = load_server("postgresql")
    (told,) = server.logging_statements(OfRoles({"SHOW lc_messages": "C"})).told
    assert "warning: role app has a log_min_duration_statement of its own" in told


@pytest.mark.parametrize(
    ("protocol", "error", "hint"),
    [
        ("mysql", pymysql.OperationalError(1227, "Access denied"), "log in as root"),
        ("mysql", pymysql.OperationalError(1105, "prohibits use of GET_LOCK"), ""),
        ("postgresql", pg8000.DatabaseError({"C": "42501", "M": "denied"}), "as a superuser"),
        ("postgresql", pg8000.DatabaseError({"C": "0A000", "M": "not allowed here"}), ""),
    ],
)
def test_rights_are_proposed_only_where_one_is_missing(
    monkeypatch: pytest.MonkeyPatch, protocol: str, error: Exception, hint: str
) -> None:
    def cursor(*_: object) -> None:
        raise error

    session = SimpleNamespace(cursor=cursor)
    monkeypatch.setattr("pymysql.connect", lambda **_: session)
    monkeypatch.setattr("pg8000.dbapi.connect", lambda **_: session)
    connection = load_server(protocol).connect(parse_address(f"{protocol}://me@db1/shop"), None)
    with pytest.raises(RefusedError) as refused:
        connection.rows("SELECT 1")
    assert hint in (refused.value.hint or "")
    assert bool(hint) is bool(refused.value.hint)


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


@pytest.mark.parametrize("query", ["sslmode=verify-full", "sslmode", "socket=/a&connect_timeout=5"])
def test_an_option_of_an_address_that_would_be_ignored_is_refused(query: str) -> None:
    with pytest.raises(UsageError, match=r"has the option '(sslmode|connect_timeout)'") as refused:
        parse_address(f"postgresql://me@db1/shop?{query}")
    assert "?socket=PATH" in (refused.value.hint or "")


def test_a_server_that_does_not_listen_there_is_told_without_a_librarys_words() -> None:
    server = load_server("postgresql")
    address = parse_address("postgresql://me@127.0.0.1:1/shop")
    with pytest.raises(MachineError, match=r"Connection refused$") as refused:
        server.connect(address, None)
    assert "where it listens" in (refused.value.hint or "")


def connected(monkeypatch: pytest.MonkeyPatch, text: str, *refused: str) -> list[str]:
    """Return where a client tries to connect, one after the other; some are refused."""
    tried: list[str] = []

    def connect(**options: object) -> object:
        socket = options.get("unix_sock") or options.get("unix_socket")
        tried.append(str(socket or options["host"]))
        if tried[-1] in refused:
            raise pg8000.DatabaseError({"C": "28000", "M": "Peer authentication failed"})
        return SimpleNamespace(cursor=lambda *_: SimpleNamespace(execute=print, description=None))

    monkeypatch.setattr("pymysql.connect", connect)
    monkeypatch.setattr("pg8000.dbapi.connect", connect)
    monkeypatch.setattr(Path, "is_socket", lambda _: True)
    address = parse_address(text)
    found = load_server(address.protocol).connect(address, None).address
    assert tried[-1] == (found.socket or found.host)
    return tried


def test_the_sockets_of_this_machine_come_before_its_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    socket = "/var/run/postgresql/.s.PGSQL.5433"
    assert connected(monkeypatch, "postgresql://me@localhost:5433/shop") == [socket]
    assert connected(monkeypatch, "postgresql://me@:5433/shop", socket) == [socket, "localhost"]
    assert connected(monkeypatch, "postgresql://me@127.0.0.1/shop") == ["127.0.0.1"]
    assert connected(monkeypatch, "mysql://root@localhost") == ["/run/mysqld/mysqld.sock"]
    assert connected(monkeypatch, "mysql://root@localhost:3307") == ["localhost"]


def test_a_socket_of_postgresql_may_be_named_by_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = f"postgresql://me@localhost/shop?socket={tmp_path}"
    assert connected(monkeypatch, text) == [f"{tmp_path}/.s.PGSQL.5432"]


def test_a_refusal_by_a_socket_is_told_though_the_librarys_goodbye_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def connect(**_: object) -> None:
        try:
            raise pg8000.DatabaseError({"C": "28000", "M": "Peer authentication failed"})
        except pg8000.DatabaseError:
            try:
                raise BrokenPipeError("Broken pipe")
            except OSError as error:
                raise pg8000.InterfaceError("network error") from error

    monkeypatch.setattr("pg8000.dbapi.connect", connect)
    address = parse_address("postgresql://me@localhost/shop?socket=/run/a/.s.PGSQL.5432")
    with pytest.raises(RefusedError, match="Peer authentication failed"):
        load_server("postgresql").connect(address, None)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("postgresql://postgres@localhost/shop", "sudo -u postgres hone capture"),
        ("postgresql://postgres@db1/shop", ""),
    ],
)
def test_who_is_not_let_in_on_this_machine_is_told_of_its_users_and_sockets(
    monkeypatch: pytest.MonkeyPatch, text: str, hint: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        connected(monkeypatch, text, "/var/run/postgresql/.s.PGSQL.5432", "localhost", "db1")
    assert hint in (refused.value.hint or "")
    assert ("?socket=PATH" in (refused.value.hint or "")) is bool(hint)


@pytest.mark.parametrize(
    ("protocol", "error", "kind"),
    [
        ("mysql", pymysql.OperationalError(1227, "Access denied"), RefusedError),
        ("mysql", pymysql.OperationalError(2013, "Lost connection"), NoAnswerError),
        ("mysql", pymysql.OperationalError(1040, "Too many connections"), NoAnswerError),
        ("postgresql", pg8000.DatabaseError({"C": "42501", "M": "denied"}), RefusedError),
        ("postgresql", pg8000.DatabaseError({"C": "57P03", "M": "starting up"}), NoAnswerError),
        ("postgresql", pg8000.InterfaceError("network error"), NoAnswerError),
        (
            "postgresql",
            pg8000.InterfaceError(
                "server requesting password authentication, but no password was provided"
            ),
            RefusedError,
        ),
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


@pytest.mark.parametrize(
    ("line", "password"),
    [
        (rb"db1:5432:shop:me:se\:cr\\et", r"se:cr\et"),
        (b"*:*:*:*:se:cret", "se:cret"),
        (rb"d\b1:*:sh\\op:me:no" + b"\n" + rb"*:*:s\hop:*:yes", "yes"),
        (b"# caf\xe9\n*:*:shop:me:secret", "secret"),
        (b"*:*:shop:me:secret\r\n", "secret"),
        (b"*:*:shop:other:secret", None),
    ],
)
def test_a_password_file_is_read_as_the_servers_own_clients_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, password: str | None
) -> None:
    file = tmp_path / "pgpass"
    file.write_bytes(line)
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address = parse_address("postgresql://me@db1/shop")
    assert load_server("postgresql").password(address) == password


@pytest.mark.parametrize(
    ("answers", "prefix"),
    [
        ({"SHOW log_destination": "csvlog", "pg_current_logfile(csvlog)": "a.csv"}, None),
        ({"SHOW log_destination": "stderr", "pg_current_logfile(stderr)": "a.log"}, "%m [%p] "),
    ],
)
def test_only_a_log_to_stderr_has_a_line_prefix(
    answers: dict[str, str], prefix: str | None
) -> None:
    settings = {"SHOW logging_collector": "on", "SHOW log_line_prefix": "%m [%p] "}
    log = load_server("postgresql").log(Scripted(settings | answers | {"pg_stat_file(": "0"}))
    assert log.line_prefix == prefix


class Tables(Connection):
    """A MySQL whose log is off and empty, and that refuses what a test says."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused
        self.triggers = 0
        self.slow_log = "0"

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Sequence[object]]:
        if any(word in sql for word in self._refused):
            raise RefusedError("denied")
        if "information_schema.TRIGGERS" in sql:
            return [(self.triggers,)]
        variables = {"general_log": "0", "log_output": "FILE", "slow_query_log": self.slow_log}
        variables["general_log_file"] = "db1.log"
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


def test_no_file_of_the_server_gets_the_statements_unless_another_log_is_written_to_files() -> None:
    server = Tables()
    statements = mysql.PLUGIN.logging_statements(server)
    assert statements.switch_on[0] == "SET GLOBAL log_output = 'TABLE'"
    assert statements.put_back[-1] == "SET GLOBAL log_output = 'FILE'"
    server.slow_log = "1"
    statements = mysql.PLUGIN.logging_statements(server)
    assert statements.switch_on[0] == "SET GLOBAL log_output = 'FILE,TABLE'"
    assert "stays in a file on the server, too: db1.log" in statements.told[0]


def test_users_are_told_of_triggers_before_a_capture() -> None:
    server = Tables()
    server.triggers = 2
    assert "replayed twice" in mysql.PLUGIN.logging_statements(server).told[0]


def test_a_session_of_mysql_is_not_idle_while_the_server_logs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Cursor:
        def __init__(self, _: object) -> None:
            self.rows = [("1",)]

        def __enter__(self) -> Cursor:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

        def execute(self, sql: str, _: object) -> None:
            asked.append(sql)

        def fetchone(self) -> tuple[str] | None:
            return self.rows.pop() if self.rows else None

    class Session:
        cursor = Cursor

    monkeypatch.setattr("pymysql.connect", lambda **_: Session())
    log = mysql.PLUGIN.log(mysql.PLUGIN.connect(parse_address("mysql://me@db1"), None))
    before = len(asked)
    log.look()
    assert len(asked) > before


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
