"""What an experiment may observe, and what servers need for it."""

from __future__ import annotations

import pytest

from dbhone.dbms.mariadb import MariaDb
from dbhone.dbms.postgresql import Postgresql
from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.observe import ObserveOptions
from tests.experiment.experiment_files import EMBEDDED

FILE = """\
title = "What do they do?"
base = "a"
[sources]
s = "apt:postgresql-15"
[subjects]
a = {{ dbms = "postgresql", source = "s" }}
b = {{ like = "a", variant = "lto" }}
[workload]
suite = "{suite}"
{observe}
"""


def observed(observe: str, suite: str = "sysbench:micro") -> ObserveOptions:
    return parse(FILE.format(observe=observe, suite=suite), name="x.toml").observe


def test_servers_are_observed_each_second_unless_it_is_said_otherwise() -> None:
    assert observed("") == ObserveOptions(enabled=True, every=1.0, counters=())
    assert not observed("[observe]\nenabled = false").enabled
    section = '[observe]\nevery = "500ms"\ncounters = ["pg_stat_wal.*"]'
    assert observed(section) == ObserveOptions(every=0.5, counters=("pg_stat_wal.*",))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('every = "100ms"', "it must be 0.5 or more"),
        ("every = 1", "in quotes"),
        ('counter = ["x.y"]', "no such key"),
        ('counters = ["xact_commit"]', "'xact_commit' is not a counter"),
        ('counters = ["pg_stat_wal."]', "is not a counter"),
    ],
)
def test_what_cannot_be_meant_is_refused(section: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=said):
        observed(f"[observe]\n{section}")


def test_a_source_that_the_servers_have_not_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no source of counters 'pg_stat_datbase'") as error:
        observed('[observe]\ncounters = ["pg_stat_datbase.xact_commit"]')
    assert "'pg_stat_database'" in str(error.value.hint)
    with pytest.raises(UnknownName):
        observed('[observe]\ncounters = ["status.Questions"]')


def test_what_is_no_server_is_not_observed() -> None:
    assert parse(EMBEDDED, name="x.toml").observe == ObserveOptions()
    with pytest.raises(ExperimentError, match="only servers are observed"):
        parse(f"{EMBEDDED}[observe]\nenabled = true\n", name="x.toml")


class TestSettings:
    def test_waits_need_the_performance_schema_and_their_instruments(self) -> None:
        waits = ("waits.wait/io/file/innodb/*", "waits.wait/io/table/sql/handler")
        assert ObserveOptions(counters=waits).settings(MariaDb()) == {
            "performance_schema": "ON",
            "performance_schema_instrument": "wait/io/%=ON",
        }
        one = ("waits.wait/lock/table/sql/handler",)
        assert ObserveOptions(counters=one).settings(MariaDb())[
            "performance_schema_instrument"
        ] == ("wait/lock/table/sql/handler%=ON")

    def test_sources_that_need_the_same_setting_get_it_together(self) -> None:
        counters = ("waits.wait/io/file/*", "wait-counts.wait/lock/*", "file-reads.sbtest/*")
        assert ObserveOptions(counters=counters).settings(MariaDb()) == {
            "performance_schema": "ON",
            "performance_schema_instrument": "wait/%=ON",
        }
        files = ObserveOptions(counters=("file-reads.sbtest/*",))
        assert files.settings(MariaDb()) == {"performance_schema": "ON"}

    def test_nothing_else_needs_any(self) -> None:
        assert ObserveOptions(counters=("status.Questions", "innodb.*")).settings(MariaDb()) == {}
        assert ObserveOptions(counters=("waits.*",)).settings(Postgresql()) == {}
        assert ObserveOptions(enabled=False, counters=("waits.*",)).settings(MariaDb()) == {}
