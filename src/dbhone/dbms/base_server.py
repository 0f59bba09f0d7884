"""What dbhone must know of a DBMS that is a server, and the values that say it.

Like ``base.py`` it is pure: it returns command lines, the text of files, and what an answer
means. ``instance/`` acts.
"""

from __future__ import annotations

import re
import signal
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from dbhone import registry
from dbhone.account import Tenant
from dbhone.dbms.base import DRAWER, Dbms
from dbhone.dbms.base_counters import CounterSource
from dbhone.dbms.base_protocol import Endpoint, Protocol
from dbhone.dbms.base_settings import LOOSE, RequestedSetting
from dbhone.errors import UsageError

Settings = Mapping[str, str]
"""The server's settings by name, with values as its settings file writes them, unquoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The programs of a server: a build's, or a distribution's.

    ``server`` is the program that runs; ``prefix`` the folder below which its other files
    are looked for (``bin``, ``share``, …). ``version`` is what it says of itself. ``libraries``
    are folders of libraries that it brings and that the loader must be told of. ``source`` is the
    digest of the tree that it was built of or came in, empty where that is unknown.
    """

    dbms: str
    version: str
    prefix: Path
    server: Path
    libraries: tuple[Path, ...] = ()
    source: str = ""

    def environment(self, *more: Path) -> dict[str, str]:
        """Return the variable that names the folders of libraries, those of ``more`` included."""
        folders = [*self.libraries, *(folder for folder in more if folder.is_dir())]
        return {"LD_LIBRARY_PATH": ":".join(map(str, folders))} if folders else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceDir:
    """Where one instance lives. All is private to the ``tenant``, for whom its programs run.

    ``sockets`` is the folder of the server's socket, ``scratch`` one for its temporary files.
    """

    data: Path
    settings: Path
    sockets: Path
    scratch: Path
    log: Path
    tenant: Tenant = field(default_factory=Tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run as the server's account, to its end; ``stdin`` is a text that it reads."""

    argv: tuple[str, ...]
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingHints:
    """What the settings that hone proposes depend on.

    ``cache_bytes`` is the size of the server's own cache of data pages. With ``os_cached`` the
    data is to be found in the operating system's cache.
    """

    cache_bytes: int
    connections: int
    os_cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """What makes a copy of a user's data directory one of hone's.

    ``files`` are rewritten, or removed where there is no text, the folders ``emptied`` lose what
    they hold, and ``logs``, patterns of names, are removed; then the ``program`` gives hone's user
    its rights. ``marker`` is a file that every data directory has.
    """

    marker: str
    files: Mapping[str, str | None]
    emptied: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    program: Program


class ServerDbms(Dbms):
    """A DBMS that runs as a server."""

    usual_suite: str = "sysbench:micro"

    @property
    def interface(self) -> str:
        """The name of its protocol."""
        return self.protocol.name

    protocol: Protocol
    """What clients speak with it."""
    programs: tuple[str, ...]
    """The names that the server's program may have, the preferred first."""
    stop_signal: signal.Signals
    """Ends the server cleanly, so that profiles and data reach the disk."""
    cache_setting: str
    """The setting that says how large the server's own cache is."""
    reserved: frozenset[str] = frozenset()
    """Settings that an experiment may not set, besides the fixed ones, as hone sets them."""
    foreign_data: re.Pattern[str]
    """What its log says of a data directory that another version has made."""
    unreleased: re.Pattern[str] | None = None
    """How versions are called of which one source may not read the data of another."""
    own_files: frozenset[str] = frozenset()
    """Settings that name files and peers of one server, or would spoil a measurement of several:
    not taken from a user's own file."""
    own_prefixes: tuple[str, ...] = ()
    """How others of that kind begin: those of replication and of keys, some of them passwords."""
    data_settings: frozenset[str] = frozenset()
    """Settings that a data directory is made with, such as the size of its pages."""
    loading_settings: frozenset[str] = frozenset()
    """Others that decide what loaded tables are: asked of a server when it is loaded, too."""
    while_loading: Settings = MappingProxyType({})
    """Settings of a server that is loaded, and of no other, without which data may be refused."""
    settings_beside: tuple[str, ...] = ()
    """Files beside a user's settings file that the server reads after it."""
    settings_table: str = ""
    """The table below ``settings/`` that tells what became of settings; empty for none."""

    modules: tuple[tuple[str, str], ...] = ()
    """How its functions group: patterns of the beginnings of their names, and modules' names. An
    empty name stands for the module of the caller."""

    threads: tuple[tuple[str, str], ...] = ()
    """Its kinds of threads or processes, by functions that only they call: patterns of the
    beginnings of their names, and the kinds' names."""

    huge_pages: Settings = MappingProxyType({})
    """The settings that put its cache into huge pages; none where it has no such thing."""

    @abstractmethod
    def installation(self, prefix: Path) -> Installation | None:
        """Return the server below ``prefix`` (a build's folder, ``/usr``), None if none is there.

        The version is left empty where only the server itself can tell it.
        """

    @abstractmethod
    def version_query(self, installation: Installation) -> Program:
        """Return what prints the version of the server."""

    printed_version: re.Pattern[str]
    """Finds the version, its group, in the output of ``version_query``, and no other DBMS's."""

    def version_in(self, printed: str) -> str | None:
        """Return the version in the output of ``version_query``, None for another DBMS's."""
        match = self.printed_version.search(printed)
        return match[1] if match else None

    @abstractmethod
    def initialise(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> tuple[Program, ...]:
        """Return what makes a data directory of the empty folder ``place.data``.

        ``settings`` are those of ``data_settings`` that the server will have.
        """

    def take_over(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> Takeover:
        """Return what makes the copy in ``place.data`` one that hone's clients may use.

        No setting, replication and right to connect of the user's server must be left. ``settings``
        are those of ``data_settings`` that the server will have. Raises UsageError for a DBMS whose
        data hone does not copy.
        """
        del installation, place, settings
        raise UsageError(f"hone does not copy data directories of {self.title}")

    @abstractmethod
    def fixed_settings(self, place: InstanceDir) -> Settings:
        """Return what hone insists on: the private socket, no network, where files are.

        Those that a version does not know are left out.
        """

    @abstractmethod
    def proposed_settings(self, room: SizingHints, version: str) -> Settings:
        """Return what hone proposes for measuring, which an experiment may override."""

    @abstractmethod
    def settings_file(self, settings: Settings) -> str:
        """Return the text of the settings file."""

    @abstractmethod
    def read_settings_file(self, text: str) -> tuple[RequestedSetting, ...]:
        """Return the settings of a user's own file; of a setting given twice, the last.

        Raises SettingsError, naming the line, for what the server would not read either, and for a
        setting that another file would have to supply.
        """

    @abstractmethod
    def settings_queries(
        self, installation: Installation, place: InstanceDir
    ) -> tuple[Program, ...]:
        """Return the programs that print the server's settings; the next is tried if one fails."""

    @abstractmethod
    def known_settings(self, printed: str) -> dict[str, str]:
        """Return the settings by name, with their defaults, in the output of such a query.

        A value is empty if there is no default.
        """

    waits: CounterSource | None = None
    """What its threads wait for, by events of which none lies within another. Names begin with
    ``BACKGROUND`` where no client's session waits. Left out are sessions whose clients are to
    speak, threads that have nothing to do, and hone's own connection where that could be seen.
    None where hone does not know how to ask."""
    connection_process: str = ""
    """Asks for the id of the process that answers a connection; empty where it is a thread."""

    def files_needed(self, settings: Settings) -> int:
        """Return how many files a process with these settings needs to have open at the same time.

        With a lower limit the server would take smaller settings. 0 if they ask for none.
        """
        del settings
        return 0

    running_settings: str
    """Asks a running server for its settings: rows of a name and one or more spellings of its
    value."""
    told_as: Mapping[tuple[str, str], str | None] = MappingProxyType({})
    """What a running server tells of a setting that was given a value, by both, in small letters:
    another word for it, or None where it computes the value itself."""
    told_with_others: frozenset[str] = frozenset()
    """Lists of which a running server tells more words than it was given: those that others stand
    for, and flags that were not given."""

    @abstractmethod
    def start(self, installation: Installation, place: InstanceDir) -> Program:
        """Return what runs the server in the foreground on ``place``."""

    def serve(self, installation: Installation, data: Path) -> Program:
        """Return what runs the server in the foreground on a user's data, by its own settings.

        Raises UsageError for a DBMS of which hone does not know how.
        """
        del installation, data
        raise UsageError(f"hone does not know how {self.title} serves a user's data")

    @abstractmethod
    def is_ready(self, place: InstanceDir, log: str) -> bool:
        """Return whether the server takes connections, by what is in ``place`` and its log."""

    @abstractmethod
    def endpoint(self, place: InstanceDir) -> Endpoint:
        """Return how clients reach the server."""

    @abstractmethod
    def error_in_log(self, log: str) -> str | None:
        """Return the line of the server's log that says why it did not start or crashed."""

    def canonical(self, setting: str) -> str:
        """Return the one spelling of a setting's name (case, dashes)."""
        return setting.lower()

    def is_of_one_server(self, setting: str) -> bool:
        """Return whether a setting of this canonical name is for one server of a user's alone."""
        return setting in self.own_files or setting.startswith(self.own_prefixes)

    def meant(self, setting: str) -> str:
        """Return the name of the setting that is meant, however it is spelled, loose or not."""
        return self.canonical(setting).removeprefix(LOOSE)

    def respelled(
        self,
        setting: str,
        value: str,
        is_setting: Callable[[str], bool],  # noqa: ARG002 - for those that have other spellings
    ) -> tuple[str, str]:
        """Return a setting and its value in the spelling in which the server lists it."""
        return setting, value

    def amount(self, size: int) -> str:
        """Return how a settings file writes a size in bytes."""
        return str(size)

    @abstractmethod
    def bytes_of(self, value: str) -> int | None:
        """Return the bytes that the value of ``cache_setting`` means, None if it means none."""


def load_server_dbms(name: str) -> ServerDbms:
    """Return what dbhone knows of a DBMS that runs as a server. Raises UnknownName."""
    return registry.load(DRAWER, name, ServerDbms, what="DBMS")


def server_systems() -> dict[str, ServerDbms]:
    """Return the DBMSs that run as servers, by name."""
    known = registry.load_all(DRAWER, Dbms, what="DBMS")
    return {name: dbms for name, dbms in known.items() if isinstance(dbms, ServerDbms)}


def server_programs() -> tuple[str, ...]:
    """Return the names that programs of servers have, each once."""
    names = (name for dbms in server_systems().values() for name in dbms.programs)
    return tuple(dict.fromkeys(names))
