"""An embedded driver that takes turns with others: it stands still between its slices."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from dbhone.workload.drive import DriverCommand, DriverResult, PausableRun
from dbhone.workload.drivers.base import DriverRequest, load_driver
from dbhone.workload.task import Task

HEADER = 'echo "-- Speedtest1 for SQLite 3.40.1 2022-12-28 14:03:47 df5c253c0b3dd249"'
NAME = "began=$(date +%s%N); printf ' 100 - some INSERTs......... '"
WORK = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
END = """took=$(( ($(date +%s%N) - began) / 1000000 ))
printf '%4d.%03ds\\n       TOTAL.......   0.000s\\n' $((took / 1000)) $((took % 1000))"""
SHORT = 0.01
LONG = 30.0
PAUSE = 0.3


def command(folder: Path, *lines: str, timeout: float = 60.0) -> DriverCommand:
    program = folder / "speedtest1"
    program.write_text("\n".join(("#!/bin/sh", *lines)))
    program.chmod(0o755)
    return DriverCommand(
        driver=load_driver("speedtest1"),
        request=DriverRequest(
            program=program, task=Task(set="main", size=5), database=folder / "database"
        ),
        folder=folder,
        version="3.40.1",
        timeout=timeout,
    )


def to_the_end(run: PausableRun) -> DriverResult:
    while (result := run.proceed(SHORT)) is None:
        pass
    return result


def test_pauses_are_in_no_figure(tmp_path: Path) -> None:
    began = time.monotonic()
    with PausableRun(command(tmp_path, HEADER, NAME, ": > named", WORK, END)) as run:
        time.sleep(PAUSE)
        while not (tmp_path / "named").exists():
            assert run.proceed(SHORT) is None
        time.sleep(PAUSE)
        result = to_the_end(run)
    whole = time.monotonic() - began
    (step,) = result.require_report().steps
    assert float(result.output.split()[-3].rstrip(b"s")) > PAUSE
    # The driver's own clock goes on while it is paused, and what it prints has the pauses.
    assert step.seconds <= result.seconds <= whole - 2 * PAUSE


def test_a_driver_stands_still_between_its_slices(tmp_path: Path) -> None:
    with PausableRun(command(tmp_path, HEADER, NAME, "while :; do :; done")) as run:
        run.proceed(SHORT)
        # The shell that executes the script; those who started it have its name as a later word.
        (driver,) = (
            process
            for process in psutil.Process().children(recursive=True)
            if process.cmdline()[1:2] == [str(tmp_path / "speedtest1")]
        )
        assert driver.status() == psutil.STATUS_STOPPED
        used = driver.cpu_times().user
        time.sleep(PAUSE)
        assert driver.cpu_times().user == used
    assert not driver.is_running()


def test_a_slice_ends_where_a_step_begins(tmp_path: Path) -> None:
    first, second = NAME, "printf '   0.001s\\n 110 - other INSERTs........ '"
    with PausableRun(command(tmp_path, HEADER, first, "sleep 0.1", second, END)) as run:
        while not run.steps_begun:
            assert run.proceed(LONG) is None
        assert run.proceed(LONG) is None
        assert run.steps_begun == 2
        result = to_the_end(run)
    assert [step.key for step in result.require_report().steps] == ["100", "110"]


def test_a_driver_that_fails_is_a_result(tmp_path: Path) -> None:
    with PausableRun(command(tmp_path, "echo it broke", "exit 3")) as run:
        result = to_the_end(run)
    assert result.report is None
    assert "it broke" in (result.failure or "")


def test_only_the_time_that_it_ran_counts_towards_its_timeout(tmp_path: Path) -> None:
    with PausableRun(command(tmp_path, HEADER, NAME, WORK, END, timeout=30.0)) as run:
        run._usage.paused = -31.0  # as if it had run for as long
        result = to_the_end(run)
    assert "did not end within" in (result.failure or "")


def test_one_that_prints_without_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.process.CAPTURE_LIMIT", 100_000)
    with PausableRun(command(tmp_path, "while :; do echo and on; done")) as run:
        result = to_the_end(run)
    assert "produced more output than allowed" in (result.failure or "")
