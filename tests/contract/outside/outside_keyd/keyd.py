"""keyd: a server whose protocol hone has never heard of."""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe
from dbhone.dbms.base_protocol import Connection, Endpoint, Protocol
from dbhone.dbms.base_server import (
    Installation,
    InstanceDir,
    Program,
    ServerDbms,
    Settings,
    SizingHints,
)
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import ServerError, SourceError

_LINE = re.compile(r"(\w+) = (.*)")


class KeydProtocol(Protocol):
    """Lines: G KEY, S KEY VALUE. Nobody but the driver has to speak it."""

    name = "keyd"
    errors = ()

    def connect(self, endpoint: Endpoint, line: socket.socket, patience: float) -> Connection:
        """Refuse: keyd counts nothing of itself, so that it is asked nothing."""
        raise ServerError("keyd has no counters")


class Keyd(ServerDbms):
    """A server of one C file."""

    name = "keyd"
    title = "keyd"
    reference = "dir:keyd"
    build_seconds = 1.0
    usual_suite = "keys"
    protocol = KeydProtocol()
    programs = ("keyd",)
    stop_signal = signal.SIGTERM
    cache_setting = "cache"
    foreign_data = re.compile("no such thing")

    def version(self, tree: Path) -> str:
        """Return what the source says of itself."""
        source = tree / "keyd.c"
        if not source.is_file():
            raise SourceError("this is not keyd's source: keyd.c is missing")
        (version,) = re.findall(r'VERSION "([\d.]+)"', source.read_text(encoding="utf-8"))
        return str(version)

    def required_programs(self, tree: Path) -> tuple[str, ...]:
        """Return nothing: a compiler is enough."""
        del tree
        return ()

    def recipe(self, request: BuildRequest) -> Recipe:
        """Compile, then link."""
        compiler = str(request.compiler)
        source = str(request.tree / "keyd.c")
        compile_ = (compiler, *request.compile_flags, "-c", source, "-o", "keyd.o")
        link = (compiler, *request.link_flags, "keyd.o", "-o", "keyd")
        return Recipe(
            steps=(
                BuildStep(phase=Phase.COMPILE, argv=compile_),
                BuildStep(phase=Phase.TOOLS, argv=link),
            ),
            artifacts=(Artifact(name="server", made=Path("keyd"), kept=Path("bin/keyd")),),
            primary="server",
        )

    def installation(self, prefix: Path) -> Installation | None:
        """Return the one program."""
        server = prefix / "bin" / "keyd"
        if not server.is_file():
            return None
        return Installation(dbms=self.name, version="", prefix=prefix, server=server)

    def version_query(self, installation: Installation) -> Program:
        """Ask it."""
        return Program(argv=(str(installation.server), "--version"))

    def version_in(self, printed: str) -> str | None:
        """Return the version behind its name."""
        found = re.fullmatch(r"keyd ([\d.]+)\n?", printed)
        return found[1] if found else None

    def initialise(
        self, installation: Installation, place: InstanceDir, settings: Settings
    ) -> tuple[Program, ...]:
        """An empty folder will do."""
        del installation, place, settings
        return ()

    def fixed_settings(self, place: InstanceDir) -> Settings:
        """Where its files are."""
        return {"socket": str(place.sockets / "keyd"), "data": str(place.data)}

    def proposed_settings(self, room: SizingHints, version: str) -> Settings:
        """The cache, as every server has one."""
        del version
        return {"cache": str(room.cache_bytes)}

    def settings_file(self, settings: Settings) -> str:
        """A line for each."""
        return "".join(f"{name} = {value}\n" for name, value in settings.items())

    def read_settings_file(self, text: str) -> tuple[RequestedSetting, ...]:
        """Read such lines."""
        return tuple(
            RequestedSetting(name=name, value=value) for name, value in _LINE.findall(text)
        )

    def settings_queries(
        self, installation: Installation, place: InstanceDir
    ) -> tuple[Program, ...]:
        """Ask it."""
        del place
        return (Program(argv=(str(installation.server), "--settings")),)

    def known_settings(self, printed: str) -> dict[str, str]:
        """Return all, with their defaults."""
        return dict(_LINE.findall(printed))

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        """Stay in the foreground."""
        return Program(argv=(str(installation.server), str(place.settings)))

    def is_ready(self, place: InstanceDir, log: str) -> bool:
        """It says so."""
        del place
        return "ready\n" in log

    def endpoint(self, place: InstanceDir) -> Endpoint:
        """Return its socket."""
        return Endpoint(
            protocol=self.protocol, socket=place.sockets / "keyd", user="nobody", database=""
        )

    def error_in_log(self, log: str) -> str | None:
        """Return the last line."""
        return log.strip().rpartition("\n")[2] or None

    def bytes_of(self, value: str) -> int | None:
        """Sizes are plain numbers."""
        return int(value) if value.isdigit() else None


PLUGIN = Keyd()
