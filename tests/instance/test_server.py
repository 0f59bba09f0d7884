"""Real servers: made, started, asked, stopped, killed; and nothing of them stays."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dbhone.account import NAME
from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import MachineError, ServerError
from dbhone.home import Home
from dbhone.instance import data
from dbhone.instance.client import connect
from dbhone.instance.place import remove_place
from dbhone.session import Session, open_session
from tests.foundation.processes import is_running, wait_until_gone
from tests.instance.conftest import Machine
from tests.instance.pretended_servers import Honest, Stubborn, pretended, session

__all__ = ["session"]  # a fixture

integration = pytest.mark.integration


def greeting(endpoint: Endpoint, folder: Path) -> bytes:
    """Say hello as a client does, and return what the server answers."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(endpoint.socket))
        if endpoint.protocol is POSTGRESQL:
            words = ("user", endpoint.user, "database", endpoint.database, "", "")
            body = (196608).to_bytes(4, "big") + "\0".join(words).encode()
            client.sendall((len(body) + 4).to_bytes(4, "big") + body)
        return client.recv(4096)


@integration
def test_a_server_starts_answers_and_stops(machine: Machine) -> None:
    place = machine.made()
    with machine.server(place) as server:
        answer = greeting(server.endpoint, place.scratch)
        if server.endpoint.protocol is POSTGRESQL:
            assert answer.startswith(b"R\0\0\0\x08\0\0\0\0")  # authenticated, without a password
        else:
            assert machine.installation.version.encode() in answer
        pid = server.pid
        server.check()
        server.stop()
        server.stop()
        assert not is_running(pid)
    assert not server.endpoint.socket.exists()
    remove_place(place)


@integration
def test_a_server_knows_time_zones_by_their_names(machine: Machine) -> None:
    noon, names = "2024-07-01 12:00:00", ("UTC", "Europe/Berlin")
    questions = {
        "postgresql": "SELECT (timestamp '{0}' AT TIME ZONE '{1}' AT TIME ZONE '{2}')::text",
        "mariadb": "SELECT CAST(CONVERT_TZ('{0}', '{1}', '{2}') AS CHAR)",
    }
    question = questions[machine.dbms.name].format(noon, *names)
    setting = {"postgresql": "timezone", "mariadb": "default_time_zone"}[machine.dbms.name]
    server = machine.server(machine.made(), **{setting: names[1]})
    with server, contextlib.closing(connect(server.endpoint)) as client:
        ((answer,),) = client.ask(question)
    assert answer == "2024-07-01 14:00:00"


def test_a_server_is_private(machine: Machine) -> None:
    place = machine.made()
    account = place.tenant.account
    uid = os.geteuid() if account is None else account.uid
    assert uid != 0
    assert place.data.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_uid for path in place.data.rglob("*")} == {uid}
    with machine.server(place) as server:
        process = psutil.Process(server.pid)
        whole = (process, *process.children(recursive=True))
        assert {each.uids().effective for each in whole} == {uid}
        assert [each.net_connections(kind="inet") for each in whole] == [[] for _ in whole]
        assert process.environ()["USER"] != "root" or uid == 0
        assert "HOME" in process.environ()


@integration
def test_a_server_that_is_killed_is_seen(machine: Machine) -> None:
    place = machine.made()
    with (
        pytest.raises(ServerError, match=r"crashed: it was ended by SIGKILL") as caught,
        machine.server(place) as server,
    ):
        os.kill(server.pid, signal.SIGKILL)
        wait_until_gone(server.pid)
        while server._process is not None and server._process.alive():
            time.sleep(0.01)
        server.check()
    assert caught.value.log is not None
    assert caught.value.log.parent == machine.session.home.logs
    assert caught.value.log.read_text()
    assert caught.value.hint is not None


@integration
def test_one_process_that_crashes_is_a_crash_of_the_server(machine: Machine) -> None:
    if machine.dbms.protocol is not POSTGRESQL:
        pytest.skip("it has only one process")
    place = machine.made()
    with (
        pytest.raises(ServerError, match=r"was terminated by signal 11"),
        machine.server(place) as server,
    ):
        children = psutil.Process(server.pid).children()
        writer = next(each for each in children if "background writer" in " ".join(each.cmdline()))
        writer.send_signal(signal.SIGSEGV)
        while server._process is not None and server._process.alive():
            time.sleep(0.01)
        server.check()


@integration
def test_a_bad_value_is_told_in_the_servers_own_words(machine: Machine) -> None:
    place = machine.made()
    words = {
        POSTGRESQL: 'invalid value for parameter "max_connections": "banana"',
        MYSQL: "banana",
    }
    with pytest.raises(ServerError, match="did not start") as caught:
        machine.server(place, max_connections="banana").__enter__()
    assert words[machine.dbms.protocol] in caught.value.message
    assert "max" in caught.value.message
    assert caught.value.log is not None
    assert "banana" in caught.value.log.read_text()


@integration
def test_data_that_another_version_made_is_told_as_such(machine: Machine) -> None:
    if machine.dbms.protocol is not POSTGRESQL:
        pytest.skip("InnoDB's files do not say it where a test could write it")
    place = machine.made()
    version = place.data / "PG_VERSION"
    version.write_text("9.4\n")
    with pytest.raises(ServerError, match=r"was initialized by PostgreSQL version 9\.4") as caught:
        machine.server(place).__enter__()
    assert caught.value.hint is not None
    assert str(machine.session.home.data) in caught.value.hint


