"""The account that strangers' programs run as.

A server must not run as root. If hone runs as root, servers run as an account of their own;
otherwise they run as hone's user. What is built from strangers' sources runs as that account, too,
and so do the builds themselves, wherever a sandbox shuts them in.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dbhone.errors import MachineError
from dbhone.process import can_enclose
from dbhone.untrusted_files import walk

VARIABLE = "DBHONE_ACCOUNT"
_DEFAULT = "dbhone"


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine, never root."""

    name: str
    uid: int
    gid: int

    @property
    def ids(self) -> tuple[int, int]:
        """User and group, as ``process.Command`` takes them."""
        return self.uid, self.gid


def server_account() -> Account | None:
    """Return the account that servers run as; None when hone does not run as root.

    Raises MachineError if there is no such account, or if it is root.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get(VARIABLE) or _DEFAULT
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise MachineError(
            f"there is no account '{name}', which servers would run as: hone runs as root,"
            " and a server must not",
            hint=f"useradd --system --no-create-home --shell /usr/sbin/nologin {name}",
        ) from None
    if entry.pw_uid == 0:
        raise MachineError(
            f"the account '{name}' is root, and a server must not run as root",
            hint=f"name another with {VARIABLE}, or leave that out for '{_DEFAULT}'",
        )
    return Account(name, entry.pw_uid, entry.pw_gid)


def enclosed_account() -> Account | None:
    """Return the account that enclosed programs other than servers run as.

    It is the servers', or ``nobody`` where there is none: a sandbox hides the other files and
    processes of its account. None when hone does not run as root, or can make no sandbox.
    """
    if os.geteuid() != 0 or not can_enclose():
        return None
    with contextlib.suppress(MachineError):
        return server_account()
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def ids_of(account: Account | None) -> tuple[int, int] | None:
    """Return the account as ``process.Command`` takes it."""
    return None if account is None else account.ids


def own(path: Path, account: Account | None) -> None:
    """Give a file or a tree to the account. A link itself changes its owner, not its target."""
    if account is None:
        return
    os.chown(path, account.uid, account.gid, follow_symlinks=False)
    if path.is_dir():
        for folder, folders, names in walk(path):
            for name in (*folders, *names):
                os.chown(folder / name, account.uid, account.gid, follow_symlinks=False)


def check_reachable(path: Path, account: Account | None) -> None:
    """Raise MachineError if the account cannot enter the folder ``path`` or one above it."""
    if account is None:
        return
    resolved = path.resolve()
    for folder in reversed((resolved, *resolved.parents)):
        if not _may_enter(folder.stat(), account):
            raise MachineError(
                f"the account '{account.name}', which servers run as, cannot enter {folder}",
                hint="choose a home that others can enter, such as /var/lib/dbhone:"
                " --home or DBHONE_HOME",
            )


def check_readable(paths: Iterable[Path], account: Account | None) -> None:
    """Raise MachineError if the account cannot read one of these files."""
    for path in paths:
        if account is not None and not path.stat().st_mode & stat.S_IROTH:
            raise MachineError(
                f"the account '{account.name}', which strangers' programs run as, cannot read"
                f" {path}",
                hint=f"let others read it: chmod -R a+rX {path.parent}",
            )


def _may_enter(status: os.stat_result, account: Account) -> bool:
    """Return what the permission bits allow; the first matching class decides."""
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
