"""Where one instance lives: a private folder in the session's scratch.

It belongs to us, and its group is that of the tenant's account: the server may read its settings,
and writes only where it has to. So the server cannot lead us to write elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from dbhone.account import Account, Tenant, check_reachable, own
from dbhone.dbms.base_server import InstanceDir
from dbhone.errors import MachineError
from dbhone.home import make_folder
from dbhone.session import Session
from dbhone.tenant import tenancy
from dbhone.untrusted_files import remove_tree

_LONGEST_NAME = ".s.PGSQL.5432"
"""The longest name that a server of ours gives to its socket."""
_SOCKET_PATH_LIMIT = 107
"""Bytes of a socket's path; its end mark comes on top, see unix(7)."""


@contextlib.contextmanager
def opened_place(session: Session, *, memory: int | None = None) -> Iterator[InstanceDir]:
    """Yield the place of an instance for a tenant of its own; in the end both go.

    The server and its clients may hold ``memory`` bytes together, all that is usable if it is None.
    Raises as ``make_place`` and ``tenancy`` do.
    """
    with tenancy(session, memory=memory, is_server=True) as tenant:
        place = make_place(session, tenant)
        try:
            yield place
        finally:
            remove_place(place)


def make_place(session: Session, tenant: Tenant) -> InstanceDir:
    """Make the folders of an instance; ``data``, ``sockets`` and ``scratch`` are empty.

    Raises MachineError if the account could not get there, or if the socket's path would be
    longer than the system allows.
    """
    root, account = _new_folder(session), tenant.account
    place = InstanceDir(
        data=root / "data",
        settings=root / "settings",
        sockets=root / "s",
        scratch=root / "t",
        log=root / "log",
        tenant=tenant,
    )
    try:
        _check_length(place.sockets)
        check_reachable(root.parent, account)
        for folder in (place.data, place.sockets, place.scratch):
            folder.mkdir(mode=0o700)
            own(folder, account)
        admit(root, account)
    except BaseException:
        remove_tree(root)
        raise
    return place


def _new_folder(session: Session) -> Path:
    """Make a folder with a short name: the path of a socket in it is limited."""
    make_folder(session.scratch, shared=True)
    while True:
        root = session.scratch / f"i{secrets.token_hex(2)}"
        with contextlib.suppress(FileExistsError):
            root.mkdir(mode=0o700)
            return root


def admit(path: Path, account: Account | None) -> None:
    """Let only the account read our file or pass our folder."""
    if account is not None:
        os.chown(path, -1, account.gid)
        path.chmod(0o750 if path.is_dir() else 0o640)


def remove_place(place: InstanceDir) -> None:
    """Remove the instance's folder with all that is in it."""
    remove_tree(place.data.parent)


def _check_length(sockets: Path) -> None:
    socket = sockets / _LONGEST_NAME
    length = len(str(socket).encode())
    if length > _SOCKET_PATH_LIMIT:
        raise MachineError(
            f"a server's socket would be {socket}: its path has {length} bytes, and the system"
            f" allows {_SOCKET_PATH_LIMIT}",
            hint="choose a home with a shorter path: --home or DBHONE_HOME",
        )


@contextlib.contextmanager
def fresh_database(session: Session, *, memory: int | None = None) -> Iterator[tuple[Path, Tenant]]:
    """Yield the path of a database file that does not exist yet, and a tenant who may make it.

    Its folder is the tenant's and private. In the end both go. The tenant may hold ``memory``
    bytes, all that is usable if it is None.
    """
    with tenancy(session, memory=memory) as tenant:
        folder = session.workdir("data")
        own(folder, tenant.account)
        try:
            yield folder / "database", tenant
        finally:
            remove_tree(folder)