@integration
def test_saved_data_is_restored_for_a_server(machine: Machine) -> None:
    place = machine.made()
    marker = "marker.txt"
    (place.data / marker).write_text("loaded")
    before = {path.relative_to(place.data) for path in place.data.rglob("*")}
    name = data.key(machine.dbms.name, machine.installation.version, ["sysbench", 4, 1000])
    assert data.find(machine.session.home, name) is None
    data.save(machine.session, name, place.data)
    remove_place(place)
    saved = data.find(machine.session.home, name)
    assert saved is not None
    for _ in range(2):
        place = machine.place()
        data.restore(saved, place)
        assert {path.relative_to(place.data) for path in place.data.rglob("*")} == before
        assert place.data.stat().st_mode & 0o777 == 0o700
        (place.data / marker).unlink()
        with machine.server(place):
            pass
        remove_place(place)


@integration
def test_nothing_of_a_server_outlives_a_hone_that_is_killed(machine: Machine) -> None:
    home = machine.session.home.root.with_name("other")
    code = (
        "import pathlib, sys, time\n"
        "from dbhone.home import Home\n"
        "from dbhone.session import open_session\n"
        "from tests.instance import conftest, lives\n"
        "dbms, prefix = {'postgresql': (lives.Postgresql(), lives.POSTGRESQL),"
        " 'mariadb': (lives.Mariadb(), lives.MARIADB)}[sys.argv[2]]\n"
        "with open_session(Home(pathlib.Path(sys.argv[1]))) as session:\n"
        "    machine = conftest.Machine(\n"
        "        dbms, lives.installed(dbms, prefix), session)\n"
        "    with machine.server(machine.made()) as server:\n"
        "        print(server.pid, flush=True)\n"
        "        time.sleep(600)\n"
    )
    argv = [sys.executable, "-c", code, str(home), machine.dbms.name]
    root = Path(__file__).parents[2]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=root) as hone:
        assert hone.stdout is not None
        pid = int(hone.stdout.readline())
        family = [pid, *(each.pid for each in psutil.Process(pid).children(recursive=True))]
        hone.kill()
    for each in family:
        wait_until_gone(each)
    with open_session(Home(home)):
        assert len(list((home / "scratch").iterdir())) == 0


class Silent(Stubborn):
    script = "echo still thinking; sleep 600"


class Full(Stubborn):
    script = "echo 'could not write: No space left on device'; exit 1"


class WithoutAio(Stubborn):
    script = "echo 'InnoDB: io_setup() failed with EAGAIN after 5 attempts.'; exit 1"


def test_a_server_that_does_not_stop_is_killed_and_told(session: Session) -> None:
    with (
        pytest.raises(ServerError, match=r"PostgreSQL 1\.0 did not stop within 0 s and was killed"),
        pretended(Stubborn(), session) as server,
    ):
        pid = server.pid
    assert not is_running(pid)


def test_a_server_that_does_not_stop_cleanly_is_told(session: Session) -> None:
    with (
        pytest.raises(ServerError, match="did not stop cleanly: it ended with exit code 3"),
        pretended(Honest(), session),
    ):
        pass


def test_a_server_that_does_not_get_ready_is_ended(session: Session) -> None:
    server = pretended(Silent(), session)
    server.timeout = 0.2
    with pytest.raises(ServerError, match="did not become ready within") as caught:
        server.__enter__()
    assert caught.value.log is not None
    assert "still thinking" in caught.value.log.read_text()
    with pytest.raises(ServerError, match="is not running"):
        _ = server.pid


def test_a_full_disk_is_the_machines_fault(session: Session) -> None:
    with pytest.raises(MachineError, match="no space left for the data directory") as caught:
        pretended(Full(), session).__enter__()
    assert caught.value.hint is not None


def test_io_threads_that_exceed_what_the_kernel_allows_are_told(session: Session) -> None:
    with pytest.raises(ServerError, match="did not start") as caught:
        pretended(WithoutAio(), session).__enter__()
    assert "sysctl fs.aio-max-nr" in (caught.value.hint or "")


def test_an_exception_kills_the_server_and_stays_what_it_is(session: Session) -> None:
    with pytest.raises(KeyError), pretended(Stubborn(), session) as server:
        pid = server.pid
        raise KeyError
    assert not is_running(pid)


def test_levers_and_the_accounts_name_reach_the_server(session: Session) -> None:
    name = NAME if os.geteuid() == 0 else os.environ.get("USER", "")
    with (
        pytest.raises(ServerError, match="exit code 3"),
        pretended(Honest(), session, {"LEVER": "jemalloc"}) as server,
    ):
        assert f"ready {name}" in server.place.log.read_text()
        assert "jemalloc" in server.place.log.read_text()


def test_keys_tell_data_apart() -> None:
    keys = {
        data.key("mariadb", "10.11.6", [1]),
        data.key("mariadb", "10.11.6", [2]),
        data.key("mariadb", "11.8.6", [1]),
        data.key("postgresql", "10.11.6", [1]),
    }
    assert len(keys) == 4
    assert data.key("mariadb", "10.11.6", [1]) in keys
