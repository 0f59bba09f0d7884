"""From source to verdict on a real PostgreSQL: built, trained, verified, measured with sysbench."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pg8000
import psutil
import pytest

from tests.integration.hone import Hone, counted, processes_of, wait_for_line

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed"),
    pytest.mark.timeout(3000),  # the first test waits for three builds
]
KEPT = os.environ.get("DBHONE_TEST_BUILDS")
"""A home whose sources, builds and profiles to begin with, for those who work on these tests."""

SMALL = """\
title = "a small run on the real PostgreSQL"
base = "rel"

[sources]
postgresql = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "postgresql", variant = "o1" }
control = { like = "rel" }
pgo = { like = "rel", variant = "o1+pgo", settings = { work_mem = "8MB" } }

[training]
sets = ["point-query", "update-index"]
shares = { point-query = 2 }

[workload]
suite = "sysbench:micro"
size = "smoke"
sets = ["point-query", "update-index", "read-write_range=100"]

[design]
target = "0.01%"
budget = "30m"
seed = 3
blocks = { min = 2, max = 2 }
"""
TINY = """\
title = "a tiny run on the real PostgreSQL"
base = "rel"

[sources]
postgresql = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "postgresql", variant = "o1" }
control = { like = "rel" }
other = { like = "rel", settings = { work_mem = "8MB" } }

[workload]
suite = "sysbench:micro"
size = "smoke"
sets = ["point-query"]

[design]
budget = "30m"
blocks = { min = 2, max = 2 }
"""
SUBJECTS = {"rel", "control", "pgo"}
SETS = ("point-query_range=100", "update-index_range=100", "read-write_range=100")


def edited(hone: Hone, name: str, change: Callable[[str], str]) -> str:
    """Write the tiny experiment, changed, and return its file's name."""
    (hone.folder / name).write_text(change(TINY))
    return name


