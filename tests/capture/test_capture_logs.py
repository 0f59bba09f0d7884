"""Capturing: what is in the workload file is what the server logged, and nothing is lost unsaid."""

from __future__ import annotations

import gzip
import re
import secrets
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.capture.capture import Captured, CaptureOptions, capture
from dbhone.capture.logs.base import Clock
from dbhone.capture.logs.postgresql_stderr import prefix_pattern
from dbhone.capture.sessions import CANCELED, OTHER_DATABASE, TOO_LARGE
from dbhone.capture.sql import DUMP, MYSQL, OF_ROUTINE, POSTGRESQL
from dbhone.errors import UsageError
from dbhone.workload.workload_file import read_header, read_transactions
from tests.capture import written_logs
from tests.capture.written_logs import GOLDEN, Asked, Line

Sessions = list[list[list[Asked]]]


def captured(folder: Path, *logs: str | bytes, **options: object) -> tuple[Captured, Sessions]:
    """Capture logs; return what is said of it, and the sessions that the file has."""
    paths = []
    for at, log in enumerate(logs):
        path = folder / f"{at}.log"
        path.write_bytes(log.encode("utf-8", "surrogateescape") if isinstance(log, str) else log)
        paths.append(path)
    file = folder / "a.workload"
    found = capture(paths, file, CaptureOptions(**options))  # type: ignore[arg-type]
    return found, sessions_in(file)


def sessions_in(file: Path) -> Sessions:
    """Return the sessions of a workload file, by the order in which they began."""
    header = read_header(file)
    sessions: dict[int, list[list[Asked]]] = {}
    for transaction in read_transactions(file, header):
        own = []
        for one in transaction.statements:
            template = header.templates[one.template]
            sql, parameters = template.statement(one.values)
            bound = tuple(parameters) if template.kind != "text" else None
            own.append(Asked(sql, bound, one.microseconds or 0))
        sessions.setdefault(transaction.session, []).append(own)
    return [sessions[number] for number in sorted(sessions)]


def _in_order(sessions: Sessions, lines: list[Line]) -> Sessions:
    order = list(dict.fromkeys(line.session for line in lines))
    return [sessions[number] for number in order]


def _untimed(sessions: Sessions) -> Sessions:
    return [[[Asked(a.sql, a.parameters, 0) for a in tx] for tx in own] for own in sessions]


@pytest.mark.parametrize(
    ("write", "protocol"),
    [
        (written_logs.postgresql_stderr, "postgresql"),
        (written_logs.postgresql_csv, "postgresql"),
        (written_logs.postgresql_json, "postgresql"),
        (written_logs.mysql_slow, "mysql"),
        (written_logs.mysql_general, "mysql"),
    ],
)
@given(data=st.data())
def test_sessions_come_back_from_the_log_that_a_server_writes_of_them(
    tmp_path_factory: pytest.TempPathFactory,
    write: Callable[[list[Line]], str],
    protocol: str,
    data: st.DataObject,
) -> None:
    sessions = data.draw(written_logs.sessions(protocol))
    lines = data.draw(written_logs.mixed(sessions))
    log = write(lines)
    found, back = captured(tmp_path_factory.mktemp("log"), log)
    expected = _in_order(sessions, lines)
    if write is written_logs.mysql_general:
        expected = _untimed(expected)
    assert back == expected
    assert found.header.unread.lines == 0
    assert found.header.left_out == {}
    assert found.header.statements == len(lines)


