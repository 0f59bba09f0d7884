"""What a running server took of its settings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms.mysql import Mysql
from dbhone.dbms.postgresql import Postgresql
from dbhone.experiment.target.warnings import running_note
from dbhone.instance.running_settings import RunningSettings, different, with_base_names

MYSQL = Mysql()


@pytest.mark.parametrize(
    ("wanted", "running"),
    [
        ("256M", "268435456"),
        ("256MB", "256MB"),
        ("1GB", "1024MB"),
        ("on", "ON"),
        ("1", "ON"),
        ("0", "off"),
        ("'minimal'", "minimal"),
        ("30s", "30000ms"),
        ("2", "2.0"),
        ("no_engine_substitution,ansi_quotes", "ANSI_QUOTES,NO_ENGINE_SUBSTITUTION"),
    ],
)
def test_two_spellings_of_a_value_are_the_same(wanted: str, running: str) -> None:
    assert different({"x": wanted}, {"x": (running,)}, MYSQL) == {}


@pytest.mark.parametrize(
    ("wanted", "running"),
    [
        *(("4000", "2048"), ("256M", "134217728"), ("on", "OFF"), ("2", "1")),
        ("mrr=on", "index_merge=on,mrr=off"),
        ("", "ANSI_QUOTES"),
        ("TLSv1.2", "TLSv1.2,TLSv1.3"),
    ],
)
def test_what_the_server_runs_with_otherwise_is_told(wanted: str, running: str) -> None:
    differing = different({"x": wanted}, {"x": (running,)}, MYSQL)
    assert differing == {"x": (wanted, running)}
    note = running_note("rel", differing)
    assert note is not None
    assert (note.code, note.subject) == ("setting-not-taken", "rel")
    assert note.text.endswith(f"x is {running}, not {wanted}")


@pytest.mark.parametrize(
    ("name", "wanted", "running"),
    [
        ("sql_mode", "ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI"),
        ("optimizer_switch", "mrr=on, index_merge=off", "index_merge=off,mrr=on,batched=on"),
    ],
)
def test_mysql_tells_some_lists_with_more_words(name: str, wanted: str, running: str) -> None:
    assert different({name: wanted}, {name: (running,)}, MYSQL) == {}
    assert name in different({name: running}, {name: (wanted,)}, MYSQL)


def test_what_postgresql_tells_in_another_word_is_the_same() -> None:
    wanted = {"wal_compression": "true", "wal_buffers": "-1", "wal_level": "Hot_Standby"}
    running = {
        "wal_compression": ("pglz", "pglz"),
        "wal_buffers": ("512", "4MB"),
        "wal_level": ("replica", "replica"),
    }
    assert different(wanted, running, Postgresql()) == {}
    assert different({"wal_compression": "lz4"}, running, Postgresql()) == {
        "wal_compression": ("lz4", "pglz")
    }
    assert [*different({"wal_buffers": "8MB"}, running, Postgresql())] == ["wal_buffers"]


def test_a_footnote_names_a_limit_of_open_files_that_is_too_low() -> None:
    note = running_note("rel", {"table_open_cache": ("20480", "7947")}, "They need 41,470.")
    assert note is not None
    assert note.text.endswith("table_open_cache is 7947, not 20480. They need 41,470.")


def test_what_the_server_says_of_what_it_was_given_is_kept() -> None:
    asked = RunningSettings(
        given={"loose_x": "1GB", "y": "2", "skip_z": ""},
        told={"x": ("131072", "1GB"), "y": ("1",), "other": ("3",)},
        dbms=MYSQL,
    )
    assert asked.values == {"loose_x": "1GB", "y": "1"}
    assert asked.not_taken == {"y": ("2", "1")}


def test_one_fitting_spelling_is_enough_and_what_is_not_told_is_no_difference() -> None:
    assert (
        different({"shared_buffers": "32768"}, {"shared_buffers": ("32768", "256MB")}, Postgresql())
        == {}
    )
    assert different({"skip_log_bin": ""}, {"log_bin": ("OFF",)}, MYSQL) == {}
    assert running_note("rel", {}) is None


@pytest.mark.parametrize("unit", ["", "kB", "s"])
def test_a_number_of_thousands_of_digits_is_no_number(unit: str) -> None:
    endless = "9" * 5000 + unit
    assert different({"x": endless}, {"x": (endless,)}, MYSQL) == {}
    assert different({"x": "1"}, {"x": (endless,)}, MYSQL) == {"x": ("1", endless)}


@given(st.text(max_size=12))
def test_every_value_is_like_itself(value: str) -> None:
    assert different({"x": value}, {"x": (value,)}, MYSQL) == {}


def test_a_log_that_is_on_has_the_name_that_it_was_given() -> None:
    told = with_base_names({"log_bin": ("ON",), "log_bin_basename": ("/data/binlog",)})
    assert different({"log_bin": "binlog"}, told, MYSQL) == {}
    assert different({"log_bin": "on"}, told, MYSQL) == {}
    assert different({"log_bin": "other"}, told, MYSQL) == {"log_bin": ("other", "ON")}
