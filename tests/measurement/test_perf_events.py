from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.measurement import perf_events
from dbhone.measurement.perf_events import Event, open_counter, scaled, why_not, why_not_counted

SLEEPS = 500
"""Each is a context switch; more than an interpreter needs to start."""
SLEEP = f"""
import os, sys, time
sys.stdin.readline()
if os.fork():
    os.wait()
else:
    for _ in range({SLEEPS}):
        time.sleep(1e-4)
"""


@pytest.fixture
def software_counter() -> None:
    """Events that the kernel counts by itself: the way to them is the same."""
    counter = open_counter(os.getpid(), Event.CONTEXT_SWITCHES)
    if counter is None:
        pytest.skip("no counter at all can be had here")
    counter.close()


@pytest.mark.usefixtures("software_counter")
def test_a_counter_counts_what_this_process_does() -> None:
    counter = open_counter(os.getpid(), Event.CONTEXT_SWITCHES)
    assert counter is not None
    with counter:
        readings = [counter.read()]
        for _ in range(SLEEPS):
            time.sleep(1e-4)
            readings.append(counter.read())

    counts = [reading for reading in readings if reading is not None]
    assert len(counts) == len(readings)
    assert counts == sorted(counts)
    assert counts[-1] - counts[0] >= SLEEPS


@pytest.mark.usefixtures("software_counter")
def test_a_counter_counts_another_process_with_its_children_and_outlives_them() -> None:
    process = subprocess.Popen([sys.executable, "-c", SLEEP], stdin=subprocess.PIPE)
    counter = open_counter(process.pid, Event.CONTEXT_SWITCHES)
    assert counter is not None
    with counter:
        process.communicate(b"\n")
        counted = counter.read()

    assert process.returncode == 0
    assert counted is not None
    assert counted >= SLEEPS


def test_a_closed_counter_may_be_closed_again() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    counter = perf_events.Counter(reader)
    counter.close()
    counter.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


def test_whether_instructions_can_be_counted_is_told_as_it_is() -> None:
    reason = why_not_counted()
    counter = open_counter(os.getpid())

    assert (counter is not None) == (reason is None)
    assert reason != ""
    if counter is not None:
        with counter:
            first, second = counter.read(), counter.read()
        assert first is not None
        assert second is not None
        assert 0 < first < second


def test_a_process_that_is_gone_cannot_be_counted() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    assert open_counter(process.pid, Event.CONTEXT_SWITCHES) is None


def test_each_refusal_of_the_kernel_has_its_reason(tmp_path: Path) -> None:
    setting = tmp_path / "proc/sys/kernel/perf_event_paranoid"
    setting.parent.mkdir(parents=True)

    def told(code: int) -> str:
        return why_not(OSError(code, os.strerror(code)), tmp_path)

    assert "virtual machine" in told(errno.ENOENT)
    assert "virtual machine" in told(errno.EOPNOTSUPP)
    assert "no perf_event_open" in told(errno.ENOSYS)
    assert os.strerror(errno.EMFILE) in told(errno.EMFILE)
    assert "container" in told(errno.EPERM)
    setting.write_text("2\n")
    assert "container" in told(errno.EACCES)
    setting.write_text("4\n")
    assert "kernel.perf_event_paranoid is 4" in told(errno.EACCES)


def test_an_unknown_cpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "sparc64")
    assert "no perf_event_open" in str(why_not_counted())
    assert open_counter(os.getpid()) is None


def test_cores_of_different_kinds_are_not_counted_together(tmp_path: Path) -> None:
    for kind in ("cpu_core", "cpu_atom"):
        device = tmp_path / "sys/bus/event_source/devices" / kind
        device.mkdir(parents=True)
        (device / "cpus").write_text("0-3\n")
    assert "different kinds" in str(why_not_counted(root=tmp_path))


@given(st.integers(0, 2**62), st.integers(0, 2**50), st.integers(0, 2**50))
def test_a_count_is_scaled_to_all_of_the_time(count: int, enabled: int, running: int) -> None:
    whole = scaled(count, enabled, running)
    if running >= enabled:
        assert whole == count
    elif running == 0:
        assert whole is None
    else:
        assert whole is not None
        assert whole >= count
        assert whole * running == pytest.approx(count * enabled, rel=1e-9, abs=running)
