"""The servers of this machine, to run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms, SizingHints
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import MachineError
from dbhone.instance import data, settings
from dbhone.instance.levers.base import LeverContext
from dbhone.instance.place import opened_place
from dbhone.instance.server import Server
from dbhone.session import Session
from dbhone.tenant import tenancy
from tests.instance import lives

ROOM = SizingHints(cache_bytes=64 * 1024**2, connections=20)


@dataclass
class Machine:
    """One of the machine's servers, and all that is needed to run it."""

    dbms: ServerDbms
    installation: Installation
    session: Session
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def place(self) -> InstanceDir:
        return self.stack.enter_context(opened_place(self.session))

    def made(self) -> InstanceDir:
        """Return a place with an empty data directory."""
        place = self.place()
        data.make(self.dbms, self.installation, place, self.session)
        return place

    def values(self, place: InstanceDir, **wanted: str) -> dict[str, str]:
        proposed = self.dbms.proposed_settings(ROOM, self.installation.version)
        return settings.choose(
            self.dbms,
            self.installation,
            place,
            proposed=proposed,
            wanted=[RequestedSetting(name=name, value=value) for name, value in wanted.items()],
            drop_unknown=False,
        ).values

    def server(self, place: InstanceDir, **wanted: str) -> Server:
        return Server(
            self.dbms,
            self.installation,
            place,
            self.values(place, **wanted),
            home=self.session.home,
        )

    def context(self) -> LeverContext:
        return LeverContext(value="", dbms=self.dbms, cache_bytes=ROOM.cache_bytes, servers=1)


@pytest.fixture(params=["postgresql", "mariadb"])
def machine(request: pytest.FixtureRequest, open_session_home: Session) -> Iterator[Machine]:
    """Yield each server that the machine's distribution has installed."""
    known: dict[str, tuple[ServerDbms, Path]] = {
        "postgresql": (lives.Postgresql(), lives.POSTGRESQL),
        "mariadb": (lives.Mariadb(), lives.MARIADB),
    }
    dbms, prefix = known[request.param]
    installation = lives.installed(dbms, prefix)
    if installation is None:
        pytest.skip(f"{dbms.title} is not installed")
    skip_without_account(open_session_home)
    machine = Machine(dbms, installation, open_session_home)
    with machine.stack:
        yield machine


def skip_without_account(session: Session) -> None:
    """Skip the test where root would have to run servers as itself."""
    try:
        with tenancy(session, is_server=True):
            pass
    except MachineError as error:
        pytest.skip(error.message)
