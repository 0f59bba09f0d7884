"""MySQL's versions: how each makes its data, and the account that clients have."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, SizingHints
from dbhone.dbms.myrocks import PLUGIN as MYROCKS
from dbhone.dbms.mysql import PLUGIN as DBMS
from dbhone.errors import UsageError
from tests.instance.places import place_in


def installed(prefix: Path, version: str) -> Installation:
    server = prefix / "bin" / "mysqld"
    return Installation(dbms="mysql", version=version, prefix=prefix, server=server)


@pytest.mark.parametrize(
    ("version", "older"),
    [("5.7.22", False), ("8.0.12", True), ("8.3.0", True), ("8.4.0", False), ("9.1.0", False)],
)
def test_the_account_has_the_older_authentication_where_that_is_on_but_not_the_default(
    tmp_path: Path, version: str, older: bool
) -> None:
    installation = installed(tmp_path, version)
    (program,) = DBMS.initialise(installation, place_in(tmp_path), {"innodb_page_size": "4k"})
    assert {"--initialize-insecure", "--innodb_page_size=4k"} <= {*program.argv}
    statements = program.stdin.splitlines()
    assert "CREATE DATABASE sbtest;" in statements
    assert any("mysql_native_password" in each for each in statements) == older
    assert not any("native" in word for word in program.argv)


def test_a_data_directory_of_5_6_is_refused_before_it_is_copied(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    assert "SHUTDOWN;" in DBMS.take_over(installed(tmp_path, "5.7.22"), place, {}).program.stdin
    with pytest.raises(UsageError, match=r"data directories of MySQL 5\.6\.51") as caught:
        DBMS.take_over(installed(tmp_path, "5.6.51"), place, {})
    assert caught.value.hint == "give a dump"


@pytest.mark.parametrize("version", ["5.6.35", "8.0.32"])
def test_myrocks_has_its_tables_in_rocksdb_and_the_room_in_its_cache(version: str) -> None:
    proposed = MYROCKS.proposed_settings(SizingHints(cache_bytes=2**30, connections=9), version)
    assert proposed["default_storage_engine"] == "ROCKSDB"
    assert proposed[MYROCKS.cache_setting] == str(2**30)
    assert proposed.get("innodb_buffer_pool_size") != str(2**30)


def test_myrocks_before_8_runs_one_engine_and_no_setting_is_of_the_other() -> None:
    room = SizingHints(cache_bytes=2**30, connections=9)
    old, new = (MYROCKS.proposed_settings(room, each) for each in ("5.6.35", "8.0.32"))
    assert old["innodb"] == "OFF"
    assert old["default_tmp_storage_engine"] == "MyISAM"
    assert not [name for name in old if name.startswith("innodb_")]
    assert "innodb" not in new
    assert set(old) - {"innodb", "default_tmp_storage_engine"} <= set(new)
