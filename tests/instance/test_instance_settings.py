"""Which settings a server gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, Place, ServerDbms
from dbhone.errors import SettingsError
from dbhone.instance import known
from dbhone.instance.settings import Chosen, choose
from tests.instance import lives

PLACE = Place(
    data=Path("/i/data"),
    settings=Path("/i/settings"),
    sockets=Path("/i/run"),
    scratch=Path("/i/tmp"),
    log=Path("/i/log"),
)
MARIADB = Installation(
    dbms="mariadb", version="10.11.6", prefix=Path("/p"), server=Path("/p/bin/mariadbd")
)
KNOWN = frozenset(
    {
        *("socket", "datadir", "pid_file", "tmpdir", "skip_networking", "max_connections"),
        *("innodb_buffer_pool_size", "innodb_io_capacity", "sync_binlog"),
    }
)


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(known._asked, MARIADB, KNOWN)


def chosen(wanted: dict[str, str], *, drop_unknown: bool = False, **proposed: str) -> Chosen:
    dbms: ServerDbms = lives.Mariadb()
    return choose(dbms, MARIADB, PLACE, proposed=proposed, wanted=wanted, drop_unknown=drop_unknown)


def test_what_is_wanted_goes_before_what_is_proposed() -> None:
    values = chosen({"sync-binlog": "1"}, sync_binlog="0", max_connections="7").values
    assert (values["sync_binlog"], values["max_connections"]) == ("1", "7")


def test_what_hone_insists_on_is_always_there() -> None:
    values = chosen({}).values
    assert values["socket"] == "/i/run/mysql.sock"
    assert values["skip_networking"] == "ON"


def test_a_proposal_that_the_version_lacks_is_left_out_silently() -> None:
    assert chosen({}, query_cache_size="0") == chosen({})


def test_a_wanted_setting_that_the_version_lacks_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"MariaDB 10\.11\.6 has no setting") as caught:
        chosen({"innodb_buffer_pool_sice": "1G"})
    assert caught.value.hint == "did you mean 'innodb_buffer_pool_size'?"
    assert caught.value.exit_code == 2


def test_it_is_dropped_and_told_if_that_is_allowed() -> None:
    result = chosen({"innodb_rollback": "1", "sync_binlog": "1"}, drop_unknown=True)
    assert result.dropped == ("innodb_rollback",)
    assert "innodb_rollback" not in result.values
    assert result.values["sync_binlog"] == "1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("socket", "/tmp/mysql.sock"),
        ("skip-networking", "OFF"),
        ("datadir", "/var/lib/mysql"),
        ("PORT", "3306"),
        ("user", "mysql"),
    ],
)
def test_nobody_makes_a_server_less_private(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match="set by hone itself") as caught:
        chosen({name: value}, drop_unknown=True)
    assert caught.value.hint == "leave it out"


def test_to_repeat_what_hone_insists_on_is_no_contradiction() -> None:
    assert chosen({"skip-networking": "ON"}).values == chosen({}).values


def test_one_setting_in_two_spellings_with_two_values_is_refused() -> None:
    with pytest.raises(SettingsError, match="given twice"):
        chosen({"sync-binlog": "1", "sync_binlog": "0"})


def test_a_value_cannot_bring_a_line_of_its_own() -> None:
    with pytest.raises(SettingsError, match="without a shape"):
        chosen({"sync_binlog": "1\nskip_networking=OFF"})
