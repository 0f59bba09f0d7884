"""A server of a build on an empty data directory, for as long as something is asked of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import load_server_dbms
from dbhone.home import Session
from dbhone.instance import data
from dbhone.instance.place import opened_place
from dbhone.instance.programs import installation_of, prepared_environment
from dbhone.instance.server import Server
from dbhone.sandbox import Sandbox


@contextlib.contextmanager
def running(
    build: Build, session: Session, settings: Mapping[str, str], shared: Sandbox | None = None
) -> Iterator[Server]:
    """Yield a started server with its own defaults, ``settings`` and those that hone insists on.

    It may use what is ``shared`` with its clients. Raises ServerError when it does not start, and
    in the end if it crashed or does not stop.
    """
    dbms = load_server_dbms(build.manifest.dbms)
    installation = installation_of(dbms, build)
    with opened_place(session) as place:
        data.make(dbms, installation, place, session)
        server = Server(
            dbms,
            installation,
            place,
            {**dbms.fixed_settings(place), **settings},
            home=session.home,
            env=prepared_environment(place),
            shared=shared or Sandbox(),
        )
        with server:
            yield server
