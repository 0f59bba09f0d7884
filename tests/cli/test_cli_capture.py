"""``hone capture``: what it says of a log, and of wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbhone.safe_text import terminal_safe
from tests.capture.written_logs import GOLDEN
from tests.integration.hone import Hone


@pytest.fixture
def hone(tmp_path: Path) -> Hone:
    return Hone(tmp_path / "home", tmp_path)


def test_it_says_what_it_found_and_what_it_wrote(hone: Hone) -> None:
    log = GOLDEN / "postgresql-15-csvlog.csv"
    done = hone("capture", str(log), "-o", "shop.workload")
    assert "PostgreSQL's csvlog" in done.stdout
    assert "10 sessions" in done.stdout
    assert "databases  shop (107)" in done.stdout
    assert "wrote shop.workload" in done.stderr
    assert "warning" not in done.stderr
    said = " ".join(done.stderr.split())
    assert "dump its data (pg_dump -Fc shop > shop.dump), and 'hone tune SOURCE" in said
    assert said.endswith("SOURCE is your version, such as postgresql-15")
    assert (hone.folder / "shop.workload").exists()


def test_the_commands_that_it_names_have_quotes_where_a_shell_needs_them(hone: Hone) -> None:
    (hone.folder / "general.log").write_text(connected(1, "shop&co"))
    said = " ".join(hone("capture", "general.log", "-o", "my shop.workload").stderr.split())
    assert "'shop&co' > 'my shop.sql')" in said
    assert '--workload "my shop.workload" --data "my shop.sql" --plan' in said


def test_it_warns_where_much_is_left_out(hone: Hone) -> None:
    executed = "2026-05-04T10:20:30.000000Z\t    1 Execute\tUPDATE a SET b = ?\n"
    asked = "2026-05-04T10:20:31.000000Z\t    1 Query\tSELECT 1\n"
    (hone.folder / "general.log").write_text(executed * 3 + asked)
    done = hone("capture", "general.log", "-o", "shop.workload")
    assert "3 executions without their values" in done.stdout
    assert "warning: 75% of the statements are left out" in done.stderr


def connected(number: int, database: str) -> str:
    begun = f"2026-05-04T10:20:30.000000Z\t    {number} "
    return f"{begun}Connect\tme@localhost on {database} using Socket\n{begun}Query\tSELECT 1\n"


def test_what_a_log_holds_cannot_drive_the_terminal(hone: Hone) -> None:
    erase = "\x1b[2J"
    texts = [connected(1, f"shop{erase}"), connected(2, f"crm{erase}"), f"unreadable {erase}\n"]
    lines = "".join(texts).replace("SELECT 1", f"SELECT 1 AS `{erase}`")
    (hone.folder / "general.log").write_text(lines)
    done = hone("capture", "general.log", "-o", "shop.workload")
    for shown in (done.stdout, done.stderr):
        assert "\N{REPLACEMENT CHARACTER}[2J" in shown
        assert terminal_safe(shown) == shown


@pytest.mark.parametrize(("of_crm", "warned"), [(3, True), (2, False)])
def test_it_warns_where_clients_asked_several_databases(
    of_crm: int, warned: bool, hone: Hone
) -> None:
    sessions = [connected(number, "shop") for number in range(200)]
    sessions += [connected(number, "crm") for number in range(200, 200 + of_crm)]
    (hone.folder / "general.log").write_text("".join(sessions))
    done = hone("capture", "general.log", "-o", "shop.workload")
    assert "shop (200)" in done.stdout
    assert ("warning: clients asked several databases" in done.stderr) is warned


def slow_record(seconds: float, more: str = "") -> str:
    return (
        "# User@Host: me[me] @ localhost []\n# Thread_id: 3  Schema: shop  QC_hit: No\n"
        f"# Query_time: {seconds:.6f}  Lock_time: 0.000000  Rows_sent: 1\n{more}"
        "SET timestamp=1777890030;\nSELECT a FROM t WHERE b = 7;\n"
    )


def test_it_warns_of_a_log_that_has_only_slow_statements_or_only_some(hone: Hone) -> None:
    log = hone.folder / "slow.log"
    slow = slow_record(1.25) * 199 + slow_record(31)
    log.write_text(slow)
    said = " ".join(hone("capture", "slow.log", "-o", "a.workload").stderr.split())
    assert "warning: the shortest statement took 1.2 s: the log seems to have only" in said
    assert "warning: 1 statement took longer than 30.0 s" in said
    rate = "# Log_slow_rate_type: query  Log_slow_rate_limit: 10\n"
    log.write_text(slow_record(0.0002, rate) * 200)
    said = " ".join(hone("capture", "slow.log", "-o", "b.workload").stderr.split())
    assert "warning: the server logged only one of 10 statements or sessions" in said
    log.write_text(slow + slow_record(0.0002))
    assert "shortest" not in hone("capture", "slow.log", "-o", "c.workload").stderr


def test_wrong_use_is_told_with_what_to_do(hone: Hone) -> None:
    assert "-o NAME.workload" in hone("capture", "a.log", code=2).stderr
    assert "name logs, or a --server" in hone("capture", "-o", "a.workload", code=2).stderr
    assert "-o a.workload" in hone("capture", "a.log", "-o", "a.txt", code=2).stderr
    made_up = ("capture", "--server", "postgresql://me@127.0.0.1:1/shop", "--made-up", "a.sql")
    assert "-o NAME.workload" in hone(*made_up, "--for", "1m", code=2).stderr
    both = (*made_up, "-o", "a.workload")
    assert "--for 10m" in hone(*both, code=2).stderr
    assert "leave one of them out" in hone(*both, "--for", "1m", "a.log", code=2).stderr
    live = ("capture", "--server", "postgresql://me@127.0.0.1:1/shop", "-o", "a.workload")
    assert "--for 10m" in hone(*live, code=2).stderr


def test_an_option_that_would_not_be_used_is_refused(hone: Hone) -> None:
    prefix = ("--line-prefix", "%m [%p] ", "-o", "a.workload")
    for name, title in (
        ("mariadb-10.11-slow.log", "slow log"),
        ("postgresql-15-csvlog.csv", "csv"),
    ):
        said = hone("capture", str(GOLDEN / name), *prefix, code=2).stderr
        assert "there is no log with a line prefix" in said
        assert title in said
    live = ("--server", "postgresql://me@127.0.0.1:1/shop", "--for", "1m")
    assert "leave it out" in hone("capture", *live, *prefix, code=2).stderr
    for other in (["a.log"], ["-o", "a.workload"], live[:2]):
        assert "does nothing else" in hone("capture", "--put-back", *other, code=2).stderr


def test_it_says_that_there_is_nothing_to_put_back(hone: Hone) -> None:
    assert "no settings to restore" in hone("capture", "--put-back").stderr


def test_each_note_of_a_killed_capture_is_tried_and_one_that_cannot_be_read_is_told(
    hone: Hone,
) -> None:
    folder = hone.home / "logging"
    folder.mkdir(parents=True)
    (folder / "0.json").write_text("{")
    for port in (1, 2):
        address = {"protocol": "postgresql", "host": "::1", "port": port}
        address |= {"user": "me", "database": "shop", "socket": ""}
        note = {"address": address, "hone": [1, 0], "watcher": [1, 0], "put_back": ["SELECT 1"]}
        (folder / f"{port}.json").write_text(json.dumps(note))
    said = hone("capture", "--put-back", code=1).stderr
    assert "0.json, which says at which, cannot be read" in said
    for port in (1, 2):
        assert f"postgresql://me@[::1]:{port}/shop: the settings are not restored: cannot" in said
    assert "the settings of 2 servers are not restored" in said
    assert len(list(folder.iterdir())) == 3


def test_a_folder_that_is_missing_is_told_before_a_server_logs(hone: Hone) -> None:
    live = ("capture", "--server", "postgresql://me@127.0.0.1:1/shop", "--for", "10m")
    assert "there is no folder none" in hone(*live, "-o", "none/a.workload", code=2).stderr
