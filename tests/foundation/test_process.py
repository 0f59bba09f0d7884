"""Programs: how they end, and that nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone import process as module
from dbhone.account import Account, Tenant
from dbhone.command import SESSION_VARIABLE, Command
from dbhone.errors import MachineError, ToolError
from dbhone.home import Home
from dbhone.process import Finished, Process, lines, run
from dbhone.session import open_session
from tests.foundation.processes import is_running, wait_until_gone

_SPAWNER = """\
import subprocess, sys, pathlib
inner = (
    "import os, sys, time; os.setsid();"
    "open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
)
subprocess.Popen([sys.executable, "-c", inner, sys.argv[1]], stdin=subprocess.DEVNULL)
while not (pathlib.Path(sys.argv[1]).exists() and pathlib.Path(sys.argv[1]).read_text()): pass
if len(sys.argv) > 2: import time; time.sleep(600)
"""


def python(code: str, *arguments: str, cwd: Path, timeout: float | None = None) -> Command:
    return Command(argv=(sys.executable, "-c", code, *arguments), cwd=cwd, timeout=timeout)


def test_output_and_exit_code_are_returned(tmp_path: Path) -> None:
    finished = run(python("print('hello'); raise SystemExit(3)", cwd=tmp_path))
    assert finished.text() == "hello\n"
    assert finished.status == 3
    assert not finished.ok
    assert finished.ending() == "ended with exit code 3"


def test_a_program_that_a_signal_ends_says_which(tmp_path: Path) -> None:
    finished = run(python("import os; os.kill(os.getpid(), 11)", cwd=tmp_path))
    assert finished.status == -signal.SIGSEGV
    assert finished.ending() == "was ended by SIGSEGV"


def test_cpu_time_is_the_programs_own(tmp_path: Path) -> None:
    busy = run(python("import time\nwhile time.process_time() < 0.3: pass", cwd=tmp_path))
    assert 0.25 < busy.cpu_seconds < 3


def test_output_goes_to_the_log_when_there_is_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = Command(
        argv=(sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr)"),
        cwd=tmp_path,
        log=log,
    )
    assert run(command).output == b""
    assert set(log.read_text().split()) == {"out", "err"}


def test_a_missing_program_is_a_tool_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot run no-such-program: No such file"):
        run(Command(argv=("no-such-program",), cwd=tmp_path))


def test_a_program_ignores_no_signal_of_those_that_end_one(tmp_path: Path) -> None:
    show = "print(*(signal.getsignal(getattr(signal, n)).name for n in 'SIGHUP SIGTERM'.split()))"
    assert run(python(f"import signal; {show}", cwd=tmp_path)).text() == "SIG_DFL SIG_DFL\n"


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="does not exist"):
        run(Command(argv=("true",), cwd=tmp_path / "absent"))


def test_a_program_that_never_ends_is_stopped_and_says_so(tmp_path: Path) -> None:
    finished = run(python("import time; time.sleep(600)", cwd=tmp_path, timeout=0.5))
    assert finished.timed_out
    assert not finished.ok
    assert "did not end within" in finished.ending()


def test_a_program_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    finished = run(python("while True: print('x' * 65536)", cwd=tmp_path))
    assert finished.overflowed
    assert not finished.ok


def test_what_a_program_leaves_running_is_killed_when_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    assert run(python(_SPAWNER, str(file), cwd=tmp_path)).ok
    assert not is_running(int(file.read_text()))


def test_what_a_lasting_program_has_started_stays(tmp_path: Path) -> None:
    command = replace(python(_SPAWNER, "pid", cwd=tmp_path), lasting=True)
    assert run(command).ok
    pid = int((tmp_path / "pid").read_text())
    assert is_running(pid)
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert SESSION_VARIABLE.encode() + b"=" not in environment
    os.kill(pid, signal.SIGKILL)


def test_a_lasting_program_comes_to_its_end_though_hone_has_ended(tmp_path: Path) -> None:
    code = "import pathlib; pathlib.Path('begun').touch(); input(); pathlib.Path('done').touch()"
    os.mkfifo(tmp_path / "go")
    script = (
        "import sys, pathlib; from dbhone.home import *; from dbhone.session import *\n"
        "from dbhone.process import *\n"
        f"command = Command(argv=(sys.executable, '-c', {code!r}), cwd=pathlib.Path.cwd(),"
        " stdin=pathlib.Path('go'), lasting=True)\n"
        "with open_session(Home(pathlib.Path('home'))):\n"
        "    Process(command, capture=False).wait(None)\n"
    )
    hone = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
    with (tmp_path / "go").open("w") as go:
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        hone.kill()
        hone.wait()
        with open_session(Home(tmp_path / "home")):
            pass  # it ends what is left of the one before
        go.write("\n")
    while not (tmp_path / "done").exists():
        time.sleep(0.01)


def test_a_lasting_program_outlives_its_supervisor(tmp_path: Path) -> None:
    code = "import pathlib; input(); pathlib.Path('done').touch(); input()"
    os.mkfifo(tmp_path / "go")
    command = replace(python(code, cwd=tmp_path), stdin=tmp_path / "go", lasting=True)
    with (
        (tmp_path / "go").open("r+b", buffering=0) as go,
        Process(command, capture=True) as process,
    ):
        supervisor = int(Path(f"/proc/{process.pid}/stat").read_text().split()[3])
        os.kill(supervisor, signal.SIGKILL)
        with pytest.raises(MachineError, match="was killed from outside"):
            process.finish()
        go.write(b"\n")
        while not (tmp_path / "done").exists():
            assert is_running(process.pid)
            time.sleep(0.01)
        go.write(b"\n")


def test_what_may_not_be_killed_is_waited_for() -> None:
    """As sudo's programs, if hone's user is another."""
    code = (
        "import os, signal\n"
        "from dbhone import supervisor\n"
        "def refuse(*_): raise PermissionError\n"
        "child = os.fork() or os._exit(0)\n"
        "supervisor._children = lambda _: [child]\n"
        "os.kill = signal.pidfd_send_signal = refuse\n"
        "supervisor._Target(child).send(signal.SIGTERM)\n"
        "supervisor._kill_all_children()\n"
        "os.waitpid(child, os.WNOHANG)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=False)
    assert ended.stderr.endswith(b"ChildProcessError: [Errno 10] No child processes\n")


def test_leaving_a_process_ends_it_with_all_its_descendants(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Process(python(_SPAWNER, str(file), "stay", cwd=tmp_path), capture=True) as process:
        while not (file.exists() and file.read_text()):
            time.sleep(0.01)
        pid = process.pid
        assert is_running(pid)
    assert not is_running(pid)
    assert not is_running(int(file.read_text()))


def test_nothing_outlives_a_hone_that_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = (
        "import sys, pathlib\n"
        "from dbhone.process import Command, run\n"
        "run(Command(argv=(sys.executable, '-c', sys.argv[1], sys.argv[2], 'stay'),"
        " cwd=pathlib.Path('/')))"
    )
    hone = subprocess.Popen([sys.executable, "-c", code, _SPAWNER, str(file)])
    while not (file.exists() and file.read_text()):
        time.sleep(0.01)
    grandchild = int(file.read_text())
    assert is_running(grandchild)
    hone.kill()
    hone.wait()
    wait_until_gone(grandchild)


def test_a_signal_reaches_the_program(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.1)"
    )
    with Process(python(code, cwd=tmp_path), capture=True) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 64).startswith(b"ready")
        process.signal(signal.SIGUSR1)
        finished: Finished = process.finish()
    assert finished.status == 7


def test_an_isolated_program_does_not_see_the_users_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")
    code = "import os; print(os.environ.get('CFLAGS'), os.environ.get('OWN'))"
    argv = (sys.executable, "-c", code)
    seen = run(Command(argv=argv, cwd=tmp_path, env={"OWN": "1"}, isolated=True))
    assert seen.text().split() == ["None", "1"]
    assert run(Command(argv=argv, cwd=tmp_path)).text().split() == ["-O0", "None"]


def test_chunks_arrive_with_time_and_process(tmp_path: Path) -> None:
    seen: list[tuple[bytes, float, int]] = []
    code = "import os; print(os.getpid(), flush=True)"
    run(
        python(code, cwd=tmp_path),
        on_chunk=lambda data, at, pid: seen.append((data, at, pid)),
    )
    assert int(b"".join(data for data, _, _ in seen)) == seen[0][2]


def test_a_file_can_be_what_the_program_reads(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_text("statements")
    assert run(Command(argv=("cat",), cwd=tmp_path, stdin=file)).text() == "statements"
    assert run(Command(argv=("cat",), cwd=tmp_path)).text() == ""


def test_whether_a_program_runs_can_be_asked_without_waiting(tmp_path: Path) -> None:
    with Process(python("input()", cwd=tmp_path), capture=True) as ended:
        assert ended.wait(60)
        assert not ended.alive()
        assert ended.finish().status == 1
        assert not ended.alive()
    with Process(python("import time; time.sleep(600)", cwd=tmp_path), capture=True) as process:
        assert process.alive()
        assert not process.wait(0.01)


def test_a_program_is_found_along_the_path_and_one_that_cannot_be_run_is_passed_over(
    tmp_path: Path,
) -> None:
    for name, mode in (("closed", 0o600), ("open", 0o700)):
        (tmp_path / name).mkdir()
        program = tmp_path / name / "program"
        program.write_text("#!/bin/sh\necho found\n")
        program.chmod(mode)
    path = f"{tmp_path}/none:{tmp_path}/closed"
    with pytest.raises(ToolError, match="Permission denied"):
        run(Command(argv=("program",), cwd=tmp_path, env={"PATH": path}))
    found = run(Command(argv=("program",), cwd=tmp_path, env={"PATH": f"{path}:{tmp_path}/open"}))
    assert found.text() == "found\n"


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another account")
NOBODY = Tenant(account=Account("nobody", 65534, 65534))


@as_root
def test_a_program_runs_as_its_account_for_good(tmp_path: Path) -> None:
    code = (
        "import os, pathlib; print(os.getresuid(), os.getresgid(), os.getgroups());"
        "print(os.environ['USER'], os.environ['LOGNAME'], os.environ.get('TMPDIR'));"
        "print(pathlib.Path.cwd())"
    )
    command = Command(
        argv=("/usr/bin/python3", "-I", "-c", code), cwd=Path("/"), tenant=NOBODY, isolated=True
    )
    assert run(command).text().splitlines() == [
        "(65534, 65534, 65534) (65534, 65534, 65534) []",
        "nobody nobody None",
        "/",
    ]


@as_root
def test_a_program_that_its_account_cannot_reach_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    with pytest.raises(ToolError, match="Permission denied"):
        run(Command(argv=(str(program),), cwd=Path("/"), tenant=NOBODY))


@as_root
def test_nothing_of_another_account_outlives_a_hone_that_is_killed() -> None:
    code = (
        "import pathlib\n"
        "from dbhone.process import Command, Process\n"
        "from dbhone.account import Account, Tenant\n"
        "tenant = Tenant(account=Account('nobody', 65534, 65534))\n"
        "command = Command(argv=('sleep', '600'), cwd=pathlib.Path('/'), tenant=tenant)\n"
        "with Process(command, capture=True) as process:\n"
        "    print(process.pid, flush=True)\n"
        "    process.wait(None)\n"
    )
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as hone:
        assert hone.stdout is not None
        pid = int(hone.stdout.readline())
        hone.kill()
    wait_until_gone(pid)


@as_root
def test_a_program_of_another_account_dies_with_its_supervisor() -> None:
    command = Command(argv=("sleep", "600"), cwd=Path("/"), tenant=NOBODY)
    with Process(command, capture=True) as process:
        supervisor = int(Path(f"/proc/{process.pid}/stat").read_text().split()[3])
        os.kill(supervisor, signal.SIGKILL)
        wait_until_gone(process.pid)
        with pytest.raises(MachineError, match="was killed from outside"):
            process.finish()


def test_a_program_keeps_to_its_cpus(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    asked = "import os; print(os.sched_getaffinity(0), os.sched_getscheduler(0))"
    command = python(asked, cwd=tmp_path)
    pinned = run(replace(command, cpus=frozenset({cpu})))
    assert pinned.text().strip() == f"{ {cpu} } {os.SCHED_OTHER}"
    assert run(command).text().strip() == f"{os.sched_getaffinity(0)} {os.SCHED_OTHER}"


def test_an_idle_program_yields_to_all_others(tmp_path: Path) -> None:
    command = replace(python("import os; print(os.sched_getscheduler(0))", cwd=tmp_path), idle=True)
    assert run(command).text().strip() == str(os.SCHED_IDLE)


def test_a_cpu_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    command = replace(python("pass", cwd=tmp_path), cpus=frozenset({100_000}))
    with pytest.raises(ToolError, match=r"cannot run .*: Invalid argument"):
        run(command)


_PARENT = """\
import os, time
child = os.fork()
if child:
    print(os.getpid(), child, flush=True)
