"""``hone serve`` as a program: a real socket, read by a real client, until it is told to end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dbhone.errors import MachineError, UsageError
from dbhone.home import Home
from dbhone.measurement.store import Store
from dbhone.serve.server import take_place
from tests.report.sample_run import a_run
from tests.serve.stored import keep


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    server: str | None
    body: bytes


@dataclass(frozen=True, kw_only=True)
class Serving:
    """A hone that serves. ``address`` is what it printed."""

    process: subprocess.Popen[str]
    address: str

    def get(self, path: str, **headers: str) -> Answer:
        place = urlsplit(self.address)
        with closing(HTTPConnection(str(place.hostname), place.port, timeout=60)) as connection:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return Answer(
                status=answer.status, server=answer.getheader("Server"), body=answer.read()
            )


def command(home: Home, *words: str) -> tuple[str, ...]:
    hone = (sys.executable, "-m", "dbhone", "--home", str(home.root), "--verbose")
    return (*hone, "serve", *words)


@contextmanager
def serving(home: Home, *words: str) -> Iterator[Serving]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command(home, *words), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield Serving(process=process, address=process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.root.mkdir()
    with Store.open(home.database) as store:
        keep(store, a_run(title="Is it <served>?"))
    return home


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pages_are_served_until_the_user_ends_it(home: Home, number: signal.Signals) -> None:
    with serving(home, "--port", "0") as served:
        assert served.address.startswith("http://127.0.0.1:")
        answer = served.get("/")
        assert answer.status == 200
        assert b"Is it &lt;served&gt;?" in answer.body
        assert answer.server is None
        assert served.get("/", Host="evil.example").status == 421
        assert served.process.stderr is not None
        lines = [served.process.stderr.readline().rstrip() for _ in range(3)]
        served.process.send_signal(number)
        _, told = served.process.communicate(timeout=60)
        assert served.process.returncode == 0
    assert lines[0] == "Ctrl-C ends it."
    assert lines[1].startswith("127.0.0.1 GET / 200 ")
    assert lines[2].startswith("127.0.0.1 GET / 421 ")
    assert told == ""


def test_a_port_that_is_taken_is_told(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            command(home, "--port", port), capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken by another program" in done.stderr
    assert "--port 0" in done.stderr


def test_a_store_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    done = subprocess.run(
        command(Home(tmp_path / "none"), "--port", "0"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "there is nothing in the store" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "none").exists()


class TestPlace:
    def test_loopback_is_known_only_by_its_own_addresses(self) -> None:
        place = take_place("127.0.0.1", 0)
        place.listening.close()
        assert place.hosts.loopback
        assert place.hosts.know("localhost")
        assert not place.hosts.know(socket.gethostname() + ".example")
        assert not place.hosts.know("192.0.2.7")

    def test_all_addresses_are_known_by_the_machines_name_and_any_address(self) -> None:
        place = take_place("0.0.0.0", 0)
        place.listening.close()
        assert not place.hosts.loopback
        assert place.hosts.know(f"192.0.2.7:{urlsplit(place.address).port}")
        assert place.hosts.know(str(urlsplit(place.address).hostname))

    def test_a_machines_name_may_have_capitals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "gethostname", lambda: "MyBox")
        place = take_place("0.0.0.0", 0)
        place.listening.close()
        assert place.hosts.know(urlsplit(place.address).netloc)

    def test_other_names_are_not_known(self) -> None:
        place = take_place("0.0.0.0", 0)
        place.listening.close()
        assert not place.hosts.know("evil.example")

    @pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a b"])
    def test_what_is_no_address_of_this_machine_is_wrong_use(self, host: str) -> None:
        with pytest.raises(UsageError, match="is not an address of this machine"):
            take_place(host, 0)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may use any port")
    def test_a_port_that_may_not_be_used_is_told(self) -> None:
        with pytest.raises(MachineError, match="may not be used by this account"):
            take_place("127.0.0.1", 1)
