"""What a server used, told from a pretended /proc and from real processes."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbhone.measurement import server_usage
from dbhone.measurement.perf_events import Event, open_counter
from dbhone.measurement.server_usage import ServerUsage, UsedBetween, read_usage
from tests.measurement.fake_proc import TICKS, FakeProc, FakeProcess

KIB, MIB = 2**10, 2**20


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path / "proc")


def usage(proc: FakeProc, root: FakeProcess) -> ServerUsage:
    proc.write()
    found = read_usage(root.pid, proc=proc.root)
    assert found is not None
    return found


def used_between(before: ServerUsage, after: ServerUsage) -> UsedBetween:
    found = server_usage.used_between(before, after)
    assert found is not None
    return found


def test_a_server_may_have_more_children_than_fit_on_a_page(proc: FakeProc) -> None:
    server = proc.start()
    for _ in range(1500):
        proc.start(server.pid).ticks = TICKS
    assert usage(proc, server).cpu_seconds == pytest.approx(1500)


def test_processes_count_with_their_descendants_and_those_that_ended(proc: FakeProc) -> None:
    server = proc.start()
    worker = proc.start(server.pid)
    backend = proc.start(worker.pid)
    stranger = proc.start()
    server.ticks, worker.ticks, backend.ticks, stranger.ticks = 3, 5, 7, 1000
    server.read, worker.read, backend.written, stranger.read = 1, 20, 300, 4000
    first = usage(proc, server)
    assert first.cpu_seconds == pytest.approx(15 / TICKS)
    assert (first.bytes_read, first.bytes_written) == (21, 300)

    proc.end(backend)
    during = usage(proc, server)
    proc.end(worker)
    server.ticks += 1
    last = usage(proc, server)
    assert last.cpu_seconds == pytest.approx(16 / TICKS)
    assert used_between(first, last).cpu_seconds == pytest.approx(1 / TICKS)
    assert used_between(first, last).system_seconds == 0.0
    assert (last.bytes_read, last.bytes_written) == (21, 300)
    switches = [used_between(*each).context_switches for each in ((first, during), (during, last))]
    assert switches == [None, None]  # those of what ended are lost


def test_threads_need_not_be_looked_at(proc: FakeProc) -> None:
    server = proc.start()
    proc.start_thread(server)
    server.ticks, server.written = 5, 4096
    whole = usage(proc, server)
    found = read_usage(server.pid, switches=False, proc=proc.root)
    assert whole.switches is not None
    assert found == dataclasses.replace(whole, switches=None)


def test_context_switches_are_those_of_all_threads_also_of_new_ones(proc: FakeProc) -> None:
    server = proc.start()
    first_thread, second_thread = proc.start_thread(server), proc.start_thread(server)
    server.switches |= {server.pid: 100, first_thread: 10, second_thread: 20}
    before = usage(proc, server)
    worker = proc.start(server.pid)
    worker.switches[worker.pid] = 7
    third_thread = proc.start_thread(server)
    server.switches |= {server.pid: 105, first_thread: 11, third_thread: 3}
    del server.switches[second_thread]
    assert used_between(before, usage(proc, server)).context_switches == 5 + 1 + 3 + 7


def test_a_thread_that_has_the_id_of_one_that_ended_counts_whole(proc: FakeProc) -> None:
    server = proc.start()
    thread = proc.start_thread(server)
    server.switches[thread] = 500
    before = usage(proc, server)
    server.switches[thread] = 4
    assert used_between(before, usage(proc, server)).context_switches == 4


@pytest.mark.parametrize("schedstat", ["0 0 0\n", None])
def test_without_statistics_of_the_scheduler_each_threads_status_answers(
    proc: FakeProc, schedstat: str | None
) -> None:
    server = proc.start()
    server.switches |= {server.pid: 100, proc.start_thread(server): 10}
    proc.write()
    for file in proc.root.glob("*/task/*/schedstat"):
        if schedstat is None:
            file.unlink()
        else:
            file.write_text(schedstat)
    found = read_usage(server.pid, proc=proc.root)
    assert found is not None
    assert found.switches == server.switches


def test_memory_that_processes_share_counts_once(proc: FakeProc) -> None:
    server = proc.start()
    one, two = proc.start(server.pid), proc.start(server.pid)
    server.anonymous, server.file, server.shared = 100, 10, 1000
    one.anonymous, one.file, one.shared = 20, 12, 900
    two.anonymous, two.file, two.shared = 3, 9, 400
    two.peak = 3 + 9 + 400 + 50
    found = usage(proc, server)
    assert found.memory_bytes == (123 + 12 + 1000) * KIB
    assert found.peak_memory_bytes == (123 + 12 + 1000 + 50) * KIB


def test_the_peak_of_one_process_is_its_own_and_does_not_fall(proc: FakeProc) -> None:
    server = proc.start()
    server.anonymous, server.peak = 100, 180
    before = usage(proc, server)
    assert before.peak_memory_bytes == 180 * KIB

    child = proc.start(server.pid)
    child.anonymous = 500
    during = usage(proc, server)
    proc.end(child)
    after = usage(proc, server)
    assert after.memory_bytes == 100 * KIB
    found = used_between(during, after)
    assert found.peak_memory_bytes == 680 * KIB


@pytest.mark.parametrize(
    ("file", "lines", "lost"),
    [
        ("io", "", {"bytes_read", "bytes_written"}),
        ("status", "VmHWM:\t9 kB\nVmRSS:\t9 kB\n", {"peak_memory_bytes"}),
    ],
)
def test_what_cannot_be_read_of_one_process_is_not_told(
    proc: FakeProc, file: str, lines: str, lost: set[str]
) -> None:
    server = proc.start()
    child = proc.start(server.pid)
    before = usage(proc, server)
    path = proc.folder(child) / file
    switches = path.read_text().partition("voluntary")
    path.write_text(lines + "".join(switches[1:]))
    after = read_usage(server.pid, proc=proc.root)
    assert after is not None
    found = dataclasses.asdict(used_between(before, after))
    assert {name for name, value in found.items() if value is None} == lost


def test_a_server_that_is_gone_tells_nothing(proc: FakeProc) -> None:
    server = proc.start()
    proc.write()
    assert read_usage(server.pid + 1, proc=proc.root) is None
    (proc.folder(server) / "task" / str(server.pid) / "children").unlink()
    assert read_usage(server.pid, proc=proc.root) is None


def test_a_child_that_goes_while_the_server_is_read_is_left_out(proc: FakeProc) -> None:
    server = proc.start()
    child = proc.start(server.pid)
    server.ticks, child.ticks = 2, 5
    proc.write()
    (proc.folder(child) / "io").unlink()
    (proc.folder(child) / "stat").unlink()
    found = read_usage(server.pid, proc=proc.root)
    assert found is not None
    assert found.cpu_seconds == pytest.approx(2 / TICKS)
    assert found.bytes_read == 0


def test_a_process_that_is_ending_has_no_memory_any_more(proc: FakeProc) -> None:
    """Its memory goes first: for a moment its status tells none, before it is a zombie."""
    server = proc.start()
    child = proc.start(server.pid)
    server.anonymous, child.anonymous = 100, 900
    proc.write()
    text = "Name:\ta\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n"
    (proc.folder(child) / "status").write_text(text)
    found = read_usage(server.pid, proc=proc.root)
    assert found is not None
    assert found.memory_bytes == 100 * KIB


def live(proc: FakeProc, rng: random.Random, *, ending: bool) -> None:
    """Let the processes do something, at random."""
    for process in list(proc.processes.values()):
        process.ticks += rng.randrange(9)
        process.read += rng.randrange(9000)
        process.written += rng.randrange(9000)
        process.anonymous = rng.randrange(1000)
        process.peak = max(process.peak, process.anonymous)
        for thread in list(process.switches):
            process.switches[thread] += rng.randrange(50)
        if rng.random() < 0.3:
            proc.start(process.pid)
        if rng.random() < 0.3:
            proc.start_thread(process)
        if ending:
            end_something(proc, process, rng)


def end_something(proc: FakeProc, process: FakeProcess, rng: random.Random) -> None:
    threads = [each for each in process.switches if each != process.pid]
    if threads and rng.random() < 0.3:
        del process.switches[rng.choice(threads)]
    has_children = any(each.parent == process.pid for each in proc.processes.values())
    if process.parent is not None and not has_children and rng.random() < 0.3:
        proc.end(process)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), ending=st.booleans())
def test_what_is_used_adds_up_and_is_never_negative(
    tmp_path_factory: pytest.TempPathFactory, seed: int, ending: bool
) -> None:
    rng = random.Random(seed)
    proc = FakeProc(tmp_path_factory.mktemp("life") / "proc")
    server = proc.start()
    moments = []
    for _ in range(3):
        live(proc, rng, ending=ending)
        moments.append(usage(proc, server))
    first, second, third = moments
    parts = (used_between(first, second), used_between(second, third))
    whole = used_between(first, third)

    for each in (*parts, whole):
        assert min(value for value in dataclasses.asdict(each).values() if value is not None) >= 0
    added = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("cpu_seconds", "bytes_read", "bytes_written")
    }
    assert whole.cpu_seconds == pytest.approx(added["cpu_seconds"])
    assert whole.bytes_read == added["bytes_read"]
    assert whole.bytes_written == added["bytes_written"]
    switches = [each.context_switches for each in (*parts, whole)]
    assert (None in switches) == (first.reaped != third.reaped)
    if not ending:
        assert switches[0] is not None
        assert switches[1] is not None
        assert switches[2] == switches[0] + switches[1]


FAMILY = """
import os, sys, threading, time

