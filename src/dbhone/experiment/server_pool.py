"""The servers of an experiment: loaded data, running instances, and the driver of their clients.

Whatever needs a server goes through here: training, verification and measuring. Loaded data is
made once for each DBMS version, scale and settings that shape data, and kept in the home; each
instance gets a copy of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant, check_readable
from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms, SizingHints
from dbhone.dbms.base_settings import LOOSE, RequestedSetting
from dbhone.errors import DriverError
from dbhone.experiment.model import TrainingCommand
from dbhone.experiment.order import BlockSeed
from dbhone.files import digest_of, digest_of_file
from dbhone.home import Notify, Session
from dbhone.instance import data, page_cache, settings
from dbhone.instance.applied_levers import AppliedLevers
from dbhone.instance.memory import Yardstick, memory_for, scaled
from dbhone.instance.place import opened_place
from dbhone.instance.programs import keep_log, prepared_environment
from dbhone.instance.server import Server
from dbhone.instance.settings import ResolvedSettings
from dbhone.program_folders import program_folders
from dbhone.sandbox import Sandbox
from dbhone.untrusted_files import remove_tree
from dbhone.workload import suite_tasks
from dbhone.workload.drive import DriverCommand, DriverResult, drive
from dbhone.workload.driver_program import locate_program
from dbhone.workload.drivers.base import ServerDriver
from dbhone.workload.pausable_client import PausableClient
from dbhone.workload.suite import Regime, Suite
from dbhone.workload.task import DataFolder, DataSet, Scale, Task

_LOAD_TIMEOUT = 24 * 3600.0
_SLACK = 60.0
_CLIENTS_FOLDER = Path("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWorkload:
    """What the clients of all servers do. ``servers`` is how many servers share the machine."""

    suite: Suite
    driver: ServerDriver
    scale: Scale
    drop_unknown: bool = False
    servers: int = 1

    @property
    def data(self) -> DataSet:
        """The data that servers are loaded with."""
        return suite_tasks.data_set(self.suite, self.scale)

    @property
    def cache_bytes(self) -> int:
        """How large each server's cache is."""
        return suite_tasks.cache_bytes(self.suite, self.scale)

    def tasks(self, names: tuple[str, ...]) -> tuple[Task, ...]:
        """Return the driver's tasks for these sets."""
        return suite_tasks.tasks(self.suite, names, self.scale)

    @property
    def cold(self) -> bool:
        """Whether a server is to find its data on the disk only."""
        return self.scale.regime is Regime.COLD

    def warm_up(self) -> tuple[Task, ...]:
        """Return the tasks that warm up a server once it has started; none if it is to be cold."""
        if self.cold:
            return ()
        return suite_tasks.warm_up_tasks(self.suite, self.scale)

    @property
    def connections(self) -> int:
        """The most clients that a server gets, and some to spare."""
        threads = [task.run.threads for task in self.tasks(self.suite.measured()) if task.run]
        spare = self.suite.server_sizes[self.scale.size].spare_connections
        return max((*threads, self.data.loaders)) + spare


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A server that is to run: its DBMS, programs, requested settings and levers.

    An instrumented one writes its counters to the folder ``counters``. With its clients it may hold
    ``memory`` bytes, all that is usable if it is None. ``plain`` are the programs that make data
    directories and tell of settings, if the server's own must not: BOLT's counters have one place,
    which each start of the program would spoil. ``layouts`` are the same programs with the server's
    code in other layouts.
    """

    dbms: ServerDbms
    installation: Installation
    settings: tuple[RequestedSetting, ...]
    env: Mapping[str, str]
    levers: AppliedLevers = field(default_factory=AppliedLevers)
    counters: Path | None = None
    memory: int | None = None
    plain: Installation | None = None
    layouts: tuple[Installation, ...] = ()

    def in_block(self, block: BlockSeed, subject: str) -> ServerSpec:
        """Return the server that a subject has in a block: in one of the layouts, if it has any."""
        chosen = block.in_layout(subject, self.installation, self.layouts)
        return dataclasses.replace(self, installation=chosen, plain=self.tools, layouts=())

    @property
    def tools(self) -> Installation:
        """The programs for whatever is done beside running the server."""
        return self.plain or self.installation


class ServerPool:
    """Starts, loads and drives servers for one session."""

    def __init__(self, session: Session, workload: ServerWorkload, notify: Notify) -> None:
        self.session = session
        self.workload = workload
        self._notify = notify
        self.program = locate_program(workload.driver, session, notify)
        self._held: dict[str, data.Saved] = {}
        self._materials = self._written_materials()
        scripts = workload.driver.load_scripts(workload.data)
        # Part of the key of loaded data, which every start of a server needs.
        self._scripts = [digest_of_file(path) for path in scripts]
        if process.can_enclose():
            check_readable((*scripts, *workload.driver.readable(workload.data)))

    def _written_materials(self) -> Path | None:
        """Return the folder of the files that clients read, written unless they are kept."""
        materials = self.workload.driver.materials(self.workload.data)
        if materials is None:
            return None

        def write(folder: Path) -> None:
            self._notify(materials.doing)
            materials.write(folder)

        name = f"clients-{digest_of([self.workload.driver.name, *materials.what])[:16]}"
        return self.session.fill_once(self.session.home.data / name, write)

    @property
    def _folder(self) -> DataFolder | None:
        return self.workload.data.data_folder

    @property
    def _data(self) -> DataSet:
        """The data that servers are loaded with, as clients get it."""
        data_set = self.workload.data
        return data_set if self._materials is None else data_set.with_materials(self._materials)

    @contextlib.contextmanager
    def running(self, spec: ServerSpec, seed: int | None = None) -> Iterator[Server]:
        """Yield a started server on a fresh copy of the loaded data; stop it cleanly in the end.

        With a ``seed`` the data is random data of this seed, which is held until ``forget``.
        Raises ServerError when it does not start, crashes or does not stop.
        """
        saved = self._kept_data(spec) if seed is None else self._held_data(spec, seed)
        with self._instance(spec, saved) as server:
            yield server

    @contextlib.contextmanager
    def _instance(self, spec: ServerSpec, saved: data.Saved | None) -> Iterator[Server]:
        with opened_place(self.session, memory=spec.memory) as place:
            if saved is None:
                self._make_data(spec, place)
            else:
                data.restore(saved, place)
                if self.workload.cold:
                    page_cache.evict(place.data)
            chosen = self._settings_for(spec, place)
            server = Server(
                spec.dbms,
                spec.installation,
                place,
                chosen.values,
                home=self.session.home,
                # What an instrumented server counts outside of training is discarded.
                env={**prepared_environment(place), **spec.env},
                levers=spec.levers,
                counters=spec.counters,
                database=self._folder.database if self._folder else None,
            )
            with server:
                yield server

    def _make_data(self, spec: ServerSpec, place: InstanceDir) -> None:
        """Make a data directory, or copy the user's, with the data settings of the server."""
        chosen = self.settings(spec).values
        of_data = {name: chosen[name] for name in chosen if name in spec.dbms.data_settings}
        if self._folder is None:
            data.make(spec.dbms, spec.tools, place, self.session, of_data)
        else:
            folder = self._folder.path
            data.copy_from(folder, spec.dbms, spec.tools, place, self.session, of_data)

    def settings(self, spec: ServerSpec) -> ResolvedSettings:
        """Return the settings that a server will have, without those that hone fixes.

        Raises SettingsError for one that it lacks.
        """
        with opened_place(self.session) as place:
            chosen = self._settings_for(spec, place)
            fixed = spec.dbms.fixed_settings(place)
        values = {name: value for name, value in chosen.values.items() if name not in fixed}
        return dataclasses.replace(chosen, values=values)

    def _settings_for(self, spec: ServerSpec, place: InstanceDir) -> ResolvedSettings:
        hints = SizingHints(
            cache_bytes=self.workload.cache_bytes,
            connections=self.workload.connections,
            os_cached=self.workload.scale.regime is Regime.OS_CACHED,
        )
        yardstick = Yardstick(memory=memory_for(self.workload.servers), cache=hints.cache_bytes)
        settings_of_server = (
            dataclasses.replace(setting, value=scaled(setting.value, yardstick, spec.dbms))
            for setting in spec.settings
        )
        return settings.choose(
            spec.dbms,
            spec.tools,
            place,
            proposed=spec.dbms.proposed_settings(hints, spec.installation.version),
            wanted=settings_of_server,
            drop_unknown=self.workload.drop_unknown,
        )

    def _kept_data(self, spec: ServerSpec) -> data.Saved:
        """Return the loaded data for this DBMS version, made unless it is kept."""
        content = self._data
        key = self._key(spec, content)
        return data.find(self.session.home, key) or self._load(
            spec, content, lambda made: data.save(self.session, key, made)
        )

    def _held_data(self, spec: ServerSpec, seed: int) -> data.Saved:
        """Return data of this seed, made unless it is held."""
        content = self._data.with_seed(seed)
        key = self._key(spec, content)
        if key not in self._held:
            self._held[key] = self._load(spec, content, lambda made: data.hold(self.session, made))
        return self._held[key]

    def forget(self) -> None:
        """Remove the data that is held, which no server needs any more."""
        while self._held:
            _, saved = self._held.popitem()
            remove_tree(saved.path)

    def _key(self, spec: ServerSpec, content: DataSet) -> str:
        seed = () if content.seed is None else (content.seed,)
        settings = [[setting.name, setting.value, setting.origin] for setting in _loading(spec)]
        parts = [self.workload.driver.name, *content.key, self._scripts, *seed, *settings]
        return data.key(spec.dbms.name, spec.installation.version, parts)

    def _load(
        self, spec: ServerSpec, content: DataSet, keep: Callable[[Path], data.Saved]
    ) -> data.Saved:
        driver = self.workload.driver
        self._notify(f"loading {content.label}")
        # Settings that only matter while a server is measured must not decide what is loaded.
        plain = ServerSpec(
            dbms=spec.dbms,
            installation=spec.tools,
            settings=_loading(spec),
            env={},
        )
        with self._instance(plain, None) as server:
            place = server.place
            if content.data_folder is None:
                loading = driver.load(self.program, server.endpoint, content)
                self._run_driver(server, loading, "loading")
            self.finish_background_work(server, content)
            server.stop()
            return keep(place.data)

    def finish_background_work(self, server: Server, content: DataSet | None = None) -> None:
        """Let the server finish what a load or writes left behind, and return when it has.

        ``content`` is what it holds, if it is not the workload's own. Raises DriverError,
        ServerError.
        """
        driver, content = self.workload.driver, content or self._data
        argv = driver.finish_background_work(self.program, server.endpoint, content)
        self._run_driver(server, argv, "settling")

    def _run_driver(self, server: Server, argv: tuple[str, ...], doing: str) -> str:
        """Run the driver for something that is not measured; return what it printed."""
        command = process.Command(
            argv=argv,
            cwd=_CLIENTS_FOLDER,
            env={"LC_ALL": "C"},
            isolated=True,
            timeout=_LOAD_TIMEOUT,
            sandbox=self._client_sandbox(server),
            tenant=self._client_tenant(server),
        )
        finished = process.run(command)
        # If several threads work on a command, sysbench reports a failure only in what it prints.
        error = self.workload.driver.error_in_output(finished.text())
        if finished.ok and error is None:
            return finished.text()
        server.check()
        if error is None:
            last = finished.text().strip().rpartition("\n")[2][:200]
            error = DriverError(f"{self.workload.driver.name} {finished.ending()}: {last}")
        raise DriverError(f"{doing} failed: {error.message}", hint=error.hint)

    def execute(self, server: Server, training: TrainingCommand) -> None:
        """Run a user's program as a client of the server. Raises DriverError, with its log."""
        endpoint, folder = server.endpoint, training.folder
        if process.can_enclose():
            check_readable((folder, *training.files))
        programs = program_folders(training.argv[:1], self.session.home)
        sandbox = Sandbox(readable=(endpoint.socket.parent, folder, *programs))
        log = self.session.workdir("command") / "log"
        command = process.Command(
            argv=training.argv,
            cwd=folder,
            log=log,
            env={"LC_ALL": "C", **_variables(server)},
            isolated=True,
            timeout=training.timeout,
            sandbox=sandbox,
            tenant=self._client_tenant(server),
        )
        finished = process.run(command)
        server.check()
        if not finished.ok:
            raise DriverError(
                f"the training's command, {training.line}, {finished.ending()}",
                hint="fix it; [training] timeout says how long it may take",
                log=keep_log(log, self.session.home, "training-command"),
            )

    def drive(self, server: Server, task: Task) -> DriverResult:
        """Drive the server. A driver that fails is a result; a dead server raises ServerError."""
        result = drive(self._request(server, task))
        if result.failure is not None:
            server.check()
        return result

    def client(self, server: Server, task: Task, folder: Path) -> PausableClient:
        """Return a client of the server that can be paused; its files are in ``folder``."""
        return PausableClient(self._request(server, task), self.workload.driver, folder)

    def _request(self, server: Server, task: Task) -> DriverCommand:
        if self._materials is not None:
            task = task.with_materials(self._materials)
        assert task.run is not None
        return DriverCommand(
            driver=self.workload.driver,
            program=self.program,
            task=task,
            database=server.endpoint,
            folder=_CLIENTS_FOLDER,
            version=server.installation.version,
            cpus=server.levers.whole.client_cpus,
            timeout=task.run.timeout + _SLACK,
            sandbox=self._client_sandbox(server),
            tenant=self._client_tenant(server),
        )

    def _client_tenant(self, server: Server) -> Tenant | None:
        """Return for whom clients run: their server's tenant, as what they use is the subject's.

        A client that nothing shuts in had better not share its account with the servers.
        """
        return server.place.tenant if process.can_enclose() else None

    def _client_sandbox(self, server: Server) -> Sandbox:
        """Return what encloses a server's clients: a server may try to take them over."""
        endpoint, driver = server.endpoint, self.workload.driver
        scripts = driver.readable(self._data)
        programs = program_folders((self.program,), self.session.home)
        return Sandbox(readable=(endpoint.socket.parent, *scripts, *programs))

    def warm_up(self, server: Server, seed: BlockSeed) -> None:
        """Fill the server's caches in a block. Raises DriverError if a client fails."""
        for task in self.workload.warm_up():
            self.drive(server, seed.apply_to(task)).require_report()

    def check(self, server: Server) -> None:
        """Check what clients made of the data. Raises DriverError if it is damaged, ServerError."""
        argv = self.workload.driver.check(self.program, server.endpoint, self._data)
        if argv is not None:
            self.workload.driver.verification(self._run_driver(server, argv, "checking"))

    def verify(self, spec: ServerSpec) -> str:
        """Return the digest of a server's answers; raise DriverError if its data is damaged."""
        driver = self.workload.driver
        with self.running(spec) as server:
            argv = driver.verify(self.program, server.endpoint, self._data)
            printed = self._run_driver(server, argv, "verifying")
            server.stop()
        return driver.verification(printed)


def _variables(server: Server) -> dict[str, str]:
    """Return the variables that tell a user's program how to reach the server."""
    endpoint = server.endpoint
    return {
        "DBHONE_DBMS": server.installation.dbms,
        "DBHONE_VERSION": server.installation.version,
        "DBHONE_SOCKET": str(endpoint.socket),
        "DBHONE_PORT": str(endpoint.port),
        "DBHONE_USER": endpoint.user,
        "DBHONE_DATABASE": endpoint.database,
        **endpoint.protocol.environment(endpoint),
    }


def _loading(spec: ServerSpec) -> tuple[RequestedSetting, ...]:
    """Return those requested settings that decide what a server's data is."""
    dbms = spec.dbms
    names = dbms.loading_settings | dbms.data_settings
    return tuple(
        setting
        for setting in spec.settings
        if dbms.canonical(setting.name).removeprefix(LOOSE) in names
    )
