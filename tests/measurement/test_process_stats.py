from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dbhone.measurement.process_stats import (
    cpu_seconds,
    cpu_seconds_by_ticks,
    inner_pid,
    is_running,
    is_stopped,
    peak_memory,
)

MIB = 2**20


def burn(seconds: float) -> None:
    while time.thread_time() < seconds:
        pass


def test_cpu_time_is_that_of_the_process_at_this_moment() -> None:
    before = time.process_time()
    measured = cpu_seconds(os.getpid())
    after = time.process_time()

    assert measured is not None
    assert before <= measured <= after


def test_cpu_time_has_the_threads_that_ended() -> None:
    before = cpu_seconds(os.getpid())
    thread = threading.Thread(target=burn, args=(0.03,))
    thread.start()
    thread.join()
    after = cpu_seconds(os.getpid())

    assert before is not None
    assert after is not None
    assert after - before >= 0.03


def test_cpu_time_in_ticks_is_read_behind_a_name_that_holds_anything(tmp_path: Path) -> None:
    (tmp_path / "77").mkdir()
    (tmp_path / "77/stat").write_text(
        "77 (a) b (c 1 2) S 1 77 77 0 -1 4194560 1551 24437 61 240 150 50 12 33 20 0 1 0 9\n"
    )
    ticks = os.sysconf("SC_CLK_TCK")
    assert cpu_seconds_by_ticks(77, proc=tmp_path) == 200 / ticks


def test_without_process_clocks_the_ticks_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_clock: int) -> int:
        raise OSError

    (tmp_path / "77").mkdir()
    (tmp_path / "77/stat").write_text("77 (a) S 1 77 77 0 -1 4194560 1551 24437 61 240 100 100 0")
    monkeypatch.setattr(time, "clock_gettime_ns", refuse)
    assert cpu_seconds(77, proc=tmp_path) == 200 / os.sysconf("SC_CLK_TCK")


def test_peak_memory_is_what_was_held_even_when_it_is_given_back() -> None:
    held = bytearray(os.urandom(64 * MIB))
    during = peak_memory(os.getpid())
    size = len(held)
    del held
    after = peak_memory(os.getpid())

    assert during is not None
    assert after is not None
    assert after >= during >= size


def test_peak_memory_is_read_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "77").mkdir()
    (tmp_path / "77/status").write_text("Name:\tVmHWM:\nVmPeak:\t 9000 kB\nVmHWM:\t   5120 kB\n")
    assert peak_memory(77, proc=tmp_path) == 5 * MIB


def test_a_process_that_ended_still_tells_its_cpu_time_until_it_is_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "sum(range(100_000))"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    spent, memory = cpu_seconds(process.pid), peak_memory(process.pid)
    process.wait()

    assert spent is not None
    assert spent > 0
    assert memory is None


def test_a_process_that_is_gone_tells_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert cpu_seconds(process.pid) is None
    assert cpu_seconds_by_ticks(process.pid) is None
    assert peak_memory(process.pid) is None


def test_a_process_that_is_stopped_or_gone_does_not_run() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        assert is_running(program.pid)
        assert not is_stopped(program.pid)
        program.send_signal(signal.SIGSTOP)
        while is_running(program.pid):
            time.sleep(0.001)
        assert is_stopped(program.pid)
        program.send_signal(signal.SIGCONT)
        while is_stopped(program.pid):
            time.sleep(0.001)
        assert is_running(program.pid)
        program.kill()
    assert not is_running(program.pid)
    assert not is_stopped(program.pid)


def test_a_process_has_another_id_in_its_sandbox(tmp_path: Path) -> None:
    (tmp_path / "4711").mkdir()
    (tmp_path / "4711/status").write_text("Pid:\t4711\nNSpid:\t4711\t17\nNSsid:\t4711\t3\n")
    assert inner_pid(4711, proc=tmp_path) == 17
    assert inner_pid(4712, proc=tmp_path) is None
    assert inner_pid(os.getpid()) == os.getpid()
