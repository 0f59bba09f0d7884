"""What a my.cnf says, as mysqld would take it."""

from __future__ import annotations

import pytest

from dbhone.dbms.base_settings import Origin
from dbhone.dbms.mariadb import MariaDb
from dbhone.dbms.mysql import Mysql
from dbhone.errors import SettingsError

FILE = """\
# Our server.
[client]
port = 3306

[mysqld]
datadir=/var/lib/mysql
skip-name-resolve
Max-Connections = 4096   # many
loose-performance_schema_instrument='%sync%=on'
innodb_buffer_pool_size = 80G
log-bin = /var/log/mysql/bin
relay_log_recovery
init_connect = "SET NAMES 'utf8' # not a comment"
ft_stopword = a\\tb
; old
sort_buffer_size = 1M
sort-buffer-size = 2M

[mysqld_safe]
malloc-lib = jemalloc

[mariadb]
innodb_log_file_size = 1G
"""


def read(text: str) -> dict[str, str]:
    return {each.name: each.value for each in Mysql().read_settings_file(text)}


def test_the_server_s_sections_are_read() -> None:
    found = read(FILE)
    assert "port" not in found
    assert "malloc_lib" not in found
    assert "innodb_log_file_size" not in found
    assert found["max_connections"] == "4096"
    assert found["innodb_buffer_pool_size"] == "80G"


def test_mariadb_reads_its_own_section_too() -> None:
    found = {each.name: each.value for each in MariaDb().read_settings_file(FILE)}
    assert found["innodb_log_file_size"] == "1G"
    assert found["max_connections"] == "4096"


def test_a_name_without_a_value_is_a_switch() -> None:
    found = read(FILE)
    assert found["skip_name_resolve"] == "ON"
    assert found["relay_log_recovery"] == "ON"
    assert read("[mysqld]\nlog-bin\n") == {"log_bin": "binlog"}


def test_quotes_and_comments_are_taken_off() -> None:
    found = read(FILE)
    assert found["loose_performance_schema_instrument"] == "%sync%=on"
    assert found["init_connect"] == "SET NAMES 'utf8' # not a comment"
    assert found["ft_stopword"] == "a\tb"


def test_of_what_stands_twice_the_last_counts() -> None:
    assert read(FILE)["sort_buffer_size"] == "2M"


def test_the_binary_log_stays_with_the_instance() -> None:
    assert read(FILE)["log_bin"] == "bin"


def test_everything_is_known_to_be_from_a_file() -> None:
    assert {each.origin for each in Mysql().read_settings_file(FILE)} == {Origin.FILE}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mysqld]\n!includedir /etc/mysql/conf.d\n", "line 2: '!includedir"),
        ("max_connections = 5\n", "line 1: 'max_connections = 5' stands before"),
        ("[mysqld]\n= 5\n", "line 2: '= 5' is not a setting"),
        ("[mysqld-8.0]\nmax_connections = 5\n", "line 1: hone does not read \\[mysqld-8.0\\]"),
        ("[mysqld]\nmax connections = 5\n", "line 2"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read(text)
