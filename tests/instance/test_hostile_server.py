"""A server that attacks: its neighbours, hone and the machine come to no harm."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, InstanceDir, Program
from dbhone.errors import MachineError, ServerError
from dbhone.home import Session
from dbhone.instance.place import remove_place
from dbhone.instance.server import Server
from dbhone.process import can_enclose, why_not_enclosed
from tests.foundation.test_process import is_running
from tests.instance.test_server import Stubborn, pretended, session

__all__ = ["session"]  # a fixture

pytestmark = pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))


class Hostile(Stubborn):
    """Runs an attack in its own scratch, says how it ended, and waits to be stopped."""

    def __init__(self, attack: str) -> None:
        self.script = (
            f"{{ {attack}\n}}; echo ready; trap 'exit 0' INT; while :; do sleep 0.05; done"
        )

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        return Program(argv=("/bin/bash", "-c", self.script))


def attacked(attack: str, session: Session) -> str:
    """Return the log of a server that attacks."""
    server = pretended(Hostile(attack), session)
    server.stop_timeout = 10.0
    with server:
        pass
    return server.place.log.read_text()


@pytest.fixture
def neighbour(session: Session) -> Iterator[Server]:
    """Return another subject's server."""
    server = pretended(Stubborn(), session)
    with contextlib.suppress(ServerError), server:  # it does not stop by itself
        (server.place.data / "rows").write_text("private")
        (server.place.data / "rows").chmod(0o666)
        yield server


def test_it_cannot_signal_its_neighbours(session: Session, neighbour: Server) -> None:
    attacked(f"kill -9 {neighbour.pid}; kill -9 -1; kill -STOP -1; pkill -9 -x sh", session)
    neighbour.check()
    assert is_running(neighbour.pid)


def test_it_sees_neither_data_nor_socket_of_others(session: Session, neighbour: Server) -> None:
    place = neighbour.place
    log = attacked(
        f"cat {place.data}/rows {place.settings} /proc/*/environ; echo x > {place.data}/rows;"
        f" ls {place.sockets} {session.home.root} {session.home.database}",
        session,
    )
    assert "private" not in log
    assert (place.data / "rows").read_text() == "private"
    assert log.count("No such file or directory") >= 5


def test_it_changes_neither_its_settings_nor_its_program(session: Session) -> None:
    server = pretended(Hostile("echo evil >> ../settings; echo evil >> /bin/sh"), session)
    server.stop_timeout = 10.0
    with server:
        pass
    assert "evil" not in server.place.settings.read_text()


def test_what_it_started_ends_with_it(session: Session) -> None:
    mark = f"{600 + os.getpid() / 1e7:.7f}"
    attacked(f"for i in 1 2 3; do setsid nohup sleep {mark} & (sleep {mark} &) ; done", session)
    running = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if mark.encode() in _read(path).split(b"\0")
    ]
    assert running == []


def _read(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def test_it_fills_no_disk(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbhone.instance.programs.longest_file", lambda folder: 1 << 20)
    server = pretended(Hostile("head -c 1G /dev/zero > ../data/much"), session)
    with pytest.raises(MachineError, match="no space left for the data directory"), server:
        server.check()
    assert (server.place.data / "much").stat().st_size == 1 << 20


def test_what_it_leaves_behind_is_read_and_removed_without_harm(session: Session) -> None:
    attack = """
        cd ../data
        mkfifo fifo; ln -s /etc/shadow postmaster.pid; ln -s / root; ln -s /dev/zero zero
        cp /bin/true setuid; chmod 6755 setuid;
        for i in $(seq 60); do mkdir $(printf %0100d 0); cd $(printf %0100d 0); done
    """
    server = pretended(Hostile(attack), session)
    server.stop_timeout = 10.0
    with server:
        pass
    own = server.place.data / "setuid"
    account = server.place.tenant.account
    assert own.stat().st_uid == (account.uid if account else os.geteuid())
    assert stat.S_ISFIFO((server.place.data / "fifo").stat().st_mode)
    remove_place(server.place)
    assert not server.place.data.exists()


def test_it_opens_no_connection(session: Session) -> None:
    log = attacked("exec 3<>/dev/tcp/127.0.0.1/22; exec 3<>/dev/tcp/8.8.8.8/53", session)
    assert "Connection refused" in log
    assert "Network is unreachable" in log


def test_too_many_processes_are_refused_to_it(session: Session) -> None:
    assert "16384" in attacked("ulimit -u", session)
