"""What a tenant gets: an account and a control group that nobody else has meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dbhone import account, cgroup, tenant
from dbhone.account import LENT
from dbhone.cgroup import make_group, remove_dead_groups, usable_memory
from dbhone.command import Command
from dbhone.errors import MachineError
from dbhone.home import Home
from dbhone.process import Process, can_enclose, run, why_not_enclosed
from dbhone.session import Session, open_session
from dbhone.tenant import tenancy

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root lends accounts")
enclosing = pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))
SESSION = "0123456789ab"
limiting = pytest.mark.skipif(cgroup.refusal() is not None, reason=str(cgroup.refusal()))


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Lend accounts among the tests only."""
    tenant._belongs_to_somebody.cache_clear()
    monkeypatch.setattr(tenant, "CLAIMS", tmp_path / "claims")
    return tmp_path / "claims"


def test_who_is_not_root_has_tenants_run_as_himself(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with tenancy(session, is_server=True) as found:
        assert found.account is None


@as_root
@enclosing
@pytest.mark.usefixtures("claims")
def test_tenants_at_the_same_time_have_different_accounts(session: Session) -> None:
    with tenancy(session) as one, tenancy(session) as two:
        assert one.account is not None
        assert two.account is not None
        assert (one.account.uid, two.account.uid) == (LENT[0], LENT[1])
    with tenancy(session) as again:
        assert again.account == one.account


@as_root
@enclosing
def test_another_hone_has_other_accounts_until_it_ends(session: Session, claims: Path) -> None:
    code = (
        "import pathlib, sys, time\n"
        "from dbhone import tenant\n"
        "tenant.CLAIMS = pathlib.Path(sys.argv[1])\n"
        "with tenant._lent() as account:\n"
        "    print(account.uid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    argv = [sys.executable, "-c", code, str(claims)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert int(other.stdout.readline()) == LENT[0]
        with tenancy(session) as found:
            assert found.account is not None
            assert found.account.uid == LENT[1]
        other.send_signal(signal.SIGKILL)
        other.wait()
    with tenancy(session) as found:
        assert found.account is not None
        assert found.account.uid == LENT[0]


@as_root
@enclosing
@pytest.mark.usefixtures("claims")
def test_an_id_that_somebody_has_is_not_lent(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getpwuid(uid: int) -> pwd.struct_passwd:
        if uid == LENT[0]:
            return pwd.struct_passwd(("bench", "x", uid, uid, "", "/home/bench", "/bin/sh"))
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", getpwuid)
    with tenancy(session) as found:
        assert found.account is not None
        assert found.account.uid == LENT[1]


@as_root
@enclosing
@pytest.mark.usefixtures("claims")
def test_that_no_account_is_left_is_told(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant, "LENT", LENT[:1])
    with (
        tenancy(session),
        pytest.raises(MachineError, match="none of the user ids 60707 to 60707 is free"),
        tenancy(session),
    ):
        pass


class TestWithoutSandboxes:
    """Root's servers need the one account then, and builds run as root."""

    @pytest.fixture(autouse=True)
    def unenclosed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.geteuid", lambda: 0)
        monkeypatch.setattr(tenant, "can_enclose", lambda: False)

    def test_servers_run_as_dbhone_and_builds_as_root(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry = pwd.struct_passwd(("dbhone", "x", 999, 995, "", "/home/dbhone", "/bin/false"))
        monkeypatch.setattr("pwd.getpwnam", lambda name: entry)
        with tenant._account(is_server=True) as found:
            assert found == account.Account("dbhone", 999, 995, "/home/dbhone")
        with tenant._account(is_server=False) as found:
            assert found is None

    def test_a_missing_account_is_told_with_the_command_that_makes_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def getpwnam(name: str) -> pwd.struct_passwd:
            raise KeyError(name)

        monkeypatch.setattr("pwd.getpwnam", getpwnam)
        with pytest.raises(MachineError, match="account 'dbhone', which does not exist") as caught:
            tenant._account(is_server=True).__enter__()
        assert caught.value.hint is not None
        assert "useradd --system" in caught.value.hint

    def test_servers_never_run_as_root(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pwd.getpwnam", lambda name: pwd.getpwuid(0))
        with pytest.raises(MachineError, match="is root"):
            tenant._account(is_server=True).__enter__()


@limiting
def test_all_that_a_program_starts_is_in_its_group_and_goes_with_it(session: Session) -> None:
    with tenancy(session) as found:
        assert found.group is not None
        command = Command(argv=("sh", "-c", "sleep 600 & sleep 600"), cwd=Path("/"), tenant=found)
        with Process(command, capture=True) as running:
            for folder in found.group.folders:
                joined = set(map(int, (folder / "cgroup.procs").read_text().split()))
                assert running.pid in joined
            assert found.exceeded() is None
    assert not any(folder.exists() for folder in found.group.folders)


@limiting
def test_who_takes_too_much_memory_is_killed_and_told(session: Session) -> None:
    with tenancy(session, memory=64 << 20) as found:
        # tail keeps what it may have to print
        eater = "exec tail -c 300M <(head -c 300M /dev/zero)"
        finished = run(Command(argv=("bash", "-c", eater), cwd=Path("/"), tenant=found))
        assert finished.status == -signal.SIGKILL
        assert found.exceeded() == "it used more than the 64.0 MiB of memory that it may use"


@limiting
def test_a_limit_is_for_all_processes_together(session: Session) -> None:
    with tenancy(session, memory=128 << 20) as found:
        eater = "tail -c 100M <(head -c 80M /dev/zero; sleep 60) &"
        command = f"{eater} one=$! {eater} wait -n $one $!; kill -9 0"
        run(Command(argv=("bash", "-c", command), cwd=Path("/"), tenant=found, timeout=30))
        assert found.group is not None
        assert found.group.out_of_memory()


@limiting
def test_too_many_processes_are_refused_and_told(session: Session) -> None:
    group = make_group(session.id, memory=usable_memory(), processes=20)
    assert group is not None
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(group.remove)
        found = account.Tenant(group=group)
        bomb = "i=0; while [ $i -lt 40 ]; do sleep 600 & i=$((i + 1)); done"
        run(Command(argv=("dash", "-c", bomb), cwd=Path("/"), tenant=found))
        assert found.exceeded() == (
            "it needed more than the 20 processes and threads that it may have"
        )


@limiting
def test_the_next_hone_ends_and_removes_what_a_dead_one_left_in_any_home(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "from dbhone.cgroup import make_group\n"
        "group = make_group('0123456789ab', memory=1 << 30, processes=100)\n"
        "print(*group.folders, flush=True)\n"
        "time.sleep(600)\n"
    )
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as dead:
        assert dead.stdout is not None
        left = [Path(word) for word in dead.stdout.readline().split()]
        with subprocess.Popen(["sleep", "600"]) as sleeper:
            for folder in left:
                (folder / "cgroup.procs").write_text(str(sleeper.pid))
            with open_session(Home(tmp_path / "one")):
                assert all(folder.exists() for folder in left), "its hone lives"
            dead.kill()
            dead.wait()
            with open_session(Home(tmp_path / "another")):
                assert not any(folder.exists() for folder in left)
            assert sleeper.wait() == -signal.SIGKILL


def test_where_the_kernel_has_no_groups_there_are_none(tmp_path: Path) -> None:
    assert make_group(SESSION, memory=1, processes=1, root=tmp_path) is None
    assert cgroup.refusal(tmp_path) is not None
    remove_dead_groups(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with a tree of version 1, in which groups are plain folders."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:memory:/box\n")
    (tmp_path / "sys/fs/cgroup/memory/box").mkdir(parents=True)
    return tmp_path


class TestGroupsBesideHonesOwn:
    """In version 2 a group with processes has none below it: tenants' groups are beside hone's."""

    @pytest.fixture
    def own(self, tmp_path: Path) -> Path:
        """Return hone's own group, in a slice that divides its memory and processes."""
        own = tmp_path / "sys/fs/cgroup/app.slice/run-1.scope"
        own.mkdir(parents=True)
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text("0::/app.slice/run-1.scope\n")
        (own / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (own / "cgroup.procs").touch()
        (own / "pids.max").write_text("38000\n")
        (own.parent / "cgroup.subtree_control").write_text("memory pids\n")
        (own.parent / "cgroup.procs").touch()
        return own

    @pytest.mark.parametrize(
        ("file", "limit"),
        [
            ("cpu.max", "200000 100000\n"),
            ("cpuset.cpus", "4-7\n"),
            ("io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=max\n"),
            ("memory.high", "4294967296\n"),
            ("memory.max", "4294967296\n"),
        ],
    )
    def test_none_is_made_that_would_escape_a_limit_of_hones_own(
        self, tmp_path: Path, own: Path, file: str, limit: str
    ) -> None:
        (own / file).write_text(limit)
        assert make_group(SESSION, memory=1, processes=1, root=tmp_path) is None
        assert not list(own.parent.glob("dbhone-*"))
        assert f"escape ({file})" in str(cgroup.refusal(tmp_path))

    def test_a_limit_of_the_slice_holds_for_the_groups_in_it(
        self, tmp_path: Path, own: Path
    ) -> None:
        for name in ("cpu.max", "memory.high", "memory.max"):
            (own / name).write_text("max 100000\n" if name == "cpu.max" else "max\n")
        for name in ("cpuset.cpus", "io.max"):
            (own / name).write_text("\n")
        (own.parent / "cpu.max").write_text("200000 100000\n")
        assert cgroup.refusal(tmp_path) is None
        group = make_group(SESSION, memory=1, processes=1, root=tmp_path)
        assert group is not None
        assert [folder.parent for folder in group.folders] == [own.parent]
        group.remove()


def test_groups_of_others_and_those_that_hone_is_in_are_no_dead_ones(root: Path) -> None:
    tree, ours = root / "sys/fs/cgroup/memory", f"dbhone-{SESSION}-01234567"
    (root / "proc/self/cgroup").write_text(f"3:memory:/{ours}/hone\n")
    kept = {
        f"{ours}/hone",
        "dbhone-nightly.service",
        "dbhone-x",
        f"dbhone-{SESSION}-01234567.scope",
    }
    for name in (*kept, f"box/dbhone-{SESSION}-89abcdef", "dbhone-trial7-89abcdef"):
        (tree / name).mkdir(parents=True)
    remove_dead_groups(root)
    left = {str(path.relative_to(tree)) for path in tree.rglob("*")}
    assert left == {*kept, ours, "box"}


class TestAnotherHoneSweepsMeanwhile:
    """It may take a new group for a dead hone's, until that is locked."""

    @pytest.fixture(params=["removed", "locked"])
    def swept(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        """Let the first group be removed, or locked, before its maker locks it; return it."""
        swept: list[Path] = []
        lock = fcntl.flock

        def flock(descriptor: int, operation: int) -> None:
            folder = Path(f"/proc/self/fd/{descriptor}").readlink()
            if not swept:
                swept.append(folder)
                if request.param == "locked":
                    raise BlockingIOError
                folder.rmdir()
            lock(descriptor, operation)

        monkeypatch.setattr("fcntl.flock", flock)
        return swept

    def test_then_a_tenant_gets_another_group(self, root: Path, swept: list[Path]) -> None:
        group = make_group(SESSION, memory=1, processes=1, root=root)
        assert group is not None
        assert swept
        assert not swept[0].exists()
        assert all(folder.is_dir() for folder in group.folders)
        remove_dead_groups(root)
        assert all(folder.is_dir() for folder in group.folders), "it is locked"
        group.remove()

    def test_a_refused_limit_is_not_tried_again(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried: list[Path] = []

        def limit(folder: Path, _memory: int, _processes: int) -> None:
            tried.append(folder)
            raise PermissionError

        monkeypatch.setattr(cgroup, "_limit", limit)
        assert make_group(SESSION, memory=1, processes=1, root=root) is None
        assert len(tried) == 1
        assert not tried[0].exists()
