"""Gives each tenant, while its programs run, an account and a control group of its own.

A tenant is a subject or a build. The limits that the kernel has for an account or for a control
group then hold for it alone, and what it writes is its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import grp
import os
import pwd
import struct
from collections.abc import Iterator
from pathlib import Path

from dbhone.account import LENT, NAME, Account, Tenant, lendable
from dbhone.cgroup import make_group, usable_memory
from dbhone.errors import MachineError
from dbhone.process import can_enclose
from dbhone.sandbox import MOST_PROCESSES
from dbhone.session import Session

CLAIMS = Path("/run/dbhone-accounts")
"""A file of root's. Whoever uses a lent id holds a lock on the byte of that number, whichever home
it has. The kernel frees the lock when its holder ends, however it ends."""
_LOCK = struct.Struct("hhqqi0q")
"""struct flock of fcntl(2): kind, whence, start, length, process."""


@contextlib.contextmanager
def tenancy(
    session: Session, *, memory: int | None = None, is_server: bool = False
) -> Iterator[Tenant]:
    """Yield a tenant that may hold ``memory`` bytes, all that is usable if it is None.

    In the end its control group goes, with what is left in it. If root runs hone, its account is
    lent. Where no sandbox can be made, it has none: programs that are trusted run as root, and a
    server as the account 'dbhone'. Raises MachineError if there is no such account, or if none can
    be lent.
    """
    with contextlib.ExitStack() as stack:
        account = stack.enter_context(_account(is_server=is_server))
        group = make_group(
            session.id,
            memory=min(usable_memory(), memory or usable_memory()),
            processes=MOST_PROCESSES,
        )
        if group is not None:
            stack.callback(group.remove)
        yield Tenant(account=account, group=group)


@contextlib.contextmanager
def _account(*, is_server: bool) -> Iterator[Account | None]:
    if os.geteuid() != 0:
        yield None
    elif can_enclose():
        with _lent() as account:
            yield account
    else:
        yield _unenclosed_account() if is_server else None


def _unenclosed_account() -> Account:
    """Return the account of servers that nothing encloses."""
    try:
        entry = pwd.getpwnam(NAME)
    except KeyError:
        raise MachineError(
            "hone runs as root, and a server must not: without sandboxes it would run as the"
            f" account '{NAME}', which does not exist",
            hint="see what 'hone doctor' says of sandboxes, or make the account:"
            f" useradd --system --no-create-home --shell /usr/sbin/nologin {NAME}",
        ) from None
    if entry.pw_uid == 0:
        raise MachineError(
            f"the account '{NAME}' is root, and a server must not run as root",
            hint="give it a user id of its own",
        )
    return Account(NAME, entry.pw_uid, entry.pw_gid, entry.pw_dir)


@contextlib.contextmanager
def _lent() -> Iterator[Account]:
    """Yield an account that nothing else on this machine has meanwhile."""
    try:
        claims = os.open(CLAIMS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MachineError(
            f"cannot open {CLAIMS}, by which user ids are reserved: {error.strerror}",
            hint="run hone as an ordinary user, which needs none",
        ) from error
    try:
        uid = next(
            (uid for uid in LENT if not _belongs_to_somebody(uid) and _claim(claims, uid)), None
        )
        if uid is None:
            raise MachineError(
                f"none of the user ids {LENT[0]} to {LENT[-1]} is free, and strangers'"
                " programs run as one of them",
                hint="end other hones, or remove users with these ids from the machine",
            )
        yield lendable(uid)
    finally:
        os.close(claims)


def _claim(claims: int, uid: int) -> bool:
    lock = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0)
    try:
        # Of the open file, not of the process: two tenants of one hone exclude each other, too.
        fcntl.fcntl(claims, fcntl.F_OFD_SETLK, lock)
    except BlockingIOError:
        return False
    return True


@functools.cache
def _belongs_to_somebody(number: int) -> bool:
    """Return whether the machine knows a user or a group with this id."""
    with contextlib.suppress(KeyError):
        pwd.getpwuid(number)
        return True
    with contextlib.suppress(KeyError):
        grp.getgrgid(number)
        return True
    return False
