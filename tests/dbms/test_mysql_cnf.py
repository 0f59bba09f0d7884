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


def test_the_server_s_sections_are_read_and_the_last_of_a_name_counts() -> None:
    assert read(FILE) == {
        "datadir": "/var/lib/mysql",
        "skip_name_resolve": "ON",
        "max_connections": "4096",
        "loose_performance_schema_instrument": "%sync%=on",
        "innodb_buffer_pool_size": "80G",
        "log_bin": "bin",  # it stays with the instance
        "relay_log_recovery": "ON",
        "init_connect": "SET NAMES 'utf8' # not a comment",
        "ft_stopword": "a\tb",
        "sort_buffer_size": "2M",
    }
    assert read("[mysqld]\nlog-bin\n") == {"log_bin": "binlog"}
    assert read("[mysqld]\nloose-max_connections = 7\nMAX_CONNECTIONS=8\n") == {
        "max_connections": "8"
    }


def test_mariadb_reads_its_own_section_too() -> None:
    found = {each.name: each.value for each in MariaDb().read_settings_file(FILE)}
    assert found == {**read(FILE), "innodb_log_file_size": "1G"}


def test_mariadb_reads_the_section_of_a_cluster_s_nodes_too() -> None:
    galera = "[galera]\nbinlog_format = ROW\n"
    (found,) = MariaDb().read_settings_file(galera)
    assert (found.name, found.value) == ("binlog_format", "ROW")
    with pytest.raises(SettingsError, match=r"there is no setting, only in \[galera\]"):
        read(galera)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"in \[mysqld\], \[server\] there is no setting$"),
        ("[mysqld]\n# sync_binlog = 1\n", r"in \[mysqld\], \[server\] there is no setting$"),
        (
            "[client]\nport = 1\n[mysqldump]\nquick\n[mysqld]\n",
            r"there is no setting, only in \[client\], \[mysqldump\]$",
        ),
    ],
)
def test_a_file_that_sets_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read(text)


def test_everything_is_known_to_be_from_a_file() -> None:
    assert {each.origin for each in Mysql().read_settings_file(FILE)} == {Origin.FILE}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mysqld]\n!includedir /etc/mysql/conf.d\n", "line 2: '!includedir"),
        ("max_connections = 5\n", "line 1: 'max_connections = 5' stands before"),
        ("[mysqld]\n= 5\n", "line 2: '= 5' is not a setting"),
        ("[mysqld-8.0]\nmax_connections = 5\n", "line 1: hone does not read \\[mysqld-8.0\\]"),
        ("[mysqld1]\nsync_binlog = 1\n", "line 1: hone does not read \\[mysqld1\\]"),
        ("[mysqld]\nx = 1\n[mysqld@prod]\ny = 2\n", "line 3: hone does not read \\[mysqld@prod\\]"),
        ("[mysqld]\nmax connections = 5\n", "line 2"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read(text)
