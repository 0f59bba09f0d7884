"""How servers of MySQL's kind are made, set, known to be ready, and understood."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms._mysql_time_zones import time_zone_statements
from dbhone.dbms.base_server import SizingHints
from dbhone.errors import ServerError
from tests.files import put
from tests.instance.lives import Mariadb
from tests.instance.places import place_in

DBMS = Mariadb()
HELP = """\
mariadbd  Ver 10.11.6-MariaDB for Linux on x86_64
  --allow-nothing     An option whose description mentions
                      --log-bin and other things.

Variables (--variable-name=value)
and boolean options {FALSE|TRUE}                             Value (after reading options)
------------------------------------------------------------ -------------
allow-suspicious-udfs                                        FALSE
innodb-buffer-pool-size                                      134217728
innodb-version                                               10.11.6
log-bin                                                      (No default value)
ssl-ca

To see what variables a running server is using, type
'SELECT * FROM INFORMATION_SCHEMA.GLOBAL_VARIABLES' instead of 'mysqld --verbose --help'.
"""


def prefix_with(root: Path, *files: str) -> Path:
    for name in files:
        put(root / name, f"-- {name}\n")
    return root


def test_the_known_settings_are_those_of_the_table_in_one_spelling() -> None:
    known = DBMS.known_settings(HELP)
    assert known == {
        "allow_suspicious_udfs": "OFF",
        "innodb_buffer_pool_size": "134217728",
        "innodb_version": "10.11.6",
        **dict.fromkeys(("log_bin", "ssl_ca", "skip_log_bin", "disable_log_bin"), ""),
    }
    assert DBMS.known_settings("garbage") == {}


def test_it_is_ready_when_its_log_says_so_and_its_socket_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_in(tmp_path)
    log = "2026-01-01 10:00:00 0 [Note] /usr/sbin/mariadbd: ready for connections.\n"
    assert not DBMS.is_ready(place, log)
    monkeypatch.chdir(place.sockets)  # the whole path may be too long for a socket
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("mysql.sock")
        assert not DBMS.is_ready(
            place, "[Note] InnoDB: ready\n[System] X Plugin ready for connections."
        )
        assert DBMS.is_ready(place, log)


def test_it_is_not_ready_when_its_socket_is_a_link_to_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_in(tmp_path)
    monkeypatch.chdir(place.sockets)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("other.sock")
        (place.sockets / "mysql.sock").symlink_to("other.sock")
        assert not DBMS.is_ready(place, "[Note] /usr/sbin/mariadbd: ready for connections.\n")


@given(st.text(st.characters(min_codepoint=32, exclude_characters="\x7f"), max_size=40))
def test_any_value_can_be_read_back(value: str) -> None:
    header, line, end = DBMS.settings_file({"init_connect": value}).split("\n")
    assert (header, end) == ("[mysqld]", "")
    match = re.fullmatch(r'init_connect = "((?:[^"\\]|\\.)*)"', line, re.DOTALL)
    assert match is not None
    assert re.sub(r"\\(.)", r"\1", match[1]) == value


@pytest.mark.parametrize(
    "said",
    [
        "[ERROR] InnoDB: Unsupported redo log format. The redo log was created with MySQL 8.0.12.",
        "[ERROR] [MY-013171] [InnoDB] Cannot boot server version 80012 on data directory built by"
        " version 80030. Downgrade is not supported",
        "[ERROR] [MY-014061] [Server] Invalid MySQL server downgrade: Cannot downgrade from 80403"
        " to 80030. Downgrade is only permitted between patch releases.",
    ],
)
def test_data_of_another_version_is_recognised(said: str) -> None:
    assert DBMS.foreign_data.search(said)
    assert not DBMS.foreign_data.search("[ERROR] unknown variable 'x=1'")


def test_there_is_no_network_and_a_private_socket(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    fixed = DBMS.fixed_settings(place)
    assert fixed["skip_networking"] == "ON"
    assert fixed["feedback"] == "OFF"
    assert fixed["socket"] == str(DBMS.endpoint(place).socket)


def test_no_setting_and_no_replication_of_the_users_is_left_in_a_copy(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    fixed = DBMS.fixed_settings(place)
    assert fixed["persisted_globals_load"] == "OFF"
    assert fixed["skip_slave_start"] == fixed["skip_replica_start"] == "ON"
    installation = DBMS.installation(prefix_with(tmp_path, "bin/mariadbd"))
    assert installation is not None
    takeover = DBMS.take_over(installation, place, {})
    assert {"--skip-slave-start", "--event-scheduler=OFF"} <= {*takeover.program.argv}
    removed = takeover.files
    names = {"auto.cnf", "mysqld-auto.cnf", "master.info", "multi-master.info", "relay-log.info"}
    assert removed == dict.fromkeys(names)


def test_the_cache_is_as_large_as_there_is_room_for() -> None:
    proposed = DBMS.proposed_settings(
        SizingHints(cache_bytes=256 * 1024**2, connections=36), "10.11.6"
    )
    assert proposed[DBMS.cache_setting] == str(256 * 1024**2)
    assert proposed["max_connections"] == "36"


def test_events_of_a_copy_do_not_run() -> None:
    proposed = DBMS.proposed_settings(SizingHints(cache_bytes=1024**2, connections=1), "8.0.45")
    assert proposed["event_scheduler"] == "OFF"


@pytest.mark.parametrize("family", ["mysql", "mariadb"])
@pytest.mark.parametrize("share", ["share", "share/mysql"])
def test_a_data_directory_is_made_of_the_servers_own_statements(
    tmp_path: Path, family: str, share: str
) -> None:
    prefix = prefix_with(
        tmp_path,
        "bin/mariadbd",
        f"{share}/english/errmsg.sys",
        f"{share}/{family}_system_tables.sql",
        f"{share}/{family}_system_tables_data.sql",
    )
    installation = DBMS.installation(prefix)
    assert installation is not None
    (tmp_path / "i").mkdir()
    place = place_in(tmp_path / "i")
    (program,) = DBMS.initialise(installation, place, {"innodb_page_size": "4k"})
    assert program.argv[:2] == (str(prefix / "bin/mariadbd"), "--no-defaults")
    assert {"--bootstrap", f"--lc-messages-dir={prefix / share}"} <= {*program.argv}
    assert program.argv[-1] == "--innodb_page_size=4k"
    taken = DBMS.take_over(installation, place, {"innodb_page_size": "4k"})
    assert taken.program.argv[-1] == "--innodb_page_size=4k"
    assert [line for line in program.stdin.splitlines() if line] == [
        "CREATE DATABASE mysql;",
        "USE mysql;",
        f"-- {share}/{family}_system_tables.sql",
        f"-- {share}/{family}_system_tables_data.sql",
        *(f"{statement};" for statement in time_zone_statements()),
        "CREATE DATABASE sbtest;",
    ]


def test_without_those_statements_it_says_what_is_missing(tmp_path: Path) -> None:
    installation = DBMS.installation(prefix_with(tmp_path, "sbin/mysqld"))
    assert installation is not None
    with pytest.raises(ServerError, match=r"no mysql_system_tables\.sql below"):
        DBMS.initialise(installation, place_in(tmp_path), {})


def test_a_prefix_without_a_server_is_none(tmp_path: Path) -> None:
    assert DBMS.installation(tmp_path) is None


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ("", None),
        ("2026-01-01 10:00:00 0 [Note] InnoDB: all is well\n", None),
        (
            "2026-01-01 10:00:00 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'x=1'\n"
            "2026-01-01 10:00:00 0 [ERROR] Aborting\n",
            "unknown variable 'x=1'",
        ),
        (
            "2026-01-01 10:00:00 0 [ERROR] Plugin 'InnoDB' init function returned error.\n"
            "2026-01-01 10:00:00 0 [ERROR] InnoDB: Cannot allocate memory for the buffer pool\n"
            "2026-01-01 10:00:00 0 [ERROR] Aborting\n",
            "InnoDB: Cannot allocate memory for the buffer pool",
        ),
        (
            "2026-01-01T10:00:00.1Z 0 [ERROR] [MY-010187] [Server] Could not open file\n",
            "Could not open file",
        ),
        ("2026-01-01 10:00:00 0 [ERROR] Aborting\n", "Aborting"),
        (
            "2026-01-01 10:00:00 0 [ERROR] InnoDB: something\n"
            "260101 10:00:00 [ERROR] mysqld got signal 11 ;\n",
            "got signal 11",
        ),
        (
            "ERROR: 1064  You have an error in your SQL syntax\n"
            "2026-01-01 10:00:00 0 [ERROR] Aborting\n",
            "1064  You have an error in your SQL syntax",
        ),
    ],
)
def test_it_complains_in_its_own_words(log: str, complaint: str | None) -> None:
    assert DBMS.error_in_log(log) == complaint
