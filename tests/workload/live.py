"""The distribution's servers, started for a test, and sysbench to ask them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dbhone import registry
from dbhone.command import Command
from dbhone.dbms.base import DRAWER
from dbhone.dbms.base_protocol import Endpoint
from dbhone.dbms.base_server import Installation, ServerDbms, SizingHints, server_systems
from dbhone.home import Home
from dbhone.instance import data, settings
from dbhone.instance.client import connect
from dbhone.instance.place import opened_place
from dbhone.instance.server import Server
from dbhone.process import Finished, run
from dbhone.session import Session, open_session
from dbhone.workload.drive import DriverCommand, drive
from dbhone.workload.drivers.base import DriverRequest, ServerDriver, StepResult
from dbhone.workload.drivers.replay import PLUGIN as REPLAY
from dbhone.workload.drivers.replay import UsersData
from dbhone.workload.drivers.sysbench import PLUGIN, Tables
from dbhone.workload.pausable_client import PausableClient, drive_counting
from dbhone.workload.task import DataSet, Task

_ASK = Path(__file__).with_name("ask.lua")
_ROOM = SizingHints(cache_bytes=64 * 1024**2, connections=50)
_POSTGRESQL = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A running server without tables, the folder in which clients run, and their driver."""

    name: str
    endpoint: Endpoint
    folder: Path
    driver: ServerDriver = PLUGIN
    built: Path | None = None
    """The driver's program, if it is none that is installed."""

    @property
    def program(self) -> Path:
        return self.built or Path(shutil.which(self.driver.program) or self.driver.program)

    def command(self, argv: tuple[str, ...], stdin: Path | None = None) -> Finished:
        return run(Command(argv=argv, cwd=self.folder, isolated=True, timeout=120.0, stdin=stdin))

    def printed(self, argv: tuple[str, ...], stdin: Path | None = None) -> str:
        finished = self.command(argv, stdin)
        assert finished.ok, finished.text()
        return finished.text()

    def ask(self, sql: str) -> list[str]:
        """Return the lines of the answer to a statement."""
        sysbench = Path(shutil.which("sysbench") or "sysbench")
        argv = PLUGIN.finish_background_work(sysbench, self.endpoint, Tables(tables=1, rows=100))
        lines = self.printed((argv[0], str(_ASK), *argv[2:-1], f"--sql={sql}", "ask"))
        return [line for line in lines.splitlines()[1:] if line]

    def in_database(self, name: str) -> Live:
        """Return the server with a new database."""
        self.ask(f"CREATE DATABASE {name}")
        return replace(self, endpoint=replace(self.endpoint, database=name))

    def restore(self, data: UsersData) -> Finished:
        """Restore a dump."""
        with contextlib.closing(connect(self.endpoint)) as client:
            for statement in REPLAY.statements_before(data):
                client.tell(statement)
        return self.command(REPLAY.load(self.program, self.endpoint, data), data.source)

    def load(self, tables: DataSet) -> None:
        self.printed(self.driver.load(self.program, self.endpoint, tables))
        self.printed(self.driver.finish_background_work(self.program, self.endpoint, tables))

    def verified(self, tables: DataSet) -> dict[str, str]:
        printed = self.printed(self.driver.verify(self.program, self.endpoint, tables))
        return self.driver.answers(printed)

    def step(self, task: Task) -> StepResult:
        (step,) = self.steps(task)
        return step

    def steps(self, task: Task) -> tuple[StepResult, ...]:
        """Return the whole of a set, and its parts."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        command = command_of(self, task, folder)
        counts = self.driver.can_pause(task)
        result = drive_counting(command, folder) if counts else drive(command)
        return result.require_report().steps


def dbms_of_the_suite() -> tuple[str, ...]:
    return tuple(server_systems())


@contextlib.contextmanager
def started(name: str) -> Iterator[Live]:
    """Start the distribution's server ``name``; skip the test if this machine has none."""
    dbms = server_dbms(name)
    installation = installed(dbms)
    if installation is None or shutil.which("sysbench") is None:
        pytest.skip(f"{name} or sysbench is not installed")
    with (
        open_folder() as root,
        open_session(Home(root / "h")) as session,
        _server(dbms, installation, session) as one,
    ):
        yield Live(name=name, endpoint=one.endpoint, folder=root)


def server_dbms(name: str) -> ServerDbms:
    return registry.load(DRAWER, name, ServerDbms, what="DBMS")


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Yield an empty folder; pytest's own are closed to an account that nothing encloses."""
    root = Path(tempfile.mkdtemp(prefix="hone-"))
    root.chmod(0o755)
    try:
        yield root
    finally:
        shutil.rmtree(root)


def installed(dbms: ServerDbms) -> Installation | None:
    prefixes = (*sorted(_POSTGRESQL.glob("*"), reverse=True), Path("/usr"))
    found = (dbms.installation(prefix) for prefix in prefixes)
    return next((each for each in found if each is not None and _is(dbms, each)), None)


def _is(dbms: ServerDbms, installation: Installation) -> bool:
    """Return whether the server is that DBMS: where MariaDB is installed it is mysqld, too."""
    asked = dbms.version_query(installation)
    said = subprocess.run(asked.argv, capture_output=True, text=True, check=False, env=asked.env)
    return dbms.version_in(said.stdout) is not None


@contextlib.contextmanager
def _server(dbms: ServerDbms, installation: Installation, session: Session) -> Iterator[Server]:
    with opened_place(session) as place:
        data.make(dbms, installation, place, session)
        chosen = settings.choose(
            dbms,
            installation,
            place,
            proposed=dbms.proposed_settings(_ROOM, installation.version),
            wanted=(),
            drop_unknown=False,
        )
        with Server(dbms, installation, place, chosen.values, home=session.home) as server:
            yield server


def command_of(live: Live, task: Task, folder: Path) -> DriverCommand:
    return DriverCommand(
        driver=live.driver,
        request=DriverRequest(program=live.program, task=task, database=live.endpoint),
        folder=folder,
        version="1",
        timeout=60.0,
    )


def client(live: Live, task: Task, folder: Path) -> PausableClient:
    folder.mkdir()
    return PausableClient(command_of(live, task, folder), folder)
