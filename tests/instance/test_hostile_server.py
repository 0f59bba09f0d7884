"""A server that attacks: its neighbours, hone and the machine come to no harm."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone import cgroup
from dbhone.command import Command
from dbhone.dbms.base_server import Installation, InstanceDir, Program, Settings
from dbhone.errors import MachineError, ServerError
from dbhone.instance.client import connect
from dbhone.instance.open_files import limit_of, most_open_files
from dbhone.instance.place import fresh_database, remove_place
from dbhone.instance.server import Server
from dbhone.process import can_enclose, run, why_not_enclosed
from dbhone.sandbox import MOST_FILES, MOST_PROCESSES, Sandbox
from dbhone.session import Session
from dbhone.workload.drive import DriverCommand, drive
from dbhone.workload.drivers.base import DriverRequest, EmbeddedDriver, load_driver_of
from dbhone.workload.workload import Workload
from tests.foundation.processes import is_running
from tests.instance import lives
from tests.instance.pretended_servers import Stubborn, pretended, session

__all__ = ["session"]  # a fixture

pytestmark = pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives each an account")
limiting = pytest.mark.skipif(cgroup.refusal() is not None, reason=str(cgroup.refusal()))


class Hostile(Stubborn):
    """Runs an attack in its own scratch, says how it ended, and waits to be stopped.

    Its settings need so many ``files`` open.
    """

    files = 0

    def __init__(self, attack: str) -> None:
        self.script = (
            f"{{ {attack}\n}}; trap 'exit 0' INT; echo ready; while :; do sleep 0.05; done"
        )

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        return Program(argv=("/bin/bash", "-c", self.script))

    def files_needed(self, settings: Settings) -> int:
        return self.files


def hostile(attack: str, session: Session, files: int = 0) -> Server:
    """Return a server that attacks once it is started."""
    dbms = Hostile(attack)
    dbms.files = files
    server = pretended(dbms, session)
    server.stop_timeout = 10.0
    return server


def ended(attack: str, session: Session) -> Server:
    """Return a server that attacked and was stopped."""
    with hostile(attack, session) as server:
        pass
    return server


def attacked(attack: str, session: Session) -> str:
    """Return the log of a server that attacks."""
    return ended(attack, session).place.log.read_text()


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


def test_it_does_not_lead_hone_to_the_socket_of_another(
    session: Session, neighbour: Server
) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(neighbour.endpoint.socket))
        listening.listen()
        listening.setblocking(False)
        name = neighbour.endpoint.socket.name
        with hostile(f"ln -s {neighbour.endpoint.socket} ../s/{name}", session) as server:
            assert server.endpoint.socket.is_symlink()
            with pytest.raises(ServerError, match="is a link, not a socket"):
                connect(server.endpoint)
        with pytest.raises(BlockingIOError):
            listening.accept()


class Misleading(Hostile):
    """Puts a link where PostgreSQL says that it is ready."""

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        self.script = f"ln -s ../settings {place.data}/postmaster.pid; sleep 60"
        return super().start(installation, place)

    def is_ready(self, place: InstanceDir, log: str) -> bool:
        return lives.Postgresql.is_ready(self, place, log)


def test_what_it_puts_in_the_place_of_a_file_that_is_read_is_an_error_of_its_own(
    session: Session,
) -> None:
    server = pretended(Misleading(""), session)
    with pytest.raises(ServerError, match=r"postmaster\.pid is a link, not an"), server:
        pass


def test_it_changes_neither_its_settings_nor_its_program(session: Session) -> None:
    server = ended("echo evil >> ../settings; echo evil >> /bin/sh", session)
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
    server = ended(attack, session)
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
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    allowed = min(MOST_PROCESSES, hard) if hard >= 0 else MOST_PROCESSES
    assert f"{allowed}\n" in attacked("ulimit -u", session)


def test_it_opens_as_many_files_as_the_hard_limit_allows_whatever_the_soft_one_is(
    session: Session,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        log = attacked("ulimit -Sn", session)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert f"{MOST_FILES if hard < 0 else min(MOST_FILES, hard)}\n" in log


@as_root
def test_root_lets_it_open_the_files_that_its_settings_need(session: Session) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if not 0 <= hard < most_open_files():
        pytest.skip("nothing can be raised here")
    with hostile("true", session, files=hard + 1) as server:
        assert limit_of(server.pid) == hard + 1


def test_it_traces_no_neighbour(session: Session, neighbour: Server) -> None:
    trace = f"import ctypes; print('traced', ctypes.CDLL(None).ptrace(16, {neighbour.pid}, 0, 0))"
    log = attacked(f'/usr/bin/python3 -I -c "{trace}"', session)
    assert "traced -1" in log
    assert "TracerPid:\t0" in Path(f"/proc/{neighbour.pid}/status").read_text()


@as_root
def test_it_is_another_user_than_its_neighbour_with_files_of_its_own(
    session: Session, neighbour: Server
) -> None:
    server = ended("id; cat /etc/passwd /etc/group", session)
    own, other = server.place.tenant.account, neighbour.place.tenant.account
    assert own is not None
    assert other is not None
    assert own.uid != other.uid
    log = server.place.log.read_text()
    assert f"uid={own.uid}(dbhone) gid={own.gid}(dbhone)" in log
    assert {line.split(":")[0] for line in log.splitlines() if line.count(":") == 6} == {
        "root",
        "dbhone",
        "nobody",
    }
    # What would hold if it saw the neighbour's data after all.
    rows = neighbour.place.data / "rows"
    reader = Command(argv=("cat", str(rows)), cwd=Path("/"), tenant=server.place.tenant)
    assert "Permission denied" in run(reader).text()


@limiting
def test_its_fork_bomb_is_its_own_trouble(
    session: Session, neighbour: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.tenant.MOST_PROCESSES", 100)
    server = pretended(Hostile("dash -c 'while :; do sleep 60 & done'; pkill sleep"), session)
    server.stop_timeout = 20.0
    with server:
        neighbour.check()
        assert is_running(neighbour.pid)  # it starts a process every 50 ms
        assert neighbour.place.tenant.exceeded() is None
        assert server.place.tenant.exceeded() == (
            "it needed more than the 100 processes and threads that it may have"
        )
    assert "Cannot fork" in server.place.log.read_text()


_EATER = "tail -c 300M <(head -c 300M /dev/zero) > /dev/null"


@limiting
def test_a_server_that_takes_too_much_memory_is_ended_and_told(
    session: Session, neighbour: Server
) -> None:
    with (
        pytest.raises(ServerError) as caught,
        pretended(Hostile(f"exec {_EATER}"), session, memory=64 << 20),
    ):
        pass
    assert caught.value.message == (
        "PostgreSQL 1.0 did not start: it was ended by SIGKILL,"
        " and it used more than the 64.0 MiB of memory that it may use"
    )
    assert caught.value.hint == (
        "choose a smaller cache (shared_buffers), or fewer subjects:"
        " they share the machine's memory"
    )
    neighbour.check()
    assert neighbour.place.tenant.exceeded() is None


@limiting
def test_a_server_that_loses_a_process_for_want_of_memory_is_ended_and_told(
    session: Session, neighbour: Server
) -> None:
    server = pretended(Hostile(_EATER), session, memory=64 << 20)
    # Version 1 of control groups kills that process, version 2 all of the server.
    with (
        pytest.raises(
            ServerError, match=r"did not start: it was|lost a process: it used"
        ) as caught,
        server,
    ):
        server.check()
    assert "it used more than the 64.0 MiB of memory that it may use" in caught.value.message
    with pytest.raises(ServerError, match="is not running"):
        _ = server.pid
    neighbour.check()


@as_root
def test_embedded_databases_are_apart_too(session: Session) -> None:
    with fresh_database(session) as (mine, tenant), fresh_database(session) as (other, owner):
        other.write_text("private")
        other.chmod(0o666)
        command = Command(
            argv=("sh", "-c", f"cat {other}; echo x > {other}; echo mine > {mine}; id -u"),
            cwd=mine.parent,
            sandbox=Sandbox(writable=(mine.parent,)),
            tenant=tenant,
        )
        said = run(command).text()
        assert tenant.account is not None
        assert owner.account is not None
        assert said.splitlines()[-1] == str(tenant.account.uid) != str(owner.account.uid)
        assert (mine.read_text(), other.read_text()) == ("mine\n", "private")
    assert not mine.parent.exists()


@limiting
def test_a_driver_that_takes_too_much_memory_is_told(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("dbhone.tenant.usable_memory", lambda: 64 << 20)
    driver = load_driver_of(EmbeddedDriver, "speedtest1")
    monkeypatch.setattr(
        type(driver), "argv", lambda self, request: ("/bin/bash", "-c", f"exec {_EATER}")
    )
    task = Workload.usual("sqlite").tasks()[0]
    with fresh_database(session) as (database, tenant):
        result = drive(
            DriverCommand(
                driver=driver,
                request=DriverRequest(program=Path("/bin/bash"), task=task, database=database),
                folder=database.parent,
                version="1",
                timeout=60.0,
                sandbox=Sandbox(writable=(database.parent,)),
                tenant=tenant,
            )
        )
    assert result.failure == (
        "speedtest1 was ended by SIGKILL,"
        " and it used more than the 64.0 MiB of memory that it may use"
    )
    assert result.error is not None
    assert result.error.hint is not None
