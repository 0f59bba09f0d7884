"""The servers of an experiment: what decides what is loaded into them."""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms.base_server import Installation
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.experiment.server_pool import ServerSpec, _loading
from tests.instance import lives


def test_of_the_settings_only_those_of_tables_hold_for_loading() -> None:
    installation = Installation(
        dbms="mariadb", version="10.11.6", prefix=Path("/p"), server=Path("/p/bin/mariadbd")
    )
    charset = RequestedSetting(name="loose-Character-Set-Server", value="utf8mb4")
    settings = (charset, RequestedSetting(name="sync_binlog", value="1"))
    asked = ServerSpec(dbms=lives.Mariadb(), installation=installation, settings=settings, env={})
    assert _loading(asked) == (charset,)
