"""The servers of an experiment: loaded data, and running instances.

Whatever needs a server goes through here: training, verification and measuring. Loaded data is
made once for each DBMS version, scale and settings that shape data, and kept in the home; each
instance gets a copy of it. Of a version under development it is made once for each source.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms, SizingHints
from dbhone.dbms.base_settings import Origin, RequestedSetting
from dbhone.errors import ToolError, UsageError
from dbhone.experiment.target.order import BlockSeed
from dbhone.experiment.target.server_clients import ServerClients
from dbhone.files import digest_of_file
from dbhone.instance import data, page_cache, settings
from dbhone.instance.applied_levers import AppliedLevers
from dbhone.instance.data_facts import DataFacts, note_copy, note_load
from dbhone.instance.memory import Yardstick, memory_for, scaled
from dbhone.instance.place import opened_place
from dbhone.instance.programs import prepared_environment
from dbhone.instance.server import Server
from dbhone.instance.settings import ResolvedSettings
from dbhone.process import why_not_enclosed
from dbhone.sandbox import is_waived, remedy
from dbhone.session import Notify, Session
from dbhone.untrusted_files import remove_tree
from dbhone.workload.drivers.base import ServerDriver
from dbhone.workload.suite import Regime
from dbhone.workload.task import DataFolder, DataSet
from dbhone.workload.workload import Workload


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
    env: Mapping[str, str] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedServer:
    """The digest of each answer of a server, and in words what it refused, None if nothing."""

    answers: Mapping[str, str]
    refusals: str | None


def check_enclosed(workload: Workload) -> None:
    """Raise ToolError for data of the user's own where no sandbox can be made.

    The data may have foreign tables, and what a replay writes to these would reach other servers.
    """
    reason = why_not_enclosed() if workload.scale.paths and not is_waived() else None
    if reason is not None:
        path = next(iter(workload.scale.paths.values()))
        raise ToolError(
            f"{path} may have foreign tables, by which a replay would write to other servers, and"
            f" this machine makes no sandboxes, which have no network: {reason}",
            hint=f"{remedy()}; or, if no other server can be reached: hone --trust …",
        )


class ServerPool:
    """Starts and loads servers for one session; ``clients`` drive them.

    So many ``servers`` share the machine. With ``drop_unknown`` a setting that a version lacks is
    left out. Raises ToolError as ``check_enclosed``.
    """

    def __init__(
        self,
        session: Session,
        workload: Workload,
        notify: Notify,
        *,
        drop_unknown: bool = False,
        servers: int = 1,
    ) -> None:
        check_enclosed(workload)
        self.session = session
        self.workload = workload
        self._servers = servers
        self._drop_unknown = drop_unknown
        self._notify = notify
        self.clients = ServerClients(session, workload, notify)
        self._held: dict[str, Path] = {}
        # Asked here only: a user's files may change while the servers run on copies.
        self._identity = identity_of(self.clients.driver, self.clients.data)
        self._database = self.clients.data.asked_database
        self._connections = workload.connections

    @property
    def _folder(self) -> DataFolder | None:
        return self.clients.data.data_folder

    @contextlib.contextmanager
    def running(self, spec: ServerSpec, seed: int | None = None) -> Iterator[Server]:
        """Yield a started server on a fresh copy of the loaded data; stop it cleanly in the end.

        With a ``seed`` the data is random data of this seed, which is held until ``forget``.
        Raises ServerError when it does not start, crashes or does not stop.
        """
        saved = self._kept_data(spec) if seed is None else self._held_data(spec, seed)
        with self._instance(spec, saved) as server:
            yield server

    def try_start(self, spec: ServerSpec) -> None:
        """Start a server on a new data directory, and stop it. Raises ServerError."""
        with self._instance(spec, None) as server:
            server.stop()

    @contextlib.contextmanager
    def _instance(self, spec: ServerSpec, saved: Path | None) -> Iterator[Server]:
        with opened_place(self.session, memory=spec.memory) as place:
            if saved is None:
                self._make_data(spec, place)
            else:
                began = time.monotonic()
                data.restore(saved, place)
                note_copy(saved, time.monotonic() - began)
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
                # A dump makes its database itself: whoever restores it asks the usual one.
                database=self._database if saved or self._folder else None,
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
            connections=self._connections,
            os_cached=self.workload.scale.regime is Regime.OS_CACHED,
        )
        yardstick = Yardstick(memory=memory_for(self._servers), cache=hints.cache_bytes)
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
            drop_unknown=self._drop_unknown,
        )

    def _kept_data(self, spec: ServerSpec) -> Path:
        """Return the loaded data for this DBMS version, made unless it is kept."""
        content = self.clients.data
        key = self._key(spec, content)
        return data.find(self.session.home, key) or self._load(
            spec, content, lambda made: data.save(self.session, key, made)
        )

    def _held_data(self, spec: ServerSpec, seed: int) -> Path:
        """Return data of this seed, made unless it is held."""
        content = self.clients.data.with_seed(seed)
        key = self._key(spec, content)
        if key not in self._held:
            self._held[key] = self._load(spec, content, lambda made: data.hold(self.session, made))
        return self._held[key]

    def forget(self) -> None:
        """Remove the data that is held, which no server needs any more."""
        while self._held:
            _, saved = self._held.popitem()
            remove_tree(saved)

    def _key(self, spec: ServerSpec, content: DataSet) -> str:
        installation = spec.installation
        return data_name(
            spec.dbms,
            installation.version,
            spec.settings,
            self._identity,
            seed=content.seed,
            source=installation.source,
        )

    def _check_unchanged(self) -> None:
        """Raise UsageError if other data would be loaded now than at the beginning."""
        content = self.workload.data
        if identity_of(self.clients.driver, content) != self._identity:
            raise UsageError(
                f"what servers are loaded with changed while hone ran: {content.label}",
                hint="begin a new run, with a copy that nothing writes",
            )

    def _load(self, spec: ServerSpec, content: DataSet, keep: Callable[[Path], Path]) -> Path:
        self._check_unchanged()
        self._notify(f"loading {content.label}")
        began = time.monotonic()
        # Settings that only matter while a server is measured must not decide what is loaded.
        plain = ServerSpec(
            dbms=spec.dbms,
            installation=spec.tools,
            settings=(
                *(
                    RequestedSetting(name=name, value=value, origin=Origin.CONFIG)
                    for name, value in spec.dbms.while_loading.items()
                ),
                *loading_settings(spec.dbms, spec.settings),
            ),
        )
        with self._instance(plain, None) as server:
            place = server.place
            if content.data_folder is None:
                self.clients.load(server, content)
            self.clients.finish_background_work(server, content)
            server.stop()
            self._check_unchanged()  # as it may have been written while it was loaded
            saved = keep(place.data)
        facts = DataFacts(
            dbms=spec.dbms.name,
            driver=self.clients.driver.name,
            volume=content.volume,
            load_seconds=time.monotonic() - began,
        )
        note_load(saved, facts)
        return saved

    def verify(
        self, spec: ServerSpec, on_start: Callable[[Server], None] = lambda _server: None
    ) -> VerifiedServer:
        """Return what the server answers. Raises DriverError if the data is damaged.

        ``on_start`` gets the server once it has started.
        """
        with self.running(spec) as server:
            on_start(server)
            printed = self.clients.verify(server)
            server.stop()
        driver = self.clients.driver
        refusals = driver.refusals(printed, self.clients.data)
        return VerifiedServer(answers=driver.answers(printed), refusals=refusals)


def loading_settings(
    dbms: ServerDbms, settings: Iterable[RequestedSetting]
) -> tuple[RequestedSetting, ...]:
    """Return those requested settings that decide what a server's data is."""
    names = dbms.loading_settings | dbms.data_settings
    return tuple(setting for setting in settings if dbms.meant(setting.name) in names)


def identity_of(driver: ServerDriver, content: DataSet) -> tuple[object, ...]:
    """Return what tells the data that a driver loads from other data, without the seed."""
    scripts = [digest_of_file(path) for path in driver.load_scripts(content)]
    return (driver.name, *content.key, scripts)


def data_name(
    dbms: ServerDbms,
    version: str,
    settings: Iterable[RequestedSetting],
    identity: Sequence[object],
    *,
    seed: int | None,
    source: str,
) -> str:
    """Return the name under which loaded data is kept, by the ``identity`` of what is loaded.

    The ``source`` counts where a version does not tell whose data its servers can read.
    """
    seeds = () if seed is None else (seed,)
    own = [[it.name, it.value, it.origin] for it in loading_settings(dbms, settings)]
    is_released = dbms.unreleased is None or dbms.unreleased.search(version) is None
    of_source = () if version and is_released else (source,)
    parts = [*identity, *seeds, *own, *of_source]
    return data.key(dbms.name, version, parts)
