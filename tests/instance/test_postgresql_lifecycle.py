"""How PostgreSQL is set, known to be ready, and understood when it complains."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms.base_server import Installation, InstanceDir, SizingHints
from tests.instance.lives import Postgresql
from tests.instance.places import place_below

DBMS = Postgresql()


def place_in(root: Path) -> InstanceDir:
    (root / "data").mkdir()
    return place_below(root)


def pid_file(status: str) -> str:
    lines = ("42", "/data", "1700000000", "5432", "/run", "", " 5432001 0", status)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("status", "ready"), [("starting", False), ("ready   ", True), ("stopping", False)]
)
def test_it_is_ready_when_its_pid_file_says_so(tmp_path: Path, status: str, ready: bool) -> None:
    place = place_in(tmp_path)
    assert not DBMS.is_ready(place, "")
    (place.data / "postmaster.pid").write_text(pid_file(status))
    assert DBMS.is_ready(place, "") is ready


def test_an_old_one_has_no_status_there_and_is_ready_when_its_log_says_so(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    (place.data / "postmaster.pid").write_text("\n".join(pid_file("x").splitlines()[:7]))
    assert not DBMS.is_ready(place, "LOG:  database system was shut down at 2026-01-01\n")
    assert DBMS.is_ready(place, "LOG:  database system is ready to accept connections\n")


@given(st.text(st.characters(min_codepoint=32, exclude_characters="\x7f"), max_size=40))
def test_any_value_can_be_read_back(value: str) -> None:
    line = DBMS.settings_file({"search_path": value})
    match = re.fullmatch(r"search_path = '((?:[^'\\]|''|\\\\)*)'\n", line, re.DOTALL)
    assert match is not None
    assert match[1].replace("''", "'").replace("\\\\", "\\") == value


@pytest.mark.parametrize(
    ("version", "told"), [("9.6.24", False), ("17.11", False), ("18.6", True), ("19devel", True)]
)
def test_no_version_keeps_checksums_of_its_pages(tmp_path: Path, version: str, told: bool) -> None:
    initdb = tmp_path / "bin/initdb"
    server = Installation(dbms="postgresql", version=version, prefix=tmp_path, server=initdb)
    (program,) = DBMS.initialise(server, place_in(tmp_path), {})
    assert ("--no-data-checksums" in program.argv) is told


def test_a_copy_of_a_standby_is_none_of_any_version(tmp_path: Path) -> None:
    server = Installation(
        dbms="postgresql", version="11.22", prefix=tmp_path, server=tmp_path / "bin/postgres"
    )
    files = DBMS.take_over(server, place_in(tmp_path), {}).files
    for name in ("recovery.conf", "recovery.signal", "standby.signal"):
        assert name in files
        assert files[name] is None


def test_there_is_no_network_and_a_private_socket() -> None:
    place = dataclasses.replace(place_below(Path("/i")), sockets=Path("/h,ome/run"))
    settings = DBMS.fixed_settings(place)
    assert settings["listen_addresses"] == ""
    assert settings["unix_socket_permissions"] == "0700"
    assert settings["unix_socket_directories"] == '"/h,ome/run"'
    assert DBMS.endpoint(place).socket == Path("/h,ome/run/.s.PGSQL.5432")


def test_the_cache_is_as_large_as_there_is_room_for() -> None:
    proposed = DBMS.proposed_settings(
        SizingHints(cache_bytes=256 * 1024**2, connections=36), "15.1"
    )
    assert proposed[DBMS.cache_setting] == "262144kB"
    assert proposed["max_connections"] == "36"


def test_settings_are_the_first_column_and_their_defaults_the_fifth() -> None:
    printed = "jit\tuser\tQuery\tBOOLEAN\tTRUE\t\t\tx\t\nTimeZone\tuser\tClient\tSTRING\n"
    assert DBMS.known_settings(printed) == {"jit": "TRUE", "timezone": ""}


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ("", None),
        ("2026-01-01 10:00:00.1 GMT [7] LOG:  database system is ready", None),
        (
            'GMT [7] LOG:  invalid value for parameter "work_mem": "x"\n'
            'GMT [7] HINT:  Valid units for this parameter are "B".\n'
            'GMT [7] FATAL:  configuration file "/i/settings" contains errors\n',
            'invalid value for parameter "work_mem": "x"',
        ),
        (
            'GMT [7] FATAL:  could not access file "nothing": No such file or directory\n'
            "GMT [7] LOG:  database system is shut down\n",
            'could not access file "nothing": No such file or directory',
        ),
        (
            "GMT [7] FATAL:  database files are incompatible with server\n"
            "GMT [7] DETAIL:  The data directory was initialized by version 9.6.\n",
            "database files are incompatible with server:"
            " The data directory was initialized by version 9.6.",
        ),
        (
            'GMT [9] FATAL:  database "nobody" does not exist\n'
            "GMT [7] LOG:  server process (PID 8) was terminated by signal 11: Segmentation fault\n"
            "GMT [7] DETAIL:  Failed process was running: SELECT 1\n",
            "server process (PID 8) was terminated by signal 11: Segmentation fault:"
            " Failed process was running: SELECT 1",
        ),
        (
            "GMT [8] PANIC:  could not write to file: No space left on device\n",
            "could not write to file: No space left on device",
        ),
        (
            'initdb: error: could not access directory "/x": Permission denied\n',
            'could not access directory "/x": Permission denied',
        ),
    ],
)
def test_it_complains_in_its_own_words(log: str, complaint: str | None) -> None:
    assert DBMS.error_in_log(log) == complaint


def test_a_prefix_without_a_server_is_none(tmp_path: Path) -> None:
    assert DBMS.installation(tmp_path) is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "postgres").touch()
    assert DBMS.installation(tmp_path) is None
    (tmp_path / "bin" / "initdb").touch()
    found = DBMS.installation(tmp_path)
    assert found is not None
    assert found.server == tmp_path / "bin" / "postgres"
