"""Accounts that strangers' programs run as, and files that are given to them.

A server must not run as root. If root runs hone, each tenant has an account of its own, which is
lent (``tenant.py``): a user id that no user has, and that exists inside of sandboxes only.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dbhone.cgroup import ControlGroup
from dbhone.errors import MachineError
from dbhone.untrusted_files import open_folders

NAME = "dbhone"
"""The name of every lent account; without sandboxes, that of the one account of all servers."""
LENT = range(60707, 61184)
"""Ids of users and groups that are lent. systemd, Debian, Fedora assign them to no one, neither to
users (up to 60000) nor to services (from 61184 on), and containers with 65,536 ids have them, see
systemd's "Users, Groups, UIDs and GIDs on systemd Systems"."""
_NOWHERE = "/nonexistent"


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine, never root."""

    name: str
    uid: int
    gid: int
    home: str = _NOWHERE

    @property
    def is_lent(self) -> bool:
        """Whether it exists in sandboxes only."""
        return self.uid in LENT


def lendable(uid: int) -> Account:
    """Return the account with one of the ids that are lent."""
    return Account(NAME, uid, uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """For whom strangers' programs run: a subject or a build, apart from all others.

    Without an ``account`` they run as hone's own user. Without a control ``group`` only each
    process by itself is limited.
    """

    account: Account | None = None
    group: ControlGroup | None = None

    def exceeded(self) -> str | None:
        """Return in words which limit was exceeded, None if none was or if that is unknown."""
        return None if self.group is None else self.group.exceeded()


def user_database(account: Account | None) -> tuple[str, str]:
    """Return the users and the groups that an enclosed program sees: /etc/passwd and /etc/group.

    They have root, nobody and the account; without one, hone's own user.
    """
    account = account or Account(_own_name(), os.getuid(), os.getgid())
    nobody = Account("nobody", 65534, 65534)
    users = [Account("root", 0, 0, "/root"), account, nobody]
    return (
        "".join(f"{user.name}:x:{user.uid}:{user.gid}::{user.home}:/bin/sh\n" for user in users),
        "".join(f"{user.name}:x:{user.gid}:\n" for user in users),
    )


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return NAME


def own(path: Path, account: Account | None) -> None:
    """Give a file or a tree to the account. A link itself changes its owner, not its target.

    Programs of the account may run, and change the tree meanwhile.
    """
    if account is not None:
        _give(path, account.uid, account.gid)


def take_back(path: Path) -> None:
    """Give a file or a tree to root, if root runs hone: the id of a lent account goes to others."""
    if os.geteuid() == 0:
        _give(path, 0, 0)


def _give(path: Path, uid: int, gid: int) -> None:
    if path.is_dir() and not path.is_symlink():
        for folder, names in open_folders(path):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
    # Until it has the folder itself, the account comes to nothing in it.
    os.chown(path, uid, gid, follow_symlinks=False)


def check_reachable(path: Path, account: Account | None) -> None:
    """Raise MachineError if the account cannot enter the folder ``path`` or one above it.

    To a lent account a sandbox shows what it is given, wherever that is.
    """
    if account is None or account.is_lent:
        return
    resolved = path.resolve()
    for folder in reversed((resolved, *resolved.parents)):
        if not _may_enter(folder.stat(), account):
            raise MachineError(
                f"the account '{account.name}', which servers run as, cannot enter {folder}",
                hint="choose a home that others can enter, such as /var/lib/dbhone:"
                " --home or DBHONE_HOME",
            )


def check_readable(paths: Iterable[Path]) -> None:
    """Raise MachineError if a lent account cannot read one of these files."""
    for path in paths:
        if os.geteuid() == 0 and not path.stat().st_mode & stat.S_IROTH:
            raise MachineError(
                f"strangers' programs run as an account of their own, which cannot read {path}",
                hint=f"let others read it: chmod a+r{'X' if path.is_dir() else ''} {path}",
            )


def _may_enter(status: os.stat_result, account: Account) -> bool:
    """Return what the permission bits allow; the first matching class decides."""
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
