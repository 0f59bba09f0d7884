"""A sandbox: what an enclosed program sees and may do, and that nothing of it gets out."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from dbhone import process
from dbhone.account import Tenant, lendable
from dbhone.account import own as give
from dbhone.command import Command
from dbhone.errors import ToolError
from dbhone.home import Home
from dbhone.process import Finished, Process, can_enclose, run, why_not_enclosed
from dbhone.program_folders import program_folders, python_folders
from dbhone.sandbox import GO_FD, Sandbox, argv_of
from tests.foundation.processes import is_running, wait_until_gone

enclosing = pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))
pytestmark = enclosing


LENT = lendable(61183)
"""An account that is lent last: no hone beside the tests has it."""


def _tenant() -> Tenant:
    """Return a tenant with an account other than root if root runs the tests."""
    return Tenant(account=LENT if os.geteuid() == 0 else None)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that the enclosed program may write to, and reach."""
    own = tmp_path / "own"
    own.mkdir()
    give(own, _tenant().account)
    yield own


def shell(code: str, folder: Path, *readable: Path, **more: object) -> Finished:
    return run(command(code, folder, *readable, **more))


def command(code: str, folder: Path, *readable: Path, **more: object) -> Command:
    sandbox = Sandbox(writable=(folder,), readable=readable)
    words = {"sandbox": sandbox, "tenant": _tenant(), "isolated": True, **more}
    return Command(argv=("sh", "-c", code), cwd=folder, **words)  # type: ignore[arg-type]


def python(code: str, folder: Path) -> Command:
    sandbox = Sandbox(writable=(folder,), readable=python_folders(Home(folder)))
    argv = (sys.executable, "-I", "-c", code)
    return Command(argv=argv, cwd=folder, sandbox=sandbox, tenant=_tenant(), isolated=True)


def test_its_output_and_exit_code_are_returned(folder: Path) -> None:
    finished = shell("echo hello; exit 3", folder)
    assert (finished.text(), finished.status) == ("hello\n", 3)


def test_an_exit_code_that_no_signal_has_stays(folder: Path) -> None:
    assert shell("exit 255", folder).status == 255


def test_a_signal_that_ends_it_is_told(folder: Path) -> None:
    assert shell("kill -SEGV $$", folder).status == -signal.SIGSEGV


def test_its_cpu_time_is_counted(folder: Path) -> None:
    finished = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", folder)
    assert 0.05 < finished.cpu_seconds < 10


def test_a_missing_program_is_a_tool_error(folder: Path) -> None:
    with pytest.raises(ToolError, match="cannot run no-such-program: No such file"):
        run(replace(command("", folder), argv=("no-such-program",)))


def test_it_writes_into_its_own_folder(folder: Path) -> None:
    assert shell("echo kept > file", folder).ok
    assert (folder / "file").read_text() == "kept\n"


def test_it_writes_nowhere_else(folder: Path) -> None:
    beside = folder.parent / "beside"
    beside.mkdir(mode=0o777)
    beside.chmod(0o777)
    for place in (beside, Path("/usr/lib"), Path("/etc"), Path("/")):
        assert not shell(f"echo x > {place}/new", folder, beside).ok
        assert not (place / "new").exists()
    # Below /tmp, where pytest's folders are, it has folders of its own.
    shell(f"echo x > {folder.parent}/new", folder)
    assert not (folder.parent / "new").exists()


def test_it_sees_no_file_of_the_machine_but_the_systems(folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.write_text("key")
    secret.chmod(0o666)
    assert not shell(f"cat {secret}", folder).ok
    for path in ("/root", "/home", "/etc/shadow", "/etc/ssh", "/var/lib", "/run"):
        assert shell(f"test ! -e {path}", folder).ok, path


def test_it_reads_what_it_is_given(folder: Path) -> None:
    given = folder.parent / "given"
    given.write_text("text")
    given.chmod(0o666)
    assert shell(f"cat {given}", folder, given).text() == "text"
    assert not shell(f"echo changed > {given}", folder, given).ok


def test_what_it_is_given_may_be_missing(folder: Path) -> None:
    assert shell("true", folder, folder.parent / "none").ok


def test_temporary_files_are_its_own(folder: Path) -> None:
    name = f"dbhone-{os.getpid()}"
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        assert shell(f"echo x > {place}/{name}", folder).ok
        assert not (Path(place) / name).exists()


def test_parallel_queries_may_share_half_of_the_memory(folder: Path) -> None:
    sizes = shell("df -B1 --output=size /tmp /dev/shm", folder).text().split()[1:]
    temporary, shared = map(int, sizes)
    assert temporary == 1 << 30
    assert shared == pytest.approx(psutil.virtual_memory().total / 2, rel=0.05)


def test_it_has_no_network(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        assert "Connection refused" in run(python(code, folder)).text()
    names = shell("cat /proc/net/dev", folder).text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in names] == ["lo"]


def test_it_reaches_no_abstract_socket_of_the_machine(folder: Path) -> None:
    name = f"dbhone-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        code = rf"import socket; socket.socket(socket.AF_UNIX).connect('\0{name}')"
        assert "Connection refused" in run(python(code, folder)).text()


def test_its_socket_in_its_folder_takes_connections_from_outside(folder: Path) -> None:
    code = "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); s.accept()"
    with Process(python(code, folder), capture=True) as server:
        while not (folder / "s").exists():
            assert server.alive()
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX) as client:
            while client.connect_ex(str(folder / "s")):  # it has bound, and does not listen yet
                time.sleep(0.01)
        assert server.finish().ok


