"""The tables of what became of settings: consistent in themselves."""

from __future__ import annotations

import re
import tomllib
from importlib import resources

import pytest

from dbhone import registry
from dbhone.dbms.base import DRAWER, Dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.dbms.base_settings import SettingsTable, explain_change, settings_table
from dbhone.instance.translation import to_newer, to_older
from dbhone.versions import numbers

FILES = resources.files("dbhone.dbms").joinpath("settings")
NAMES = sorted(each.name[:-5] for each in FILES.iterdir())
SERVERS = [
    each
    for each in registry.load_all(DRAWER, Dbms, what="DBMS").values()
    if isinstance(each, ServerDbms)
]
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_VERSION = re.compile(r"\d+(\.\d+){0,2}")


@pytest.mark.parametrize("dbms", SERVERS, ids=lambda each: each.name)
def test_every_server_has_a_table(dbms: ServerDbms) -> None:
    assert dbms.settings_table in NAMES
    assert settings_table(dbms.settings_table).settings


@pytest.mark.parametrize("dbms", SERVERS, ids=lambda each: each.name)
def test_names_are_in_the_server_s_one_spelling(dbms: ServerDbms) -> None:
    table = settings_table(dbms.settings_table)
    for name in (*table.settings, *table.products):
        assert dbms.canonical(name) == name
    for name in (*dbms.own_files, *dbms.data_settings, *dbms.reserved):
        assert dbms.canonical(name) == name


@pytest.mark.parametrize("table", [settings_table(name) for name in NAMES], ids=NAMES)
class TestTable:
    def test_names_and_versions_look_like_some(self, table: SettingsTable) -> None:
        for name, change in table.settings.items():
            assert _NAME.fullmatch(name)
            for version in (change.since, change.until):
                assert not version or _VERSION.fullmatch(version), name

    def test_a_setting_comes_before_it_goes(self, table: SettingsTable) -> None:
        for name, change in table.settings.items():
            if change.since and change.until:
                assert numbers(change.since) < numbers(change.until), name

    def test_no_version_has_neither_the_old_name_nor_the_new(self, table: SettingsTable) -> None:
        settings = table.settings
        for name, change in settings.items():
            newer = settings.get(change.became)
            if newer is not None and newer.since and change.until:
                assert numbers(newer.since) <= numbers(change.until), name

    def test_names_do_not_go_in_a_circle(self, table: SettingsTable) -> None:
        settings = table.settings
        for name in settings:
            seen = [name]
            while (change := settings.get(seen[-1])) is not None and change.became:
                assert change.became not in seen, seen
                seen.append(change.became)

    def test_an_entry_says_something(self, table: SettingsTable) -> None:
        for name, change in table.settings.items():
            assert change.since or change.until or change.became or change.note, name

    def test_a_value_is_converted_only_to_another_name_and_in_one_way(
        self, table: SettingsTable
    ) -> None:
        for name, change in table.settings.items():
            ways = [change.values, change.form, change.factor > 1]
            assert sum(map(bool, ways)) <= (1 if change.became else 0), name
            assert not change.unit or change.factor > 1, name
            assert not change.form or change.form.count("{}") == 1, name

    def test_a_value_comes_back_as_it_was_or_as_one_that_means_the_same(
        self, table: SettingsTable
    ) -> None:
        for name, change in table.settings.items():
            if not change.became:
                continue
            for value in change.values or ("7", "0"):
                there = to_newer(change, value)
                assert there is not None, name
                again = to_older(change, there)
                assert again is not None, name
                assert to_newer(change, again) == there, name

    def test_parts_of_a_product_are_not_renamed_besides(self, table: SettingsTable) -> None:
        for product in table.products.values():
            for part in (product.size, product.count):
                assert not (part in table.settings and table.settings[part].became)


def test_mysql_s_own_names_are_known_to_mariadb_s_table_too() -> None:
    mariadb, mysql = (
        tomllib.loads(FILES.joinpath(f"{name}.toml").read_text(encoding="utf-8"))["products"]
        for name in ("mariadb", "mysql")
    )
    assert mariadb == mysql


def test_names_for_one_thing_are_rivals_and_parts_are_not() -> None:
    table = settings_table("mysql")
    assert table.rivals("tx_isolation") == {"transaction_isolation"}
    assert table.rivals("innodb_log_file_size") == {"innodb_redo_log_capacity"}
    parts = {"innodb_log_file_size", "innodb_log_files_in_group"}
    assert table.rivals("innodb_redo_log_capacity") == parts
    assert table.rivals("sync_binlog") == frozenset()


def test_a_version_is_told_why_it_lacks_a_setting() -> None:
    table = settings_table("mysql").settings
    gone = "MySQL has had no such setting since 8.0.3 (there is no query cache any more)"
    assert explain_change(table["query_cache_size"], "8.0.12", "MySQL") == gone
    assert explain_change(table["query_cache_size"], "5.7.22", "MySQL") == ""
    new = "MySQL has this setting only since 8.0.30"
    assert explain_change(table["innodb_redo_log_capacity"], "8.0.12", "MySQL") == new
    assert explain_change(table["innodb_redo_log_capacity"], "8.0.30", "MySQL") == ""
