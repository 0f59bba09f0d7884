"""A server of a build on an empty data directory, for as long as something is asked of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from dbhone.account import server_account
from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import load_server_dbms
from dbhone.home import Session
from dbhone.instance import data
from dbhone.instance.place import make_place, remove_place
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
    dbms, account = load_server_dbms(build.manifest.dbms), server_account()
    installation = installation_of(dbms, build)
    place = make_place(session, account)
    try:
        data.make(dbms, installation, place, account, session)
        server = Server(
            dbms,
            installation,
            place,
            {**dbms.fixed_settings(place), **settings},
            account,
            home=session.home,
            env=prepared_environment(place),
            shared=shared or Sandbox(),
        )
        with server:
            yield server
    finally:
        remove_place(place)
