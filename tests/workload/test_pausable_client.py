"""Paused clients: what they count and what not, and that none of them is left behind.

They are real sysbench processes that sleep instead of asking a server.
"""

from __future__ import annotations

import math
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dbhone.errors import DriverError, MachineError
from dbhone.workload.counting import CountFile
from dbhone.workload.drive import DriverResult
from dbhone.workload.pausable_client import PausableClient, drive_counting
from dbhone.workload.task import Task
from tests.workload.counted import client, command, needs_sysbench, sleeping

pytestmark = needs_sysbench


def await_events(driver: PausableClient, number: int) -> None:
    """Wait until so many more events were finished than now."""
    wanted = driver.finished_events() + number
    while driver.finished_events() < wanted:
        driver.pass_time(0.002)


def await_stopped(driver: PausableClient) -> psutil.Process:
    """Wait until the driver stands still; return it."""
    running = psutil.Process(driver._started.pid)
    while running.status() != psutil.STATUS_STOPPED:
        time.sleep(0.002)
    return running


def cpu_when_still(driver: PausableClient) -> float:
    """Return the CPU time once the kernel has booked the last of what was used before."""
    used = driver.cpu_seconds
    while True:
        time.sleep(0.01)
        before, used = used, driver.cpu_seconds
        if used == before:
            return used


def test_clients_that_are_connected_ask_nothing_before_they_are_resumed(tmp_path: Path) -> None:
    with client(tmp_path, sleeping()) as driver:
        driver.await_ready(60.0)
        driver.pass_time(0.02)
        assert driver.finished_events() == 0
        with driver.running():
            await_events(driver, 4)


def test_what_a_slice_counts_is_in_its_histogram_and_takes_the_time_that_it_takes(
    tmp_path: Path,
) -> None:
    with client(tmp_path, sleeping(threads=3, sleep=4)) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 3)
            before = driver.counts()
            await_events(driver, 30)
            counted = driver.counts().since(before)
    # A client may count an event between the readings of its number and of its histogram.
    assert abs(int(counted.buckets.sum()) - counted.finished) <= 3
    assert counted.finished >= 30
    assert counted.refused == 0
    assert counted.seconds >= 30 / 3 * 0.004 * 0.9
    latency = counted.report("t", ()).steps[0].latency
    assert latency is not None
    assert 0.0039 < latency.p50 <= latency.p95 <= latency.p99


def test_an_event_that_was_paused_on_its_way_is_not_counted(tmp_path: Path) -> None:
    with client(tmp_path, sleeping(threads=1, sleep=50)) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 1)
            driver.pass_time(0.001)
        await_stopped(driver)
        before = driver.counts()
        time.sleep(1.0)
        with driver.running():
            await_events(driver, 1)
        counted = driver.counts().since(before)
    latency = counted.report("t", ()).steps[0].latency
    assert latency is not None
    assert latency.p50 > 0.049
    assert latency.p99 < 1.0, "the time that it was paused is in no latency"


def test_an_event_that_was_paused_on_its_way_was_executed(tmp_path: Path) -> None:
    with client(tmp_path, sleeping(threads=1, sleep=50)) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 1)
            driver.pass_time(0.001)
        await_stopped(driver)
        assert driver.executed_events() == driver.finished_events()
        with driver.running():
            await_events(driver, 1)
        await_stopped(driver)
        assert driver.executed_events() == driver.finished_events() + 1


def test_the_end_of_an_event_is_awaited_and_not_for_ever(tmp_path: Path) -> None:
    with client(tmp_path, sleeping(threads=1, sleep=50)) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 1)
            before = driver.finished_events()
            driver.await_event(60.0)
            assert driver.finished_events() > before
        await_stopped(driver)
        before = driver.finished_events()
        driver.await_event(0.01)
        assert driver.finished_events() == before


def test_a_paused_driver_stands_still(tmp_path: Path) -> None:
    with client(tmp_path, sleeping()) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 2)
        await_stopped(driver)
        finished, used = driver.finished_events(), cpu_when_still(driver)
        time.sleep(0.05)
        assert (driver.finished_events(), driver.cpu_seconds) == (finished, used)


def test_what_is_refused_is_counted_apart(tmp_path: Path) -> None:
    with client(tmp_path, sleeping(threads=1, refuse=3)) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 20)
        await_stopped(driver)
        counts = driver.counts()
    assert counts.refused == pytest.approx(counts.finished / 2, abs=1)


def test_a_driver_ends_by_itself_when_it_is_told_to(tmp_path: Path) -> None:
    with client(tmp_path, sleeping()) as driver:
        driver.await_ready(60.0)
        with driver.running():
            await_events(driver, 2)
        driver.end(60.0)
        assert b"total number of events" in driver.printed()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["printed"]


def test_a_driver_that_was_never_resumed_ends_too(tmp_path: Path) -> None:
    with client(tmp_path, sleeping()) as driver:
        driver.await_ready(60.0)
        driver.pause()
        driver.end(60.0)