else:
    os.setsid()
while True: time.sleep(0.01)
"""


def test_a_stopped_program_goes_with_hone_all_the_same(tmp_path: Path) -> None:
    with Process(python(_PARENT, cwd=tmp_path), capture=True) as process:
        assert process.stdout is not None
        both = [int(word) for word in process.stdout.readline().split()]
        for pid in both:
            os.kill(pid, signal.SIGSTOP)
        await_state("T", *both)
    for pid in both:
        wait_until_gone(pid)


def await_state(state: str, *pids: int) -> None:
    """Wait until all these processes are in a state of proc_pid_stat(5)."""
    while any(
        Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state for pid in pids
    ):
        time.sleep(0.002)


class TestLines:
    def test_come_one_by_one_however_many_there_are(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "CAPTURE_LIMIT", 1000)
        found, finished = _all(lines(python("for n in range(9999): print(n)", cwd=tmp_path)))
        assert found == [str(number) for number in range(9999)]
        assert finished.ok
        assert finished.text() == "9998"

    def test_need_no_newline_at_the_end(self, tmp_path: Path) -> None:
        found, finished = _all(lines(python("print('a\\n\\nb', end='')", cwd=tmp_path)))
        assert found == ["a", "", "b"]
        assert finished.text() == "b"

    def test_end_when_the_program_takes_too_long(self, tmp_path: Path) -> None:
        code = "import time; print('a', flush=True); time.sleep(600)"
        found, finished = _all(lines(python(code, cwd=tmp_path, timeout=2)))
        assert found == ["a"]
        assert finished.timed_out

    def test_that_are_not_wanted_any_more_end_the_program(self, tmp_path: Path) -> None:
        code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
        printed = lines(python(code, cwd=tmp_path))
        number = int(next(printed))
        printed.close()
        assert not is_running(number)


def _all(printed: Generator[str, None, Finished]) -> tuple[list[str], Finished]:
    found = []
    while True:
        try:
            found.append(next(printed))
        except StopIteration as end:
            return found, end.value


def test_an_interrupt_while_a_program_starts_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def interrupted(self: Process) -> int:
        started.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Process, "_await_start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Process(Command(argv=("sleep", "100"), cwd=tmp_path), capture=False)
    assert started[0]._popen.poll() is not None
