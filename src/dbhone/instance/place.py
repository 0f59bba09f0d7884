"""Where one instance lives: a private folder in the session's scratch.

It belongs to us, and its group is the server's account: the server may read its settings, and
writes only where it has to. So the server cannot lead us to write elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from dbhone.account import Account, check_reachable, own
from dbhone.dbms.base_server import InstanceDir
from dbhone.errors import MachineError
from dbhone.home import Session, make_folder
from dbhone.untrusted_files import remove_tree

_LONGEST_NAME = ".s.PGSQL.5432"
"""The longest name that a server of ours gives to its socket."""
_SOCKET_PATH_LIMIT = 107
"""Bytes of a socket's path; its end mark comes on top, see unix(7)."""


def make_place(session: Session, account: Account | None) -> InstanceDir:
    """Make the folders of an instance; ``data``, ``sockets`` and ``scratch`` are empty.

    Raises MachineError if the account could not get there, or if the socket's path would be
    longer than the system allows.
    """
    root = _new_folder(session)
    place = InstanceDir(
        data=root / "data",
        settings=root / "settings",
        sockets=root / "s",
        scratch=root / "t",
        log=root / "log",
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
    """Let the account read our file or pass our folder; nobody else may."""
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
def fresh_database(session: Session, account: Account | None) -> Iterator[Path]:
    """Yield the path of a database file that does not exist yet, in a folder of its own.

    The folder is the account's and private, and goes when the instance ends.
    """
    folder = session.workdir("data")
    own(folder, account)
    try:
        yield folder / "database"
    finally:
        remove_tree(folder)