def test_it_sees_and_signals_no_process_of_the_machine(folder: Path) -> None:
    with subprocess.Popen(
        ["sleep", "600"], user=LENT.uid if os.geteuid() == 0 else None
    ) as neighbour:
        finished = shell(
            f"ls -d /proc/{neighbour.pid}; kill -9 {neighbour.pid}; kill -9 -1", folder
        )
        assert not finished.ok
        assert neighbour.poll() is None
        neighbour.kill()


def test_it_has_no_rights_of_root(folder: Path) -> None:
    status = shell("cat /proc/self/status", folder).text()
    rights = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith("Cap"))
    assert {int(rights[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {0}
    assert "NoNewPrivs:\t1" in status


def test_it_changes_nothing_of_the_kernel(folder: Path) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/power/state"):
        assert not shell(f"echo x > {path}", folder).ok
    assert not shell("chmod 0 /dev/null", folder).ok
    assert Path("/proc/sys/kernel/core_pattern").read_text() == pattern


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_root_is_never_enclosed(folder: Path) -> None:
    with pytest.raises(AssertionError, match="root is never enclosed"):
        shell("true", folder, tenant=None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the account")
def test_it_runs_as_the_account(folder: Path) -> None:
    status = shell("cat /proc/self/status; id -G", folder).text()
    assert "Uid:" + f"\t{LENT.uid}" * 4 in status
    assert status.splitlines()[-1] == str(LENT.gid)
    assert f"CapBnd:\t{0:016x}" in status


def test_a_file_with_the_rights_of_its_owner_gives_none(folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.copy("/usr/bin/id", folder / "id")
        (folder / "id").chmod(0o4755)
        assert shell("./id -u", folder).text().strip() == str(LENT.uid)


def test_the_environment_reaches_the_program_alone(folder: Path) -> None:
    """A stranger's library, loaded into what makes the sandbox, would run as root."""
    env = {"LD_PRELOAD": "/no/such/library.so", "NAME": "a value = with\nall kinds"}
    finished = shell('printf %s "$NAME"', folder, env=env)
    assert finished.text().endswith("a value = with\nall kinds")
    # The loader complains once, in the shell: printf is part of it.
    assert finished.text().count("no/such/library.so") == 1


def test_a_folder_with_another_place_is_seen_there_only(folder: Path) -> None:
    sandbox = Sandbox(writable=(folder,), seen_at={folder: Path("/elsewhere")})
    code = f"pwd; echo made > file; mkdir below && (cd below && pwd); ls -d {folder}"
    finished = shell(code, folder, sandbox=sandbox)
    assert finished.text().splitlines()[:2] == ["/elsewhere", "/elsewhere/below"]
    assert "No such file" in finished.text()
    assert (folder / "file").read_text() == "made\n"


def test_its_limits_hold(folder: Path) -> None:
    sandbox = Sandbox(writable=(folder,), file_bytes=1 << 20)
    finished = shell("ulimit -c; ulimit -f; head -c 2M /dev/zero > file", folder, sandbox=sandbox)
    assert finished.text().splitlines()[:2] == ["0", "2048"]
    assert (folder / "file").stat().st_size == 1 << 20


def test_it_gets_signals_and_can_be_stopped(folder: Path) -> None:
    code = "trap 'echo got; exit 7' TERM; echo ready; while :; do sleep 0.01; done"
    with Process(command(code, folder), capture=True) as running:
        assert running.stdout is not None
        assert os.read(running.stdout.fileno(), 100) == b"ready\n"
        running.signal(signal.SIGSTOP)
        status = Path(f"/proc/{running.pid}/status")
        while "State:\tT" not in status.read_text():
            time.sleep(0.01)
        running.signal(signal.SIGCONT)
        running.signal(signal.SIGTERM)
        assert running.finish().status == 7


def test_it_takes_everything_with_it_that_it_started(folder: Path) -> None:
    code = "setsid sh -c 'sleep 600 & sleep 600' & sleep 0.1; echo"
    with Process(command(code, folder), capture=True) as running:
        first = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        children: list[str] = []
        while running.alive() and not (children := first.read_text().split()):
            time.sleep(0.001)
        running.finish()
    for pid in children:
        wait_until_gone(int(pid))


@pytest.mark.parametrize("victim", ["hone", "supervisor", "bubblewrap"])
def test_it_ends_with_whoever_holds_it(folder: Path, victim: str) -> None:
    code = (
        "import pathlib, sys\n"
        "from dbhone.process import Command, Process\n"
        "from dbhone.sandbox import Sandbox\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "from dbhone.account import Tenant, lendable\n"
        f"tenant = Tenant(account=lendable({LENT.uid}) if {os.geteuid()} == 0 else None)\n"
        f"command = Command(argv=('sleep', '600'), cwd=folder, tenant=tenant,"
        " sandbox=Sandbox(writable=(folder,)))\n"
        "running = Process(command, capture=True)\n"
        "print(running.pid, running._popen.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hone:
        assert hone.stdout is not None
        program, supervisor = map(int, hone.stdout.readline().split())
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        assert is_running(program)
        victims = {"hone": hone.pid, "supervisor": supervisor, "bubblewrap": int(children[0])}
        os.kill(victims[victim], signal.SIGKILL)
        for pid in (program, int(children[0])):
            wait_until_gone(pid)
        if victim != "bubblewrap":
            wait_until_gone(supervisor)
        hone.kill()


@pytest.mark.parametrize(("said", "begun"), [(b"", False), (b"\n", True)])
def test_a_program_begins_only_if_its_supervisor_lived_to_say_so(
    folder: Path, said: bytes, begun: bool
) -> None:
    made = folder / "made"
    argv = argv_of(("touch", str(made)), bwrap="bwrap", environment={}, account=None)
    enclosed = argv[argv.index("--") + 1 :]
    redirected = ("/bin/sh", "-c", f'exec "$@" {GO_FD}<&0', "sh", *enclosed)
    subprocess.run(redirected, input=said, check=False)
    assert made.exists() == begun


def test_where_no_sandbox_can_be_made_a_program_still_has_the_files_that_it_needs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not less by a shell's soft limit; and no other of a sandbox's limits."""
    monkeypatch.setattr(process, "can_enclose", lambda: False)
    limits = shell("ulimit -Sn; ulimit -Hn; ulimit -c", folder).text().split()
    assert limits[:2] == [str(Sandbox().limits()["RLIMIT_NOFILE"])] * 2
    assert (
        limits[2]
        == subprocess.run(
            ("sh", "-c", "ulimit -c"), capture_output=True, text=True, check=True
        ).stdout.strip()
    )


def test_a_machine_without_bubblewrap_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert process.why_not_enclosed.__wrapped__() == "bwrap is missing (package bubblewrap)"


def test_a_machine_that_cannot_make_namespaces_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace'; exit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    why = process.why_not_enclosed.__wrapped__()
    assert why == (
        "bwrap ended with exit code 1, saying: bwrap: No permissions to create new namespace"
    )


def test_a_program_that_pip_installed_for_the_user_runs_and_shows_nothing_of_his(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, python = folder.parent / "user", "/usr/bin/python3"
    ask = "import sys; print('python%d.%d' % sys.version_info[:2])"
    version = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout
    local = user / ".local"
    files = {
        "bin/meson": f"#!{python}\nimport mesonbuild\n",
        f"lib/{version.strip()}/site-packages/mesonbuild.py": "print('it runs')\n",
        "share/dbhone/store.db": "results",
    }
    for name, text in files.items():
        (local / name).parent.mkdir(parents=True, exist_ok=True)
        (local / name).write_text(text)
    program = local / "bin" / "meson"
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(user))
    given = program_folders((program,), Home(local / "share" / "dbhone"))
    env = {"PYTHONUSERBASE": str(local)}
    assert shell(f"{program}", folder, *given, env=env).text() == "it runs\n"
    assert "No such file" in shell(f"cat {local}/share/dbhone/store.db", folder, *given).text()
