"""Servers that are shell scripts, in real places and under the real account."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dbhone.dbms.base_server import Installation, InstanceDir, Program
from dbhone.instance.place import opened_place
from dbhone.instance.server import Server
from dbhone.session import Session
from tests.instance import lives
from tests.instance.conftest import skip_without_account


class Stubborn(lives.Postgresql):
    """A pretended server that does not hear the signal that should stop it."""

    script = "trap '' INT; echo ready; while :; do sleep 0.05; done"

    def start(self, installation: Installation, place: InstanceDir) -> Program:
        return Program(argv=("/bin/sh", "-c", self.script))

    def is_ready(self, place: InstanceDir, log: str) -> bool:
        return "ready" in log


class Honest(Stubborn):
    script = "echo ready $USER $LOGNAME $LEVER; trap 'exit 3' INT; while :; do sleep 0.05; done"


_places = contextlib.ExitStack()
"""The places of a test's servers, which go with its session."""


def pretended(
    dbms: Stubborn,
    session: Session,
    env: Mapping[str, str] | None = None,
    *,
    memory: int | None = None,
) -> Server:
    place = _places.enter_context(opened_place(session, memory=memory))
    installation = Installation(
        dbms="postgresql", version="1.0", prefix=Path("/usr"), server=Path("/bin/sh")
    )
    server = Server(dbms, installation, place, {}, home=session.home, env=env or {}, timeout=30)
    server.stop_timeout = 0.3
    return server


@pytest.fixture
def session(open_session_home: Session) -> Iterator[Session]:
    skip_without_account(open_session_home)
    with _places:
        yield open_session_home