def _whole(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


def test_the_three_logs_of_one_postgresql_hold_the_same(tmp_path: Path) -> None:
    names = ("postgresql-15-stderr.log", "postgresql-15-csvlog.csv", "postgresql-15-jsonlog.json")
    results = [captured(tmp_path, _whole(name)) for name in names]
    assert results[0][1] == results[1][1] == results[2][1]
    for found, sessions in results:
        assert len(sessions) == 10
        header = found.header
        assert header.databases == {"shop": 107}
        assert sum(template.errors for template in header.templates) == 5
        assert sum(header.left_out.values()) == 4
        assert header.unread.lines == 0
        odd = [one.sql for own in sessions[-1] for one in own]
        assert "select  * from odd where name = 'it''s' \n and id = 1;" in odd
        assert "update odd set note = 'multi\nline\twith tab' where id = 2;" in odd
        assert odd[-1] == "ROLLBACK"  # the client left in a transaction


def test_prepared_statements_of_postgresql_have_their_parameters(tmp_path: Path) -> None:
    _, sessions = captured(tmp_path, _whole("postgresql-15-csvlog.csv"))
    bound = [a for own in sessions for tx in own for a in tx if a.parameters]
    assert len(bound) == 2 * 2 * 2 * 5
    assert all(f"${len(one.parameters or ())}" in one.sql for one in bound)


def test_both_logs_of_one_mariadb_hold_the_same(tmp_path: Path) -> None:
    general, slow = (
        captured(tmp_path, _whole(f"mariadb-10.11-{name}.log")) for name in ("general", "slow")
    )
    assert sorted(map(str, _untimed(general[1]))) == sorted(map(str, _untimed(slow[1])))
    assert not general[0].header.timed
    assert slow[0].header.timed
    assert general[0].header.unread.lines == slow[0].header.unread.lines == 0
    # autocommit is off in pymysql's sessions: what they begin is told
    assert [
        "BEGIN",
        "insert into odd values (1,'it\\'s','a\\\\b \\'q\\' \\\"d\\\"')",
        "COMMIT",
    ] in [[one.sql for one in own] for session in general[1] for own in session]


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (
            "2026-05-04T10:20:30.000000Z\t    1 Execute\tUPDATE `why?` SET a = ? WHERE b = ?\n"
            "2026-05-04T10:20:31.000000Z\t    1 Query\tSELECT '?' FROM `why?`\n",
            MYSQL.no_values,
        ),
        (
            "2026-05-04 10:20:30.000 UTC [1] LOG:  execute s1: UPDATE a SET b = $1\n"
            "2026-05-04 10:20:31.000 UTC [1] LOG:  statement: SELECT '$1', \"$1\" FROM a\n",
            POSTGRESQL.no_values,
        ),
    ],
)
def test_what_was_executed_without_its_values_is_left_out_and_counted(
    tmp_path: Path, log: str, why: str
) -> None:
    found, sessions = captured(tmp_path, log)
    assert found.header.left_out == {why: 1}
    assert [[len(tx) for tx in own] for own in sessions] == [[1]]


@pytest.mark.parametrize(
    ("sql", "is_inner"),
    [
        ("SELECT MAX(a) FROM t WHERE a <  NAME_CONST('x',9)", True),
        ("insert into l values (new.id, NEW.`a b`)", True),
        ("UPDATE l SET a = OLD.a", True),
        ("select count(*) into v from t", True),
        ("CALL p(5, 'NAME_CONST(1) and new.x')", False),
        ("INSERT INTO t VALUES (1) AS new ON DUPLICATE KEY UPDATE a = new.a", False),
        ("INSERT INTO t SELECT * FROM old.t", False),
        ("SELECT old.t.a FROM old.t", False),
        ("SELECT a INTO @v FROM t", False),
        ("SELECT '; old.x'", False),
    ],
)
def test_what_a_routine_or_a_trigger_executed_is_left_out_since_its_caller_is_replayed(
    tmp_path: Path, sql: str, is_inner: bool
) -> None:
    log = written_logs.mysql_general([Line(0, 1, Asked(each, None, 0)) for each in ("DO 1", sql)])
    found, sessions = captured(tmp_path, log)
    assert found.header.left_out == ({OF_ROUTINE: 1} if is_inner else {})
    assert (sql in [one.sql for own in sessions for tx in own for one in tx]) is not is_inner


def test_a_statement_that_mariadb_s_slow_log_ascribes_to_a_routine_is_left_out(
    tmp_path: Path,
) -> None:
    asked = [Line(at, 1, Asked(sql, None, 1)) for at, sql in enumerate(("DO 1", "CALL p()"))]
    log = written_logs.mysql_slow(asked)
    marked = log.replace("SET timestamp", "# Stored_routine: shop.p\nSET timestamp", 1)
    found, sessions = captured(tmp_path, marked)
    assert found.header.left_out == {OF_ROUTINE: 1}
    assert [[[one.sql for one in tx] for tx in own] for own in sessions] == [[["CALL p()"]]]


def test_what_a_dump_reads_is_left_out_and_counted(tmp_path: Path) -> None:
    dump = (
        "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`",
        "SELECT /*!40001 SQL_NO_CACHE */ `a` FROM `u`",
    )
    lines = [
        *(Line(at, 1, Asked(sql, None, 9)) for at, sql in enumerate(dump)),
        Line(5, 2, Asked("SELECT SQL_NO_CACHE a FROM t", None, 9)),
    ]
    found, sessions = captured(tmp_path, written_logs.mysql_general(lines))
    assert found.header.left_out == {DUMP: 2}
    assert [[[one.sql for one in tx] for tx in own] for own in sessions] == [
        [["SELECT SQL_NO_CACHE a FROM t"]]
    ]


