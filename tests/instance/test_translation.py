"""What a setting is called, and how its value is written, on a server that lacks its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms.base_settings import SettingHistory, settings_table
from dbhone.instance.translation import Translator, to_newer, to_older

REDO = "innodb_redo_log_capacity"
SIZE = "innodb_log_file_size"
COUNT = "innodb_log_files_in_group"


def translated(table: str, known: set[str], name: str, **wanted: str) -> dict[str, str] | None:
    return Translator(settings_table(table), frozenset(known)).translate(name, wanted)


@pytest.mark.parametrize(
    ("table", "name", "value", "there", "value_there"),
    [
        ("mysql", "tx_isolation", "READ-COMMITTED", "transaction_isolation", "READ-COMMITTED"),
        ("mysql", "transaction_isolation", "SERIALIZABLE", "tx_isolation", "SERIALIZABLE"),
        ("mysql", "expire_logs_days", "7", "binlog_expire_logs_seconds", "604800"),
        ("mysql", "binlog_expire_logs_seconds", "172800", "expire_logs_days", "2"),
        ("mysql", "log_warnings", "2", "log_error_verbosity", "3"),
        ("mysql", "log_warnings", "9", "log_error_verbosity", "3"),
        ("mysql", "log_warnings", "ON", "log_error_verbosity", "2"),
        ("mysql", "ssl", "OFF", "tls_version", ""),
        ("mysql", "skip_host_cache", "ON", "host_cache_size", "0"),
        ("mariadb", "skip_host_cache", "ON", "host_cache_size", "0"),
        ("mariadb", "log_error_verbosity", "3", "log_warnings", "2"),
        ("mysql", "log_slave_updates", "on", "log_replica_updates", "on"),
        ("mysql", "table_cache", "400", "table_open_cache", "400"),
        (
            *("mysql", "default_authentication_plugin", "mysql_native_password"),
            *("authentication_policy", "*:mysql_native_password"),
        ),
        ("postgresql", "checkpoint_segments", "32", "max_wal_size", "1536MB"),
        ("postgresql", "wal_keep_segments", "8", "wal_keep_size", "128MB"),
        ("postgresql", "wal_keep_size", "1GB", "wal_keep_segments", "64"),
        ("postgresql", "force_parallel_mode", "on", "debug_parallel_query", "on"),
    ],
)
def test_names_and_values_are_translated_both_ways(
    table: str, name: str, value: str, there: str, value_there: str
) -> None:
    found = translated(table, {there, "max_connections"}, name, **{name: value})
    assert found == {there: value_there}


@pytest.mark.parametrize(
    ("table", "name", "value", "there"),
    [
        ("mysql", "binlog_expire_logs_seconds", "3600", "expire_logs_days"),
        ("postgresql", "wal_keep_size", "1MB", "wal_keep_segments"),
        ("mysql", "log_warnings", "x", "log_error_verbosity"),
        ("mysql", "ssl", "ON", "tls_version"),
        ("mysql", "query_cache_size", "0", "max_connections"),
        ("mysql", "tx_isolation", "x", "max_connections"),
    ],
)
def test_what_has_no_other_name_or_cannot_be_said_exactly_is_not_said(
    table: str, name: str, value: str, there: str
) -> None:
    assert translated(table, {there}, name, **{name: value}) is None


def test_what_is_asked_for_by_the_known_name_stays() -> None:
    found = translated(
        *("mysql", {"transaction_isolation"}, "tx_isolation"),
        tx_isolation="SERIALIZABLE",
        transaction_isolation="READ-COMMITTED",
    )
    assert found == {"transaction_isolation": "READ-COMMITTED"}


class TestProduct:
    def test_size_times_count_is_the_whole(self) -> None:
        wanted = {SIZE: "1G", COUNT: "4"}
        assert translated("mysql", {REDO}, SIZE, **wanted) == {REDO: "4096M"}
        assert translated("mysql", {REDO}, COUNT, **wanted) == {}

    def test_without_a_count_there_are_two(self) -> None:
        assert translated("mysql", {REDO}, SIZE, **{SIZE: "512M"}) == {REDO: "1024M"}

    def test_the_whole_is_parted_for_an_old_version(self) -> None:
        known = {SIZE, COUNT}
        assert translated("mysql", known, REDO, **{REDO: "8G"}) == {SIZE: "4096M", COUNT: "2"}

    def test_the_whole_is_one_file_where_there_is_one_only(self) -> None:
        assert translated("mariadb", {SIZE}, REDO, **{REDO: "8G"}) == {SIZE: "8G"}

    def test_several_files_become_one_of_their_size(self) -> None:
        wanted = {SIZE: "1G", COUNT: "16"}
        assert translated("mariadb", {SIZE}, COUNT, **wanted) == {SIZE: "16384M"}

    def test_the_whole_gives_way_to_parts_that_are_known_and_asked_for(self) -> None:
        wanted = {SIZE: "4G", REDO: "8G"}
        assert translated("mysql", {SIZE, COUNT}, REDO, **wanted) == {}

    def test_the_parts_give_way_to_a_whole_that_is_known_and_asked_for(self) -> None:
        wanted = {SIZE: "4G", COUNT: "2", REDO: "8G"}
        assert translated("mysql", {REDO}, SIZE, **wanted) == {}
        assert translated("mysql", {REDO}, COUNT, **wanted) == {}

    def test_a_count_alone_says_nothing(self) -> None:
        assert translated("mysql", {REDO}, COUNT, **{COUNT: "4"}) is None


@given(st.integers(0, 10**6), st.integers(2, 10**5), st.sampled_from(["", "kB", "MB"]))
def test_multiplied_values_come_back(number: int, factor: int, unit: str) -> None:
    change = SettingHistory(became="other", factor=factor, unit=unit)
    there = to_newer(change, str(number))
    assert there is not None
    assert to_older(change, there) == str(number)


@given(st.integers(1, 10**6), st.integers(1, 64))
def test_a_whole_that_is_parted_is_as_large_as_before(mebibytes: int, count: int) -> None:
    table = settings_table("mysql")
    whole = Translator(table, frozenset({REDO})).translate(
        SIZE, {SIZE: f"{mebibytes}M", COUNT: str(count)}
    )
    assert whole == {REDO: f"{mebibytes * count}M"}
    parts = Translator(table, frozenset({SIZE, COUNT})).translate(REDO, whole)
    assert parts is not None
    size, unit = parts[SIZE].rstrip("M"), 1024**2 if parts[SIZE].endswith("M") else 1
    assert int(size) * unit * int(parts[COUNT]) == mebibytes * count * 1024**2