@pytest.fixture(scope="module")
def hone() -> Iterator[Hone]:
    """Return a home, short in its path and open to the servers' account, with one complete run."""
    folder = Path(tempfile.mkdtemp(prefix="hone-", dir="/var/tmp"))
    folder.chmod(0o711)
    try:
        yield prepared(Hone(folder / "home", folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepared(hone: Hone) -> Hone:
    """Run the small experiment to its end."""
    for name in ("sources", "builds", "profiles") if KEPT else ():
        shutil.copytree(Path(KEPT or "") / name, hone.home / name, symlinks=True)
    (hone.folder / "small.toml").write_text(SMALL)
    hone("run", "small.toml")
    edited(hone, "tiny.toml", str)
    return hone


@pytest.fixture(scope="module")
def report(hone: Hone) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(hone("report", "1", "--format", "json").stdout)
    return document


def test_every_subject_is_measured_in_every_block(hone: Hone) -> None:
    assert counted(hone, 1) == {
        (block, name, subject) for block in range(2) for name in SETS for subject in SUBJECTS
    }


def test_sets_keep_the_suites_order_and_subjects_take_turns(hone: Hone) -> None:
    with sqlite3.connect(hone.home / "store.db") as connection:
        rows = connection.execute(
            "SELECT block, set_name, subject_id FROM invocations WHERE run_id = 1 ORDER BY id"
        ).fetchall()
    connection.close()
    assert len(rows) == 18
    suite_order = ["update-index_range=100", "read-write_range=100", "point-query_range=100"]
    for block in range(2):
        sets = [name for number, name, _ in rows if number == block]
        assert sets == [name for name in suite_order for _ in range(3)]


def test_servers_are_measured_with_all_their_figures(hone: Hone) -> None:
    with sqlite3.connect(hone.home / "store.db") as connection:
        rows = connection.execute(
            "SELECT throughput, cpu_seconds, latency_p50, latency_p95, latency_p99,"
            " client_cpu_seconds, context_switches, bytes_written, peak_memory_bytes, refused_share"
            " FROM measurements WHERE run_id = 1"
        ).fetchall()
    connection.close()
    assert len(rows) == 18
    for throughput, cpu, p50, p95, p99, client, switches, written, memory, refused in rows:
        assert throughput > 10
        assert 0 < cpu < 1
        assert 0 < p50 <= p95 <= p99
        assert client > 0
        assert switches > 0
        assert written >= 0
        assert memory > 1e6
        assert refused == 0


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_an_explanation_names_where_an_operations_time_goes(hone: Hone) -> None:
    flags = ("--seconds", "6", "--rounds", "3", "--output", "stacks.json")
    told = hone("explain", "1", "pgo", "update-index", *flags).stdout
    for words in ("The server's own code", "The kernel", "CPU of the server", "at most"):
        assert words in told
    written = json.loads((hone.folder / "stacks.json").read_text())
    names = {frame["name"] for frame in written["shared"]["frames"]}
    assert {"PostgresMain", "XLogInsertRecord"} <= names
    base, subject = written["profiles"]
    assert (base["name"], subject["name"]) == (
        "rel, CPU of an operation",
        "pgo, CPU of an operation",
    )
    assert sum(base["weights"]) == pytest.approx(base["endValue"], rel=0.01)


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_an_explanation_names_what_servers_wait_for(hone: Hone) -> None:
    flags = ("--seconds", "6", "--rounds", "3", "--waits")
    told = hone("explain", "1", "pgo", "update-index", *flags).stdout
    table = told.partition("What an operation waits for")[2]
    assert "for the client or a CPU, or without an event" in table
    # Nothing is told of the process that answers for hone.
    assert "pg_stat_get_activity" not in told


def test_the_profile_guided_server_used_its_profile(report: dict[str, Any]) -> None:
    pgo = next(each for each in report["builds"] if each["subject"] == "pgo")
    assert pgo["trained_on"] == ["point-query_range=100", "update-index_range=100"]
    assert 0.02 < pgo["profile_coverage"] < 0.9
    assert any(flag.startswith("-fprofile-use=") for flag in pgo["flags"])


def test_in_sample_is_what_was_trained_on(report: dict[str, Any]) -> None:
    for effect in report["effects"]:
        assert effect["in_sample"] == (effect["step"] != "read-write_range=100")


def test_a_control_shares_the_bases_build(report: dict[str, Any]) -> None:
    digests = {each["subject"]: each["digest"] for each in report["builds"]}
    assert digests["rel"] == digests["control"] != digests["pgo"]


def test_loaded_data_is_private_and_kept_once(hone: Hone) -> None:
    (saved,) = (hone.home / "data").iterdir()
    assert (saved / "data").stat().st_mode & 0o077 == 0
    assert not list((hone.home / "scratch").iterdir())


def test_a_setting_that_the_version_lacks_is_refused(hone: Hone) -> None:
    name = edited(hone, "bad.toml", lambda text: text.replace("work_mem", "work_men"))
    done = hone("run", name, code=2)
    assert "work_men" in done.stderr
    assert "work_mem" in done.stderr.replace("work_men", "")


def test_a_setting_that_the_version_lacks_can_be_dropped_with_a_footnote(hone: Hone) -> None:
    name = edited(
        hone,
        "dropped.toml",
        lambda text: text.replace("work_mem", "work_men").replace(
            "[design]", "[config]\ndrop_unknown = true\n\n[design]"
        ),
    )
    hone("run", name)
    assert "work_men" in hone("report", "last").stdout


def test_settings_that_the_server_rejects_are_told_in_its_words(hone: Hone) -> None:
    name = edited(hone, "rejected.toml", lambda text: text.replace('"8MB"', '"8 parsecs"'))
    assert "nothing is left to compare with rel" in hone("run", name, code=1).stderr
    found = json.loads(hone("report", "last", "--format", "json").stdout)
    other = next(each for each in found["builds"] if each["subject"] == "other")
    assert "work_mem" in other["broken"]
    assert ".log" in other["broken"]


def test_more_cache_than_memory_is_refused(hone: Hone) -> None:
    name = edited(hone, "huge.toml", lambda text: text.replace('size = "smoke"', 'cache = "900T"'))
    assert "cache" in hone("run", name, code=1).stderr


def test_an_unknown_step_is_told_with_the_nearest(hone: Hone) -> None:
    name = edited(
        hone, "step.toml", lambda text: text.replace('["point-query"]', '["point-quary"]')
    )
    done = hone("run", name, code=2)
    assert "point-quary" in done.stderr
    assert "point-query" in done.stderr


def test_a_missing_sysbench_is_told(hone: Hone, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = hone.folder / "tools"
    tools.mkdir()
    sysbench = shutil.which("sysbench")
    for folder in os.environ["PATH"].split(":"):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            link = tools / program.name
            if str(program) != sysbench and program.name != "sysbench" and not link.exists():
                link.symlink_to(program)
    monkeypatch.setenv("PATH", str(tools))
    told = hone("run", "tiny.toml", code=1).stderr
    assert "needs 1 package (sysbench)" in told
    assert "apt-get install -y --no-install-recommends sysbench" in told


def servers_of(sessions: tuple[str, ...]) -> list[int]:
    """Return the processes that are PostgreSQL's own first process, by the session's mark.

    The one that was started first comes first: the kernel's numbers begin anew now and then. A
    backend that was forked just now still has its parent's command line, and is not counted.
    """
    found: dict[int, tuple[float, int]] = {}
    for pid in processes_of(sessions):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            process = psutil.Process(pid)
            began, parent = process.create_time(), process.ppid()
        except (OSError, psutil.Error):
            continue
        if words[0].endswith(b"/postgres") and b"-D" in words:
            found[pid] = (began, parent)
    first = [pid for pid, (_, parent) in found.items() if parent not in found]
    return sorted(first, key=lambda pid: found[pid][0])


def test_a_server_that_crashes_is_told_and_the_run_goes_on(hone: Hone) -> None:
    running = hone.start("run", "tiny.toml")
    assert running.stderr is not None
    wait_for_line(running.stderr, "block 1 ")
    # With the third one up, the first has been started and waits for its slice.
    while len(servers := servers_of(hone.sessions())) < len(SUBJECTS):
        time.sleep(0.01)
    os.kill(servers[0], signal.SIGKILL)
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait() == 0, said
    with sqlite3.connect(hone.home / "store.db") as connection:
        failures = connection.execute(
            "SELECT failure FROM invocations WHERE failure IS NOT NULL"
            " AND run_id = (SELECT max(id) FROM runs)"
        ).fetchall()
    connection.close()
    assert any("crashed" in failure and ".log" in failure for (failure,) in failures)


@pytest.mark.parametrize("moment", ["verify  control", "block 1 "])
def test_a_killed_run_leaves_nothing_and_goes_on(hone: Hone, moment: str) -> None:
    running = hone.start("run", "tiny.toml")
    assert running.stderr is not None
    wait_for_line(running.stderr, moment)
    sessions = hone.sessions()
    running.kill()
    running.wait()
    running.stderr.close()
    while processes_of(sessions):
        time.sleep(0.02)
    hone("resume", "last")
    with sqlite3.connect(hone.home / "store.db") as connection:
        (number,) = connection.execute("SELECT max(id) FROM runs").fetchone()
    connection.close()
    assert len(counted(hone, number)) == 6
    assert not list((hone.home / "scratch").iterdir())


def test_a_full_disk_under_the_servers_is_told_and_the_run_goes_on_later(hone: Hone) -> None:
    scratch = hone.home / "scratch"
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=711", "tmpfs", str(scratch)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        said = hone("run", "tiny.toml", code=1).stderr
    finally:
        subprocess.run(["umount", str(scratch)], check=True)
    assert "no space left" in said
    hone("resume", "last")


def test_one_subjects_server_can_be_started_and_used(hone: Hone) -> None:
    command = hone.command("start", "1", "pgo")
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=hone.folder,
    ) as running:
        assert running.stdout is not None
        words = shlex.split(running.stdout.readline())
        assert words[0] == "psql"
        host, port, user = (words[words.index(option) + 1] for option in ("-h", "-p", "-U"))
        place = f"{host}/.s.PGSQL.{port}"
        with contextlib.closing(pg8000.connect(user, unix_sock=place, database=words[-1])) as line:
            cursor = line.cursor()
            cursor.execute("SELECT current_setting('work_mem'), count(*) > 0 FROM sbtest1")
            assert [list(row) for row in cursor.fetchall()] == [["8MB", True]]
        running.send_signal(signal.SIGINT)
        assert running.wait() == 0
    assert not processes_of(hone.sessions())
    assert not Path(host).exists()