def _asked(*texts: str) -> list[Line]:
    """Return statements of one session."""
    return [Line(at, 1, Asked(sql, None, 0)) for at, sql in enumerate(texts)]


def test_a_session_that_turns_autocommit_off_and_on_has_the_transactions_that_it_had(
    tmp_path: Path,
) -> None:
    texts = (
        *("SET autocommit=1", "SELECT 1", "SET autocommit=0", "SELECT 2", "SELECT 3", "COMMIT"),
        *("ROLLBACK", "SELECT 4", "SET autocommit=1", "SELECT 5", "SELECT 6"),
    )
    found, sessions = captured(tmp_path, written_logs.mysql_general(_asked(*texts)))
    assert _texts(sessions) == [
        [
            ["SELECT 1"],
            ["BEGIN", "SELECT 2", "SELECT 3", "COMMIT"],
            ["BEGIN", "SELECT 4", "COMMIT"],
            ["SELECT 5"],
            ["SELECT 6"],
        ]
    ]
    counts = {one.pieces: one.executions for one in found.header.templates}
    assert counts.get(("ROLLBACK",), 0) == 0


@pytest.mark.parametrize(
    ("texts", "transactions"),
    [
        (  # the first commit may end what began before the log
            ("SELECT 1", "COMMIT", "SELECT 2", "COMMIT", "SELECT 3", "SELECT 4", "COMMIT"),
            [["SELECT 1"], ["SELECT 2"], ["BEGIN", "SELECT 3", "SELECT 4", "COMMIT"]],
        ),
        (
            ("SELECT 1", "COMMIT", "SELECT 2", "SELECT 3", "BEGIN", "SELECT 4", "COMMIT", "COMMIT"),
            [["SELECT 1"], ["SELECT 2"], ["SELECT 3"], ["BEGIN", "SELECT 4", "COMMIT"]],
        ),
        (
            ("SELECT 1", "ROLLBACK", "SELECT 2", "ROLLBACK", "SELECT 3", "SELECT 4", "ROLLBACK"),
            [["SELECT 1"], ["SELECT 2"], ["SELECT 3"], ["SELECT 4"]],
        ),
    ],
)
def test_a_session_that_commits_what_it_did_not_begin_has_autocommit_off(
    tmp_path: Path, texts: tuple[str, ...], transactions: list[list[str]]
) -> None:
    _, sessions = captured(tmp_path, written_logs.mysql_general(_asked(*texts)))
    assert _texts(sessions) == [transactions]


def test_a_definition_ends_the_transaction_that_is_open_where_the_server_commits_before_it(
    tmp_path: Path,
) -> None:
    texts = ("BEGIN", "SELECT 1", "CREATE TABLE a (b int)", "SELECT 2")
    _, sessions = captured(tmp_path, written_logs.mysql_general(_asked(*texts)))
    assert _texts(sessions) == [[["BEGIN", "SELECT 1", "COMMIT"], ["SELECT 2"]]]


def test_what_hone_adds_to_a_log_of_very_many_templates_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.capture.templates._MOST", 2)
    texts = ("BEGIN", "SELECT a", "SELECT b", "SELECT c")
    log = written_logs.mysql_general(_asked(*texts)) + "\t\t     4 Quit\t\n"
    _, sessions = captured(tmp_path, log)
    assert _texts(sessions) == [[[*texts, "ROLLBACK"]]]


def _texts(sessions: Sessions) -> list[list[list[str]]]:
    return [[[one.sql for one in tx] for tx in own] for own in sessions]


TWO_SESSIONS = [[["BEGIN", "UPDATE t SET a = 1", "ROLLBACK"]], [["SELECT 1"]]]


@pytest.mark.parametrize("write", [written_logs.mysql_slow, written_logs.mysql_general])
def test_a_server_that_began_again_has_other_sessions_by_the_same_numbers(
    tmp_path: Path, write: Callable[[list[Line]], str]
) -> None:
    log = write(_asked("BEGIN", "UPDATE t SET a = 1")) + write(_asked("SELECT 1"))
    found, sessions = captured(tmp_path, log)
    assert _texts(sessions) == TWO_SESSIONS
    assert found.header.unread.lines == 0


@pytest.mark.parametrize("write", [written_logs.mysql_slow, written_logs.mysql_general])
def test_sessions_go_on_in_the_next_file_of_a_log(
    tmp_path: Path, write: Callable[[list[Line]], str]
) -> None:
    logs = (write(_asked("BEGIN", "UPDATE t SET a = 1")), write(_asked("COMMIT")))
    _, sessions = captured(tmp_path, *logs)
    assert _texts(sessions) == [[["BEGIN", "UPDATE t SET a = 1", "COMMIT"]]]


