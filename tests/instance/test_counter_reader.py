"""Counters of real servers: found by name, told when missing, and read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import ServerError, UsageError
from dbhone.instance.client import connect
from dbhone.instance.counter_reader import CounterReader
from dbhone.instance.server import Server
from dbhone.measurement.series import SeriesKind
from tests.instance.conftest import Machine

pytestmark = pytest.mark.integration
KNOWN = {
    MYSQL: ("status.Questions", "status.Threads_running", "innodb.lock_timeouts"),
    POSTGRESQL: (
        "pg_stat_database.xact_commit",
        "pg_stat_database.numbackends",
        "pg_stat_bgwriter.buffers_alloc",
    ),
}
MISSPELT = {
    MYSQL: ("status.questons", "'Questions'"),
    POSTGRESQL: ("pg_stat_database.xact_comit", "'xact_commit'"),
}
PATTERNS = {
    MYSQL: (("innodb.lock_*", "status.Innodb_row_lock_*"), "innodb.lock_timeouts"),
    POSTGRESQL: (("pg_stat_database.tup_*",), "pg_stat_database.tup_fetched"),
}
TOO_MANY = {MYSQL: ("status.*", "innodb.*"), POSTGRESQL: None}


@pytest.fixture
def server(machine: Machine) -> Iterator[Server]:
    with machine.server(machine.made()) as server:
        yield server


def test_a_server_tells_its_counters_and_what_it_lacks(server: Server) -> None:
    protocol = server.endpoint.protocol
    rate, level, third = KNOWN[protocol]
    wrong, right = MISSPELT[protocol]
    with contextlib.closing(
        CounterReader(server, (rate, level, third, wrong, "elsewhere.name"))
    ) as watched:
        first, second = watched.read(), watched.read()
        assert [each.name for each in first] == [rate, level, third]
        kinds = {each.name: each.kind for each in first}
        assert (kinds[rate], kinds[level]) == (SeriesKind.RATE, SeriesKind.LEVEL)
        assert all(second[each] >= first[each] for each in first if each.kind is SeriesKind.RATE)
        ((missing, why),) = watched.missing.items()
        assert missing == wrong
        assert right in why


def test_a_pattern_means_all_that_it_matches(server: Server) -> None:
    patterns, some = PATTERNS[server.endpoint.protocol]
    with contextlib.closing(CounterReader(server, patterns)) as watched:
        names = {each.name for each in watched.read()}
        assert some in names
        assert len(names) > 4
        assert watched.missing == {}


def test_waits_of_postgresql_come_and_go(server: Server) -> None:
    if server.endpoint.protocol is not POSTGRESQL:
        pytest.skip("MySQL's servers sum them up")
    with contextlib.closing(CounterReader(server, ("pg_stat_activity.LWLock:*",))) as watched:
        assert watched.missing == {}
        assert all(each.kind is SeriesKind.COUNT for each in watched.read())


def test_too_many_counters_are_refused(server: Server) -> None:
    patterns = TOO_MANY[server.endpoint.protocol]
    if patterns is None:
        pytest.skip("it has not so many")
    with pytest.raises(UsageError, match="100 can be watched"):
        CounterReader(server, patterns)


def test_a_server_that_has_gone_is_told(server: Server) -> None:
    watched = CounterReader(server, KNOWN[server.endpoint.protocol])
    endpoint: Endpoint = server.endpoint
    server.kill()
    with pytest.raises(ServerError, match="the server does not answer"):
        watched.read()
    watched.close()
    with pytest.raises(ServerError, match="no connection"):
        connect(endpoint)
