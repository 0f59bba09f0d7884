"""sysbench without a database, whose clients count what they do."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.workload.drive import DriverCommand
from dbhone.workload.drivers.base import DriverRequest, ServerDriver
from dbhone.workload.drivers.sysbench import Script, Tables
from dbhone.workload.pausable_client import PausableClient
from dbhone.workload.task import ClientRun, DataSet, Task

_SCRIPT = Path(__file__).with_name("counted.lua")
_SYSBENCH = shutil.which("sysbench")
needs_sysbench = pytest.mark.skipif(_SYSBENCH is None, reason="sysbench is not installed")


class Sleeper(ServerDriver):
    """Runs the script that only sleeps; ``options`` are its own."""

    name = "sleeper"
    program = "sysbench"
    package = "sysbench"

    def can_pause(self, task: Task) -> bool:
        return True

    def counting_argv(self, request: DriverRequest, counts: Path) -> tuple[str, ...]:
        assert request.task.run is not None
        options = (f"--{name}={value}" for name, value in _job_of(request).options)
        threads = f"--threads={request.task.run.threads}"
        endless = ("--time=0", "--events=0", f"--counts={counts}")
        return (str(request.program), str(_SCRIPT), threads, *endless, *options, "run")

    def data_set(self, keys: Mapping[str, Any], scripts: Path, seed: int | None) -> DataSet:
        return Tables(tables=1, rows=100)

    def job(self, keys: Mapping[str, Any]) -> object:
        return Script(name="counted")

    def load(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        return (str(program), "--version")

    def load_scripts(self, data: DataSet) -> tuple[Path, ...]:
        return ()

    def finish_background_work(
        self, program: Path, endpoint: Endpoint, data: DataSet
    ) -> tuple[str, ...]:
        return (str(program), "--version")

    def verify(self, program: Path, endpoint: Endpoint, data: DataSet) -> tuple[str, ...]:
        return (str(program), "--version")


def _job_of(request: DriverRequest) -> Script:
    assert request.task.run is not None
    assert isinstance(request.task.run.job, Script)
    return request.task.run.job


def sleeping(threads: int = 2, seconds: float = 1.0, **options: int) -> Task:
    """Return a task of the script with these options."""
    words = tuple((name, str(value)) for name, value in options.items())
    job, data = Script(name="counted", options=words), Tables(tables=1, rows=100)
    run = ClientRun(job=job, threads=threads, seconds=seconds, data=data)
    return Task(set="sleep", run=run)


def command(folder: Path, task: Task) -> DriverCommand:
    nowhere = Endpoint(protocol=MYSQL, socket=folder / "none", user="u", database="d")
    return DriverCommand(
        driver=Sleeper(),
        request=DriverRequest(program=Path(_SYSBENCH or "sysbench"), task=task, database=nowhere),
        folder=folder,
        version="1",
        timeout=60.0,
    )


def client(folder: Path, task: Task) -> PausableClient:
    """Return a driver that was not started yet."""
    folder.mkdir(exist_ok=True)
    return PausableClient(command(folder, task), folder)
