"""MySQL's versions: how each makes its data, and the account that clients have."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation
from dbhone.dbms.mysql import PLUGIN as DBMS
from tests.instance.test_mysql_life import place_in


@pytest.mark.parametrize(
    ("version", "older"),
    [("5.7.22", False), ("8.0.12", True), ("8.3.0", True), ("8.4.0", False), ("9.1.0", False)],
)
def test_the_account_has_the_older_authentication_where_that_is_on_but_not_the_default(
    tmp_path: Path, version: str, older: bool
) -> None:
    server = tmp_path / "bin" / "mysqld"
    installation = Installation(dbms="mysql", version=version, prefix=tmp_path, server=server)
    (program,) = DBMS.initialise(installation, place_in(tmp_path))
    assert "--initialize-insecure" in program.argv
    statements = program.stdin.splitlines()
    assert statements[0] == "CREATE DATABASE sbtest;"
    assert any("mysql_native_password" in each for each in statements) == older
    assert not any("native" in word for word in program.argv)