def burn(seconds):
    while time.thread_time() < seconds:
        pass

def child(seconds):
    pid = os.fork()
    if not pid:
        burn(seconds)
        os._exit(0)
    return pid

stay = threading.Event()
for _ in range(3):
    threading.Thread(target=stay.wait, daemon=True).start()
print("up", flush=True)
sys.stdin.readline()
for pid in [child(0.15), child(0.15)]:
    os.waitpid(pid, 0)
thread = threading.Thread(target=burn, args=(0.1,))
thread.start()
thread.join()
for _ in range(50):
    time.sleep(0.001)
living = os.fork()
if not living:
    burn(0.1)
    print("burnt", flush=True)
    time.sleep(600)
sys.stdin.readline()
os.kill(living, 9)
"""


SLEEPERS = """
import os, sys, time
sys.stdin.readline()
for pid in [os.fork(), os.fork()]:
    if not pid:
        for _ in range(50):
            time.sleep(0.001)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print("done", flush=True)
sys.stdin.readline()
"""


def test_a_real_family_of_processes_is_seen_with_all_its_time() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        before = read_usage(program.pid)
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "burnt\n"
        after = read_usage(program.pid)
        program.stdin.write("\n")
        program.stdin.flush()
    assert before is not None
    assert after is not None
    used = used_between(before, after)

    assert len(before.switches or ()) == 4
    assert len(after.switches or ()) == 5
    # Two children that ended, a thread that ended, a child that lives; less the ticks' rounding.
    assert used.cpu_seconds >= 0.15 + 0.15 + 0.1 + 0.1 - 4 / TICKS
    assert used.context_switches is None
    assert after.memory_bytes is not None
    assert MIB < after.memory_bytes <= (used.peak_memory_bytes or 0)
    assert read_usage(program.pid) is None


def test_a_counter_has_the_context_switches_of_what_ended() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with program:
        counter = open_counter(program.pid, Event.CONTEXT_SWITCHES)
        if counter is None:
            program.kill()
            pytest.skip("the kernel lets only root count context switches here")
        assert program.stdin is not None
        assert program.stdout is not None
        with counter:
            before = read_usage(program.pid, counter=counter)
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            after = read_usage(program.pid, counter=counter)
    assert before is not None
    assert after is not None
    assert (used_between(before, after).context_switches or 0) >= 100
    without = dataclasses.replace(after, counted_switches=None)
    assert used_between(before, without).context_switches is None


def test_the_bytes_that_reach_a_disk_are_seen(tmp_path: Path) -> None:
    before = read_usage(os.getpid())
    with (tmp_path / "file").open("wb") as file:
        file.write(bytes(MIB))
        os.fsync(file.fileno())
    after = read_usage(os.getpid())
    assert before is not None
    assert after is not None
    used = used_between(before, after)
    assert used.bytes_written is not None
    if _is_on_a_disk(tmp_path):
        assert used.bytes_written >= MIB


def _is_on_a_disk(folder: Path) -> bool:
    """Tell whether a file system writes back at all: one in memory does not."""
    name = subprocess.run(
        ["stat", "-f", "-c", "%T", str(folder)], check=True, capture_output=True, text=True
    )
    return name.stdout.strip() not in {"tmpfs", "ramfs", "overlayfs"}
