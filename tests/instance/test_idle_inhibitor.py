"""CPUs that are kept awake, at nobody's cost."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from dbhone.errors import ToolError
from dbhone.instance.idle_inhibitor import IdleInhibitor, refusal
from tests.foundation.processes import is_running

CPU = min(os.sched_getaffinity(0))


def test_a_program_spins_on_each_cpu_yields_to_all_and_ends() -> None:
    with IdleInhibitor(frozenset({CPU})) as inhibitor:
        (pid,) = inhibitor.pids
        assert os.sched_getaffinity(pid) == {CPU}
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        with inhibitor.watch():
            while inhibitor.cpu_seconds() < 0.05:  # as soon as nobody else wants the CPU
                time.sleep(0.01)
        while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
            time.sleep(0.01)
    assert not is_running(pid)
    assert inhibitor.pids == ()
    assert inhibitor.cpu_seconds() == 0


def test_an_inhibitor_of_no_cpus_starts_nothing() -> None:
    with IdleInhibitor(frozenset()) as inhibitor, inhibitor.watch():
        assert inhibitor.pids == ()
        assert inhibitor.cpu_seconds() == 0


def test_what_was_started_ends_when_the_rest_cannot_be_started() -> None:
    inhibitor = IdleInhibitor(frozenset({CPU, 100_000}))
    with pytest.raises(ToolError, match="Invalid argument"):
        inhibitor.__enter__()
    assert not any(is_running(pid) for pid in inhibitor.pids)


def test_a_quota_of_cpu_time_is_not_spent_on_it(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/hone"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/hone\n")
    (group / "cpu.max").write_text("max 100000\n")
    assert refusal(tmp_path) is None
    (group / "cpu.max").write_text("200000 100000\n")
    assert str(refusal(tmp_path)).startswith("the control group may use the time of 2 CPUs")