def test_a_driver_that_dies_in_a_slice_fails_with_its_own_words(tmp_path: Path) -> None:
    with client(tmp_path, sleeping(threads=1, die=3)) as driver:
        driver.await_ready(60.0)
        with pytest.raises(DriverError, match=r"sleeper .*"), driver.running():
            driver.pass_time(60.0)
        assert b"the server has gone away" in driver.printed()


def test_a_driver_that_is_killed_while_it_is_paused_is_found_dead(tmp_path: Path) -> None:
    with client(tmp_path, sleeping()) as driver:
        driver.await_ready(60.0)
        driver.pause()
        os.kill(await_stopped(driver).pid, signal.SIGKILL)
        with pytest.raises(DriverError, match="SIGKILL"), driver.running():
            driver.pass_time(60.0)


def driven(folder: Path, task: Task) -> DriverResult:
    return drive_counting(command(folder, task), folder)


def test_a_whole_run_counts_what_ended_in_its_seconds(tmp_path: Path) -> None:
    result = driven(tmp_path, sleeping(threads=2, sleep=20))
    (step,) = result.require_report().steps
    assert step.seconds >= 1.0
    assert 2 <= step.operations <= 2 * step.seconds / 0.02 + 2
    assert step.latency is not None
    assert step.latency.p50 >= 0.0196
    assert step.interval_rates == ()
    assert b"counts" not in result.output
    assert "run" in result.argv


def test_a_long_run_has_a_rate_for_each_second(tmp_path: Path) -> None:
    (step,) = driven(tmp_path, sleeping(seconds=3.2, sleep=20)).require_report().steps
    assert len(step.interval_rates) == 3
    assert sum(step.interval_rates) <= step.operations


@pytest.mark.parametrize("sleep", [1500, 950])
def test_a_whole_run_counts_the_events_that_are_under_way_at_its_end(
    sleep: int, tmp_path: Path
) -> None:
    result = driven(tmp_path, sleeping(threads=2, sleep=sleep))
    (step,) = result.require_report().steps
    worked = re.findall(rb"worked (\d+) events", result.output)
    assert len(worked) == 2
    assert step.operations == sum(map(int, worked))
    assert step.seconds >= max(map(int, worked)) * sleep / 1000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"refuse": 1}, r"no operation ended well in .* s: the server refused [\d,]+ operations"),
        ({"refuse": 1, "sleep": 1500, "threads": 1}, "the server refused 1 operation$"),
        ({"die": 3}, "the server has gone away"),
    ],
)
def test_a_whole_run_that_fails_is_a_result(
    options: dict[str, int], said: str, tmp_path: Path
) -> None:
    result = driven(tmp_path, sleeping(**options))
    assert result.report is None
    assert re.search(said, result.failure or "")


def test_clients_that_do_not_connect_in_time_are_an_error(tmp_path: Path) -> None:
    with client(tmp_path, sleeping()) as driver:
        os.kill(driver._started.pid, signal.SIGSTOP)
        driver._counts._slots["ready"] = 0
        with pytest.raises(DriverError, match="of 2 clients of sleeper were connected after 0 s"):
            driver.await_ready(0.0)


_HOLDER = """\
import pathlib, sys
from dbhone.workload.task import Task
from tests.workload.counted import client, sleeping
with client(pathlib.Path(sys.argv[1]), sleeping()) as driver:
    driver.await_ready(60.0)
    with driver.running():
        driver.pass_time(0.01)
    print(driver._started.pid, flush=True)
    sys.stdin.read()
"""


def test_a_paused_client_dies_with_hone_however_that_dies(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", _HOLDER, str(tmp_path))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hone:
        assert hone.stdout is not None
        paused = psutil.Process(int(hone.stdout.readline()))
        while paused.status() != psutil.STATUS_STOPPED:
            time.sleep(0.002)
        hone.send_signal(signal.SIGKILL)
    paused.wait(60.0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "counts").symlink_to("/dev/full")
    with pytest.raises(MachineError, match="no space left while making the file of counts"):
        client(tmp_path, sleeping())


def test_counts_start_at_zero_and_latencies_need_an_event(tmp_path: Path) -> None:
    counts = CountFile(tmp_path / "counts", 5)
    assert counts.ready == 0
    assert counts.read().report("t", ()).steps[0].latency is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_counts_that_no_driver_can_have_are_refused(tmp_path: Path, value: float) -> None:
    counts = CountFile(tmp_path / "counts", 2, parts=1)
    content = bytearray((tmp_path / "counts").read_bytes())
    finished_of_first, seconds_of_last = 64 + 8, len(content) - 16
    for at in (finished_of_first, seconds_of_last):
        damaged = bytearray(content)
        damaged[at : at + 8] = struct.pack("<d", value)
        with (tmp_path / "counts").open("r+b") as file:
            file.write(damaged)
        with pytest.raises(DriverError, match="its file of counts is damaged"):
            counts.read()
