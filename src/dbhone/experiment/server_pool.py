"""ServerPool for an experiment: loaded data, running instances, and the driver that asks them.

Whatever needs a server goes through here: training, proof and measuring. Loaded data is made
once for each DBMS version and scale and kept in the home; each instance gets a copy of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbhone import process
from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms, SizingHints
from dbhone.dbms.base_settings import LOOSE, Wanted
from dbhone.errors import DriverError, ServerError, ToolError
from dbhone.files import digest_of_file, remove_tree
from dbhone.home import Session
from dbhone.instance import data, page_cache, settings
from dbhone.instance.account import server_account
from dbhone.instance.applied_levers import AppliedLevers
from dbhone.instance.memory import Yardstick, memory_for, scaled
from dbhone.instance.place import make_place, remove_place
from dbhone.instance.programs import prepared_environment
from dbhone.instance.server import Server
from dbhone.instance.settings import ResolvedSettings
from dbhone.workload import work
from dbhone.workload.drive import DriverCommand, DriverResult, drive
from dbhone.workload.drivers.base import ServerDriver
from dbhone.workload.frozen import FrozenClient
from dbhone.workload.suite import Regime, Suite
from dbhone.workload.task import DataSet, Scale, Task

_LOAD_TIMEOUT = 24 * 3600.0
_VERIFY_TIMEOUT = 3600.0
_SLACK = 60.0

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWorkload:
    """What all servers of an experiment are asked for; ``servers`` of them share the machine."""

    suite: Suite
    driver: ServerDriver
    scale: Scale
    drop_unknown: bool = False
    servers: int = 1

    @property
    def data(self) -> DataSet:
        """The data that servers are loaded with."""
        return work.data_of(self.suite, self.scale)

    @property
    def cache_bytes(self) -> int:
        """How large each server's cache is."""
        return work.cache_bytes(self.suite, self.scale)

    def tasks(self, names: tuple[str, ...]) -> tuple[Task, ...]:
        """Return the driver's tasks for these sets."""
        return work.tasks(self.suite, names, self.scale)

    @property
    def cold(self) -> bool:
        """Whether a server is to find its data on the disk only."""
        return self.scale.regime is Regime.COLD

    def warm_up(self) -> tuple[Task, ...]:
        """Return what every server is asked once it has started, unmeasured; nothing if cold."""
        if self.cold:
            return ()
        return work.warm_up_tasks(self.suite, self.scale)

    @property
    def connections(self) -> int:
        """The most clients that a server gets, and some to spare."""
        threads = [task.run.threads for task in self.tasks(self.suite.measured()) if task.run]
        spare = self.suite.server_sizes[self.scale.size].spare_connections
        return max((*threads, self.data.loaders)) + spare


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A server that is to run: what it is, its programs, the settings asked of it, its levers."""

    dbms: ServerDbms
    installation: Installation
    settings: tuple[Wanted, ...]
    env: Mapping[str, str]
    levers: AppliedLevers = field(default_factory=AppliedLevers)


class ServerPool:
    """Starts, loads and asks servers for one session."""

    def __init__(self, session: Session, demand: ServerWorkload, notify: Notify) -> None:
        self.session = session
        self.demand = demand
        self._notify = notify
        self.account = server_account()
        self.program = self._driver_program()
        self._fresh: dict[str, data.Saved] = {}
        # Part of the key of loaded data, which every start of a server asks for.
        self._scripts = [digest_of_file(path) for path in demand.driver.load_scripts(demand.data)]

    def _driver_program(self) -> Path:
        driver = self.demand.driver
        found = shutil.which(driver.program)
        if found is None:
            raise ToolError(
                f"{driver.program} is not installed",
                hint=f"install it: apt-get install {driver.package}",
            )
        return Path(found)

    @contextlib.contextmanager
    def running(self, contender: ServerSpec, seed: int | None = None) -> Iterator[Server]:
        """Yield a started server on a fresh copy of the loaded data; stop it cleanly in the end.

        With a ``seed`` the data is random data of its own, which is held until it is forgotten.
        Raises ServerError when it does not start, crashes or does not stop.
        """
        saved = self._loaded(contender) if seed is None else self._held(contender, seed)
        with self._instance(contender, saved) as server:
            yield server

    @contextlib.contextmanager
    def _instance(self, contender: ServerSpec, saved: data.Saved | None) -> Iterator[Server]:
        place = make_place(self.session, self.account)
        try:
            if saved is None:
                data.make(contender.dbms, contender.installation, place, self.account, self.session)
            else:
                data.restore(saved, place, self.account)
                if self.demand.cold:
                    page_cache.evict(place.data)
            chosen = self._chosen(contender, place)
            server = Server(
                contender.dbms,
                contender.installation,
                place,
                chosen.values,
                self.account,
                home=self.session.home,
                # What an instrumented server counts while nobody trains it is thrown away.
                env={**prepared_environment(place), **contender.env},
                levers=contender.levers,
            )
            with server:
                yield server
        finally:
            remove_place(place)

    def settings(self, contender: ServerSpec) -> ResolvedSettings:
        """Return the settings that a server will have, those left out that hone insists on.

        Raises SettingsError for one that it lacks.
        """
        place = make_place(self.session, self.account)
        try:
            chosen = self._chosen(contender, place)
            fixed = contender.dbms.fixed_settings(place)
        finally:
            remove_place(place)
        values = {name: value for name, value in chosen.values.items() if name not in fixed}
        return dataclasses.replace(chosen, values=values)

    def _chosen(self, contender: ServerSpec, place: InstanceDir) -> ResolvedSettings:
        room = SizingHints(
            cache_bytes=self.demand.cache_bytes,
            connections=self.demand.connections,
            os_cached=self.demand.scale.regime is Regime.OS_CACHED,
        )
        yardstick = Yardstick(memory=memory_for(self.demand.servers), cache=room.cache_bytes)
        wanted = (
            dataclasses.replace(each, value=scaled(each.value, yardstick, contender.dbms))
            for each in contender.settings
        )
        return settings.choose(
            contender.dbms,
            contender.installation,
            place,
            proposed=contender.dbms.proposed_settings(room, contender.installation.version),
            wanted=wanted,
            drop_unknown=self.demand.drop_unknown,
        )

    def _loaded(self, contender: ServerSpec) -> data.Saved:
        """Return the loaded data for this DBMS version, made unless it is kept."""
        content = self.demand.data
        key = self._key(contender, content)
        return data.find(self.session.home, key) or self._load(
            contender, content, lambda made: data.save(self.session, key, made)
        )

    def _held(self, contender: ServerSpec, seed: int) -> data.Saved:
        """Return data of this seed, made unless it is held."""
        content = self.demand.data.seeded(seed)
        key = self._key(contender, content)
        if key not in self._fresh:
            self._fresh[key] = self._load(
                contender, content, lambda made: data.hold(self.session, made)
            )
        return self._fresh[key]

    def forget(self) -> None:
        """Remove the data that is held: no server needs it any more."""
        while self._fresh:
            _, saved = self._fresh.popitem()
            remove_tree(saved.path)

    def _key(self, contender: ServerSpec, content: DataSet) -> str:
        seed = () if content.seed is None else (content.seed,)
        asked = [[each.name, each.value, each.origin] for each in _loading(contender)]
        what = [self.demand.driver.name, *content.key, self._scripts, *seed, *asked]
        return data.key(contender.dbms.name, contender.installation.version, what)

    def _load(
        self, contender: ServerSpec, content: DataSet, keep: Callable[[Path], data.Saved]
    ) -> data.Saved:
        driver = self.demand.driver
        self._notify(f"loading {content.label}")
        # What else a server is asked to be while it is measured must not decide what is loaded.
        plain = ServerSpec(
            dbms=contender.dbms,
            installation=contender.installation,
            settings=_loading(contender),
            env={},
        )
        with self._instance(plain, None) as server:
            place = server.place
            self._tell(server, driver.load(self.program, server.endpoint, content), "loading")
            self._tell(server, driver.settle(self.program, server.endpoint, content), "settling")
            server.stop()
            return keep(place.data)

    def _tell(self, server: Server, argv: tuple[str, ...], doing: str) -> str:
        """Run the driver for something that is not measured; return what it printed."""
        command = process.Command(
            argv=argv,
            cwd=self.session.scratch,
            env={"LC_ALL": "C"},
            isolated=True,
            timeout=_LOAD_TIMEOUT,
        )
        finished = process.run(command)
        # Of a command that several threads work on, sysbench says only in words that it failed.
        complaint = self.demand.driver.complaint(finished.text())
        if finished.ok and complaint is None:
            return finished.text()
        server.check()
        if complaint is None:
            last = finished.text().strip().rpartition("\n")[2][:200]
            complaint = DriverError(f"{self.demand.driver.name} {finished.ending()}: {last}")
        raise DriverError(f"{doing} failed: {complaint.message}", hint=complaint.hint)

    def drive(self, server: Server, task: Task) -> DriverResult:
        """Ask the server; a driver that fails is a result, a server that died a ServerError."""
        driven = drive(self._request(server, task))
        if driven.failure is not None:
            server.check()
        return driven

    def client(self, server: Server, task: Task, folder: Path) -> FrozenClient:
        """Return a client of the server that can be frozen; its files are in ``folder``."""
        return FrozenClient(self._request(server, task), self.demand.driver, folder)

    def _request(self, server: Server, task: Task) -> DriverCommand:
        assert task.run is not None
        return DriverCommand(
            driver=self.demand.driver,
            program=self.program,
            task=task,
            where=server.endpoint,
            folder=self.session.scratch,
            version=server.installation.version,
            cpus=server.levers.whole.client_cpus,
            timeout=task.run.patience + _SLACK,
        )

    def warm_up(self, server: Server) -> None:
        """Fill the server's caches. Raises DriverError if it cannot be asked."""
        for task in self.demand.warm_up():
            self.drive(server, task).result()

    def verify(self, contender: ServerSpec) -> str:
        """Return the digest of a server's answers; raise DriverError if its data is damaged."""
        driver = self.demand.driver
        with self.running(contender) as server:
            argv = driver.verify(self.program, server.endpoint, self.demand.data)
            printed = self._tell(server, argv, "verifying")
            server.stop()
        return driver.verification(printed)


def installation_of(dbms: ServerDbms, build: Build) -> Installation:
    """Return the server in a build. Raises ServerError if there is none."""
    files = build.manifest.files
    prefix = build.path("install") if "install" in files else build.folder
    found = dbms.installation(prefix)
    if found is None:
        raise ServerError(f"the build in {build.folder} holds no server of {dbms.title}")
    return Installation(
        dbms=dbms.name,
        version=build.manifest.version,
        prefix=found.prefix,
        server=build.path(build.manifest.primary),
        libraries=tuple(build.folder / each for each in build.manifest.libraries),
    )


def _loading(contender: ServerSpec) -> tuple[Wanted, ...]:
    """Return those of the settings asked of a server that decide what its tables are."""
    dbms = contender.dbms
    names = dbms.loading_settings
    return tuple(
        each
        for each in contender.settings
        if dbms.canonical(each.name).removeprefix(LOOSE) in names
    )