@pytest.mark.parametrize(
    "command",
    ["Connect\tme@db1 on shop", "Change user\tme@db1 on", "Reset connection", "Reset Connection\t"],
)
def test_a_connection_that_is_reset_begins_another_session(tmp_path: Path, command: str) -> None:
    before = written_logs.mysql_general(_asked("BEGIN", "UPDATE t SET a = 1"))
    _, sessions = captured(tmp_path, f"{before}\t\t     4 {command}\n\t\t     4 Query\tSELECT 1\n")
    assert _texts(sessions) == TWO_SESSIONS


def test_a_connection_that_is_reset_begins_another_session_in_the_slow_log_too(
    tmp_path: Path,
) -> None:
    log = written_logs.mysql_slow(_asked("BEGIN", "UPDATE t SET a = 1", "DO 4711", "SELECT 1"))
    log = log.replace("DO 4711", "# administrator command: Reset connection")
    _, sessions = captured(tmp_path, log)
    assert _texts(sessions) == TWO_SESSIONS


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
@given(cut=st.floats(0.7, 0.99), start=st.floats(0, 0.5))
def test_of_a_log_cut_anywhere_what_is_whole_is_read_and_the_rest_is_counted(
    tmp_path_factory: pytest.TempPathFactory, name: str, cut: float, start: float
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    log = (GOLDEN / name).read_bytes()
    whole, _ = captured(folder, log)
    try:
        part, _ = captured(folder, log[int(len(log) * start) : int(len(log) * cut)])
    except UsageError as error:
        assert "no " in error.message
        return
    header = part.header
    assert header.statements <= whole.header.statements
    assert header.unread.lines <= 40
    if header.unread.lines:
        assert header.unread.first[0].text


def test_lines_that_are_no_log_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    lines = _whole("postgresql-15-csvlog.csv").splitlines()
    lines.insert(20, "garbage \0 one")
    lines.insert(40, '2026-11-24 21:44:32.123 UTC,"cut')
    found, _ = captured(tmp_path, "\n".join(lines) + "\n")
    assert found.header.unread.lines == 2
    assert [line.line for line in found.header.unread.first] == [21, 41]
    assert found.header.unread.first[0].text == "garbage \0 one"
    assert found.header.statements == 106


POSTGRESQL_LOGS = (
    written_logs.postgresql_stderr,
    written_logs.postgresql_csv,
    written_logs.postgresql_json,
)
GENERAL = "{}\t    4 Query\tSELECT 1\n{}\t    4 Query\tSELECT 2\n"


def minutes_between(folder: Path, log: str) -> float:
    """Return how long after the first transaction of a log the second one began."""
    captured(folder, log)
    file = folder / "a.workload"
    first, second = (each.began for each in read_transactions(file, read_header(file)))
    return (second - first) / 60e6


def _timed(write: Callable[[list[Line]], str], first: str, second: str) -> str:
    asked = [Line(at, 1, Asked(f"SELECT {at}", None, 0)) for at in (0, 2000)]
    log = write(asked)
    assert "2026-05-04 10:20:32.000 UTC" in log
    log = log.replace("2026-05-04 10:20:30.000 UTC", first)
    return log.replace("2026-05-04 10:20:32.000 UTC", second)


@pytest.mark.parametrize("write", POSTGRESQL_LOGS)
@pytest.mark.parametrize(
    ("zones", "minutes"),
    [(("+02", "+01"), 20), (("-0230", "-0330"), 20), (("CEST", "CET"), 20), (("GMT", "GMT"), -40)],
)
def test_the_times_of_postgresql_go_on_when_daylight_saving_time_ends(
    tmp_path: Path, write: Callable[[list[Line]], str], zones: tuple[str, str], minutes: int
) -> None:
    first, second = (
        f"2026-10-25 {time}:00.000 {zone}"
        for time, zone in zip(("02:50", "02:10"), zones, strict=True)
    )
    assert minutes_between(tmp_path, _timed(write, first, second)) == minutes


def test_a_prefix_without_milliseconds_has_a_zone_too(tmp_path: Path) -> None:
    stamp = "2026-10-25 02:{}:00 {}:10.0.0.{}(5432):me@shop:[7]:LOG:  statement: SELECT 1\n"
    log = stamp.format("50", "CEST", 1) + stamp.format("10", "CET", 2)
    assert minutes_between(tmp_path, log) == 20


@pytest.mark.parametrize(
    ("first", "second", "minutes"),
    [
        ("2026-10-25T02:50:00.000000+02:00", "2026-10-25T02:10:00.000000+01:00", 20),
        ("2026-10-25T02:50:00.000000Z", "2026-10-25T02:51:30.000000Z", 1.5),
        ("261025  2:50:00", "261025  2:10:00", 20),
        ("261025  2:50:00", "261025  2:49:57", -0.05),
        ("261025  2:50:00", "261024  2:49:00", -24 * 60 - 1),
    ],
)
def test_the_times_of_mysql_go_on_when_daylight_saving_time_ends(
    tmp_path: Path, first: str, second: str, minutes: float
) -> None:
    assert minutes_between(tmp_path, GENERAL.format(first, second)) == pytest.approx(minutes)


def test_lines_of_sessions_that_write_at_the_same_time_may_change_places() -> None:
    clock = Clock()
    times = [("02:59:59", "CEST"), ("02:00:00", "CET"), ("02:59:59", "CEST"), ("02:00:01", "CET")]
    first, *others = [clock.second(f"2026-10-25 {time}", zone) for time, zone in times]
    assert [(each - first) / 1e6 for each in others] == [1, 0, 2]


def test_bytes_that_are_no_utf8_come_back(tmp_path: Path) -> None:
    log = written_logs.mysql_general([Line(0, 1, Asked("SELECT 'caf\udce9 \udcff'", None, 0))])
    _, sessions = captured(tmp_path, log)
    assert sessions[0][0][0].sql == "SELECT 'caf\udce9 \udcff'"


def test_a_log_may_be_packed_and_in_parts(tmp_path: Path) -> None:
    log = (GOLDEN / "mariadb-10.11-slow.log").read_bytes()
    half = log.index(b"\n# User@Host", len(log) // 2) + 1
    whole = captured(tmp_path, log)[1]
    assert captured(tmp_path, gzip.compress(log[:half]), log[half:])[1] == whole


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("", "is empty"),
        ("root:x:0:0:root:/root:/bin/bash\n", "is not a log that hone can read"),
        ("2026-11-24 21:38:45.160 UTC [1] LOG:  Anweisung: SELECT 1\n", "no statement to replay"),
        (
            "<7> x 21:38 LOG:  statement: SELECT 1\n",
            "log_line_prefix of this log was not recognised",
        ),
        (
            "Nov 29 17:02:34 db1 postgres[123]: [5-1] 2026-11-29 17:02:34.160 UTC [123] LOG: "
            " statement: SELECT a\nNov 29 17:02:34 db1 postgres[123]: [5-2] #011FROM t\n",
            "a log by syslog",
        ),
    ],
)
def test_a_log_that_cannot_be_read_is_told(tmp_path: Path, log: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        captured(tmp_path, log)
    assert not (tmp_path / "a.workload").exists()


def test_statements_for_whose_templates_there_is_no_room_are_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.capture.templates._MOST", 1)
    asked = ["SELECT 1", "SELECT a FROM b WHERE c = 2", "SELECT d FROM e WHERE f = 3 AND g = 4"]
    stamp = "2026-05-04 10:20:30.000 UTC [1] LOG:  statement: "
    _, sessions = captured(tmp_path, "".join(f"{stamp}{sql}\n" for sql in asked))
    assert [one.sql for session in sessions for own in session for one in own] == asked


def test_a_line_of_the_file_has_so_many_statements_that_it_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.capture.sessions._LARGE", 100)
    monkeypatch.setattr("dbhone.capture.sessions.LONGEST_LINE", 500)
    small = [f"SELECT '{at}{'x' * 60}'" for at in range(3)]
    texts = (*small, "SELECT 1", f"SELECT '{'x' * 600}'", "SELECT 2")
    found, sessions = captured(tmp_path, written_logs.mysql_general(_asked(*texts)))
    assert _texts(sessions) == [[[sql] for sql in (*small, "SELECT 1", "SELECT 2")]]
    assert found.header.left_out == {TOO_LARGE: 1}
    assert found.header.statements == 5
    with zipfile.ZipFile(tmp_path / "a.workload") as file:
        assert len(file.read("transactions.jsonl").splitlines()) == 4


def test_templates_that_are_too_long_for_a_header_are_kept_as_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.capture.templates._MOST_BYTES", 100)
    texts = ["SELECT 1", f"SELECT {'a, ' * 99}1", "SELECT b FROM c WHERE d = 2"]
    found, sessions = captured(tmp_path, written_logs.mysql_general(_asked(*texts)))
    assert _texts(sessions) == [[[sql] for sql in texts]]
    assert len(found.header.templates) == 3
    assert max(len(one.text) for one in found.header.templates) < 100


def test_an_error_belongs_to_no_statement_that_has_succeeded(tmp_path: Path) -> None:
    moment = "2026-05-04 10:20:30.000 UTC [1] "
    log = (
        f"{moment}LOG:  duration: 1.5 ms  statement: INSERT INTO a VALUES (1)\n"
        f"{moment}ERROR:  duplicate key\n{moment}STATEMENT:  INSERT INTO a VALUES (2)\n"
        f"{moment}FATAL:  terminating connection\n"
    )
    found, sessions = captured(tmp_path, log)
    (template,) = found.header.templates
    assert (template.executions, template.errors) == (2, 1)
    assert [one.sql for session in sessions for own in session for one in own] == [
        "INSERT INTO a VALUES (1)",
        "INSERT INTO a VALUES (2)",
    ]


@pytest.mark.parametrize(
    "texts",
    [
        ("BEGIN", *["SELECT 1"] * 10_001, "COMMIT"),
        ("BEGIN", *["SELECT 1"] * 10_002, "COMMIT"),
        ("COMMIT",),
    ],
)
@pytest.mark.parametrize(
    "later", ["LOG:  duration: 1.000 ms", "ERROR:  it failed\n{moment}STATEMENT:  {sql}"]
)
def test_what_comes_of_a_statement_that_is_left_out_is_not_counted(
    tmp_path: Path, texts: tuple[str, ...], later: str
) -> None:
    moment = "2026-05-04 10:20:30.000 UTC [1] "
    asked = "".join(
        f"{moment}LOG:  statement: {sql}\n{moment}{later.format(moment=moment, sql=sql)}\n"
        for sql in (*texts, "SELECT 1", "BEGIN", "SELECT 1", "COMMIT")
    )
    found, sessions = captured(tmp_path, asked)
    kept = [one for session in sessions for own in session for one in own]
    assert [one.sql for one in kept] == ["SELECT 1", "BEGIN", "SELECT 1", "COMMIT"]
    counted = {each.text: each for each in found.header.templates if each.executions}
    assert sum(each.executions for each in counted.values()) == len(kept)
    took = sum(each.microseconds for each in found.header.templates)
    errors = sum(each.errors for each in found.header.templates)
    assert (took, errors) == ((4_000, 0) if "duration" in later else (0, 4))
    assert sum(found.header.left_out.values()) == len(texts)


_AT = "2026-05-04 10:20:30.000 UTC"
_JSON = f'{{"timestamp":"{_AT}","session_id":"a.1","error_severity":'
_CANCELED = "canceling statement due to statement timeout"


@pytest.mark.parametrize(
    "log",
    [
        f"{_AT} [1] LOG:  duration: 1.5 ms  statement: SELECT 1\n"
        f"{_AT} [1] ERROR:  {_CANCELED}\n{_AT} [1] STATEMENT:  SELECT pg_relation_size(2)\n",
        f"{_AT} [1] LOG:  statement: SELECT 1\n{_AT} [1] LOG:  statement: SELECT f(2)\n"
        f"{_AT} [1] ERROR:  57014: {_CANCELED}\n{_AT} [1] STATEMENT:  SELECT f(2)\n",
        f'{_JSON}"LOG","message":"duration: 1.5 ms  statement: SELECT 1"}}\n'
        f'{_JSON}"ERROR","message":"{_CANCELED}","statement":"SELECT f(2)"}}\n',
        f'{_AT},"me","shop",1,"[local]",a.1,3,"SELECT",{_AT},3/0,0,LOG,00000,'
        '"duration: 1.5 ms  statement: SELECT 1",,,,,,,,,"psql","client backend",,0\n'
        f'{_AT},"me","shop",1,"[local]",a.1,3,"SELECT",{_AT},3/0,0,ERROR,57014,'
        f'"{_CANCELED}",,,,,,"SELECT f(2)",,,"psql","client backend",,0\n',
    ],
)
def test_a_statement_that_the_server_canceled_is_left_out_and_counted(
    tmp_path: Path, log: str
) -> None:
    found, sessions = captured(tmp_path, log)
    assert _texts(sessions) == [[["SELECT 1"]]]
    assert found.header.left_out == {CANCELED: 1}
    assert sum(one.executions for one in found.header.templates) == 1


def test_of_a_transaction_in_which_a_statement_was_canceled_the_others_stay(tmp_path: Path) -> None:
    asked = ("BEGIN", "UPDATE a SET b = 1", "SELECT f(2)")
    log = "".join(f"{_AT} [1] LOG:  statement: {one}\n" for one in asked)
    log += f"{_AT} [1] ERROR:  {_CANCELED}\n{_AT} [1] STATEMENT:  SELECT f(2)\n"
    log += f"{_AT} [1] LOG:  statement: ROLLBACK\n"
    found, sessions = captured(tmp_path, log)
    assert _texts(sessions) == [[["BEGIN", "UPDATE a SET b = 1", "ROLLBACK"]]]
    assert found.header.left_out == {CANCELED: 1}
    assert sum(one.executions for one in found.header.templates) == found.header.statements == 3


def test_a_verbose_log_holds_the_same(tmp_path: Path) -> None:
    moment = "2026-05-04 10:20:30.000 UTC [1] "
    log = (
        f"{moment}LOG:  00000: duration: 1.5 ms  execute <unnamed>: SELECT $1\n"
        f"{moment}DETAIL:  parameters: $1 = '7'\n"
        f"{moment}LOCATION:  exec_execute_message, postgres.c:2311\n"
        f'{moment}ERROR:  42P01: relation "b" does not exist\n'
        f"{moment}LOCATION:  parserOpenTable, parse_relation.c:1392\n"
        f"{moment}STATEMENT:  SELECT a FROM b\n"
    )
    found, sessions = captured(tmp_path, log)
    asked = [one for own in sessions for tx in own for one in tx]
    assert asked == [Asked("SELECT $1", ("7",), 1500), Asked("SELECT a FROM b", None, 0)]
    assert [template.errors for template in found.header.templates] == [0, 1]
    assert found.header.unread.lines == 0


def test_another_prefix_can_be_given(tmp_path: Path) -> None:
    log = "<7>  x 21:38 LOG:  statement: SELECT 1\n<8>  x 21:38 LOG:  statement: SELECT 2\n"
    _, sessions = captured(tmp_path, log, line_prefix="<%p> %5q x 21:38 ")
    assert [[[one.sql for one in own] for own in session] for session in sessions] == [
        [["SELECT 1"]],
        [["SELECT 2"]],
    ]
    with pytest.raises(UsageError, match="does not identify sessions"):
        captured(tmp_path, log, line_prefix="%m ")


@pytest.mark.parametrize(
    ("prefix", "written"),
    [
        (
            "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
            "[7]: [1-1] user=me,db=shop,app=puma: cluster worker 0: 41 [shop],client=10.0.0.1 ",
        ),
        ("%t [%p] %d %u %a %h ", "[7] shop me sidekiq 7.1 shop [0 of 5 busy] [local] "),
        ("%t [%p] %q%u@%d ", "[7] me@corp@shop "),
        ("%t [%p] %q[%u@%d/%a] ", "[7] [me@shop/a, b] "),
    ],
)
def test_names_in_a_prefix_that_is_given_may_have_any_characters(
    tmp_path: Path, prefix: str, written: str
) -> None:
    line = f"2026-05-04 10:20:30 UTC {written}LOG:  statement: SELECT 'x@y LOG:  z'\n"
    found, (session,) = captured(tmp_path, line, line_prefix=prefix)
    assert [[one.sql for one in own] for own in session] == [["SELECT 'x@y LOG:  z'"]]
    assert found.header.databases == {"shop": 1}


def test_a_line_that_does_not_fit_a_prefix_with_names_takes_no_time() -> None:
    pattern = prefix_pattern("%t [%p] %u %d %a ", any_names=True)
    line = "2026-05-04 10:20:30 UTC [7] " + "a b " * 250_000
    began = time.process_time()
    assert re.match(f"{pattern}LOG:  ", line) is None
    assert time.process_time() - began < 2


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_an_anonymous_workload_holds_no_value_of_the_original(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By another key a number may by chance stand for what another one was.
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    _, plain = captured(tmp_path, _whole(name) + "secret 4711 in an unread line\n")
    header = read_header(tmp_path / "a.workload")
    values = {
        value.strip("'\"")
        for transaction in read_transactions(tmp_path / "a.workload", header)
        for one in transaction.statements
        for value in one.values
        if value is not None
    }
    found, hidden = captured(
        tmp_path, _whole(name) + "secret 4711 in an unread line\n", anonymise=True
    )
    assert found.header.anonymised
    with zipfile.ZipFile(tmp_path / "a.workload") as file:
        written = b"".join(file.read(member) for member in file.namelist()).decode()
    long = {value for value in values if len(value) > 4 and "$ $$" not in value}
    long.discard("pgbench_accounts")  # a table's name, too
    assert len(long) > 5
    assert not [value for value in long if value in written]
    assert "secret" not in written
    assert [[len(tx) for tx in own] for own in hidden] == [[len(tx) for tx in own] for own in plain]
    lengths = [[len(one.sql) for tx in own for one in tx] for own in plain]
    assert [[len(one.sql) for tx in own for one in tx] for own in hidden] == lengths


_OF_SHOP_AND_CRM = {
    "general": """\
2026-05-04T10:20:30.000000Z\t    1 Connect\tme@localhost on shop using Socket
2026-05-04T10:20:30.000000Z\t    2 Connect\tme@localhost on crm using Socket
2026-05-04T10:20:31.000000Z\t    1 Query\tSELECT 'shop'
2026-05-04T10:20:31.000000Z\t    2 Query\tSELECT 'crm'
2026-05-04T10:20:32.000000Z\t    1 Init DB\tcrm
2026-05-04T10:20:32.000000Z\t    1 Query\tSELECT 'crm'
2026-05-04T10:20:33.000000Z\t    2 Query\tuse `shop`
2026-05-04T10:20:33.000000Z\t    2 Query\tSELECT 'shop'
2026-05-04T10:20:34.000000Z\t    1 Reset Connection\t
2026-05-04T10:20:34.000000Z\t    1 Query\tSELECT 'crm'
2026-05-04T10:20:35.000000Z\t    2 Change user\tyou@localhost on crm using Socket
2026-05-04T10:20:35.000000Z\t    2 Query\tSELECT 'crm'
""",
    "slow, MySQL": """\
# User@Host: me[me] @ localhost []  Id:     1
# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
use shop;
SET timestamp=1777890030;
SELECT 'shop';
# User@Host: me[me] @ localhost []  Id:     2
# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
SET timestamp=1777890030;
SELECT 'shop';
# User@Host: me[me] @ localhost []  Id:     1
# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
use crm;
SET timestamp=1777890031;
SELECT 'crm';
""",
    "slow, MariaDB": """\
# User@Host: me[me] @ localhost []
# Thread_id: 1  Schema: crm  QC_hit: No
# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0
SET timestamp=1777890030;
SELECT 'crm';
# User@Host: me[me] @ localhost []
# Thread_id: 2  Schema: shop  QC_hit: No
# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0
SET timestamp=1777890030;
SELECT 'shop';
""",
    "stderr": """\
2026-05-04 10:20:30.000 UTC [7] me@shop LOG:  duration: 0.100 ms  statement: SELECT 'shop'
2026-05-04 10:20:30.000 UTC [8] me@crm LOG:  duration: 0.100 ms  parse <unnamed>: SELECT 'crm'
2026-05-04 10:20:30.000 UTC [8] me@crm LOG:  duration: 0.100 ms  execute <unnamed>: SELECT 'crm'
2026-05-04 10:20:31.000 UTC [8] me@crm ERROR:  relation "a" does not exist at character 15
2026-05-04 10:20:31.000 UTC [8] me@crm STATEMENT:  SELECT 'crm' FROM a
""",
}


@pytest.mark.parametrize("log", _OF_SHOP_AND_CRM)
def test_statements_on_other_databases_are_left_out_if_one_is_named(
    log: str, tmp_path: Path
) -> None:
    found, sessions = captured(tmp_path, _OF_SHOP_AND_CRM[log], database="shop")
    kept = [one.sql for own in sessions for transaction in own for one in transaction]
    assert set(kept) == {"SELECT 'shop'"}
    assert set(found.header.databases) == {"shop"}
    assert found.header.left_out[OTHER_DATABASE] >= 1
    with pytest.raises(UsageError, match=r"no statement is on a database 'shp'") as unknown:
        captured(tmp_path, _OF_SHOP_AND_CRM[log], database="shp")
    assert "did you mean 'shop'" in (unknown.value.hint or "")
    everything, _ = captured(tmp_path, _OF_SHOP_AND_CRM[log])
    assert set(everything.header.databases) == {"shop", "crm"}
    assert OTHER_DATABASE not in everything.header.left_out


def test_a_session_whose_database_the_log_does_not_tell_is_kept(tmp_path: Path) -> None:
    log = """\
2026-05-04T10:20:30.000000Z	    1 Query	SELECT 'shop'
2026-05-04T10:20:30.100000Z	    2 Connect	me@localhost on crm using Socket
2026-05-04T10:20:30.200000Z	    2 Query	SELECT 'crm'
"""
    _, sessions = captured(tmp_path, log, database="shop")
    kept = [one.sql for own in sessions for transaction in own for one in transaction]
    assert kept == ["SELECT 'shop'"]
