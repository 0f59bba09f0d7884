"""Waits as real servers tell them, and what is made of their answers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms.base_counters import CounterSource
from dbhone.dbms.mariadb import MariaDb
from dbhone.dbms.postgresql import Postgresql
from dbhone.errors import ServerError
from dbhone.instance import wait_reader
from dbhone.instance.client import Client, RejectedQueryError, connect
from dbhone.instance.server import Server
from dbhone.instance.wait_reader import WaitReader
from tests.instance.conftest import Machine

Rows = Sequence[tuple[str, float]]
SECOND = 1e12
"""In picoseconds."""


class Answers:
    """Takes the place of a connection: it answers one thing after the other, the last for ever."""

    def __init__(self, *answers: Rows | ServerError) -> None:
        self._answers = list(answers)
        self.closed = False

    def ask(self, question: str) -> Rows:
        del question
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, ServerError):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


def reader(
    monkeypatch: pytest.MonkeyPatch, answers: Answers, waits: CounterSource | None
) -> WaitReader:
    dbms = SimpleNamespace(waits=waits, connection_process="")
    server = SimpleNamespace(dbms=dbms, title="MariaDB 11.4.5", endpoint=None)
    monkeypatch.setattr(wait_reader, "connect", lambda _: answers)
    return WaitReader("rel", cast(Server, server))


def test_of_sums_it_counts_by_how_much_they_grew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [("log", SECOND), ("reset", 5 * SECOND)]
    after = [("log", 3.5 * SECOND), ("reset", SECOND), ("background new", SECOND)]
    with reader(monkeypatch, Answers(before, before, after), MariaDb.waits).watching() as waited:
        assert waited == {}
    assert waited == pytest.approx({"log": 2.5, "reset": 0.0, "background new": 1.0})


def test_what_comes_and_goes_lasts_as_long_as_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Answers([], [("Lock:tuple", 3)])
    with reader(monkeypatch, looks, Postgresql.waits).watching() as waited:
        began = time.monotonic()
        time.sleep(0.02)
        least = time.monotonic() - began
    assert waited["Lock:tuple"] >= 3 * least


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "rel counts no waits: .* other settings than performance_schema = ON"),
        (RejectedQueryError("no such table"), "rel does not tell .* no such table"),
    ],
)
def test_a_server_that_counts_no_waits_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: Rows | ServerError, said: str
) -> None:
    answers = Answers(answer)
    with pytest.raises(ServerError, match=said) as error:
        reader(monkeypatch, answers, MariaDb.waits)
    assert "--waits" in str(error.value.hint)
    assert answers.closed


def test_a_dbms_without_a_source_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match=r"does not know how MariaDB 11\.4\.5 tells"):
        reader(monkeypatch, Answers([]), None)


def test_a_server_that_stops_to_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers([], ServerError("gone"))
    watching = reader(monkeypatch, answers, Postgresql.waits).watching()
    with pytest.raises(ServerError, match="rel no longer tells its waits: gone"), watching:
        pass


WAITS_ON = {"performance_schema": "ON", "performance_schema_instrument": "wait/synch/%=ON"}


@pytest.fixture
def server(machine: Machine) -> Iterator[Server]:
    settings = WAITS_ON if machine.dbms.protocol is MYSQL else {}
    with machine.server(machine.made(), **settings) as server:
        yield server


@contextlib.contextmanager
def waiting_for_a_lock(server: Server, asked: Client) -> Iterator[None]:
    """Let a session of PostgreSQL wait for another one meanwhile."""
    with (
        contextlib.closing(connect(server.endpoint)) as holder,
        contextlib.closing(connect(server.endpoint)) as waiter,
    ):
        holder.ask("SELECT pg_advisory_lock(1)")
        thread = threading.Thread(target=waiter.ask, args=("SELECT pg_advisory_lock(1)",))
        thread.start()
        while not asked.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'"):
            pass
        yield
        holder.ask("SELECT pg_advisory_unlock(1)")
        thread.join()


@pytest.mark.integration
def test_a_session_that_waits_is_told_and_one_that_has_nothing_to_do_is_not(
    server: Server,
) -> None:
    with (
        contextlib.closing(WaitReader("rel", server)) as reader,
        contextlib.closing(connect(server.endpoint)) as other,
    ):
        if server.endpoint.protocol is MYSQL:
            with reader.watching() as waited:
                other.ask("SELECT SLEEP(0.1)")
            event = "wait/synch/cond/sql/Item_func_sleep::cond"
            assert waited[event] >= 0.1
            assert not {"idle", "wait/io/table/sql/handler"} & set(waited)
        else:
            with waiting_for_a_lock(server, other), reader.watching() as waited:
                pass
            assert waited["Lock:advisory"] > 0
            assert not any("Client:" in event or "Activity:" in event for event in waited)


@pytest.mark.integration
def test_the_process_that_answers_is_known_where_it_is_one(server: Server) -> None:
    with contextlib.closing(WaitReader("rel", server)) as reader:
        if server.endpoint.protocol is MYSQL:
            assert (reader.pid, reader.cpu_seconds) == (None, 0.0)
        else:
            children = psutil.Process(server.pid).children()
            assert reader.pid in {child.pid for child in children}
            assert reader.cpu_seconds > 0


@pytest.mark.integration
def test_a_server_whose_settings_leave_waits_out_is_refused(machine: Machine) -> None:
    if machine.dbms.protocol is not MYSQL:
        pytest.skip("PostgreSQL always tells")
    with (
        machine.server(machine.made()) as server,
        pytest.raises(ServerError, match="rel counts no waits"),
    ):
        WaitReader("rel", server)
