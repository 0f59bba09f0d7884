"""The host lock: one build or measurement at a time on this machine.

A build beside a measurement spoils the measurement. Whoever builds, trains or measures holds the
host lock, whichever home it uses. Another hone waits, and says so. The lock is a socket in Linux's
abstract namespace (unix(7)): it leaves no file, works across users, and the kernel frees it when
its holder ends, however it ends.

Abstract sockets belong to a network namespace, and each container has one of its own. Containers on
one machine often share a home, so the holder has also locked the home's folder (flock(2)). Those
that share neither do not know of each other.

A run releases the lock between two pieces of work for a moment only. A second socket, with the
home's folder ``scratch``, is the head of the queue, so that another hone gets the lock then. A
process takes the head of the queue first, and keeps it until it has the lock. The last holder finds
the head taken, and queues behind it.

The holder of a socket listens on it, but accepts no connection. The kernel tells a process that
connects who the holder is (SO_PEERCRED in unix(7)). Every user can take an abstract socket: another
user's process that is not hone is named at once, and no holder is waited for longer than a day.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import pwd
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from dbhone.errors import MachineError
from dbhone.files import opened_folder
from dbhone.home import Home, make_folder

_LOCK = "\0dbhone-host-lock"
_QUEUE_HEAD = "\0dbhone-host-lock-next"
_POLL = 0.2
_LOOK = 600.0
"""Seconds after which a holder is looked at again."""
_PATIENCE = 24 * 3600.0
_CREDENTIALS = struct.Struct("3i")
_UNKNOWN = "another hone"
_NAMES = ("hone", "dbhone", "__main__.py")


@dataclass(frozen=True, slots=True)
class _Holder:
    """The process that holds the lock; the words of its command are empty if they cannot be read.

    ``pid`` is 0 if it is unknown, or if the lock is free by now.
    """

    pid: int
    uid: int
    words: tuple[str, ...]

    def describe(self) -> str:
        """Return it in words, from hone's own name on."""
        if not self.pid:
            return _UNKNOWN
        start = self._name()
        command = "" if start is None else f": hone {' '.join(self.words[start + 1 :])}".rstrip()
        return f"{_UNKNOWN} (process {self.pid}{command})"

    def check(self) -> None:
        """Raise MachineError if it is another user's process and does not look like hone."""
        if not self.pid or self.uid == os.geteuid() or not self.words or self._name() is not None:
            return
        command = " ".join(" ".join(self.words).split())[:80]
        raise MachineError(
            f"process {self.pid} of user {_user(self.uid)} ({command}) holds hone's host lock but"
            " is not hone",
            hint="end that process, or ask its user to",
        )

    def _name(self) -> int | None:
        names = (at for at, word in enumerate(self.words) if Path(word).name in _NAMES)
        return next(names, None)


_NOT_KNOWN = _Holder(0, 0, ())


class _Waiting:
    """Waits for the lock's holder: reports it once, and checks it now and then."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.began = time.monotonic()
        self._tell: Callable[[str], None] | None = tell
        self._looked = -math.inf

    def wait(self, address: str | None) -> None:
        """Wait a moment. Raises MachineError for a holder that is not worth waiting for.

        Who has locked a folder is not known: ``address`` is None then.
        """
        now = time.monotonic()
        if now - self._looked > _LOOK:
            self._looked = now
            holder = _NOT_KNOWN if address is None else _holder(address)
            holder.check()
            if self._tell is not None:
                # Whoever is at the head of the queue waits, too: work is done by another.
                at_work = _NOT_KNOWN if address is None else _holder(_LOCK)
                self._tell((at_work if at_work.pid else holder).describe())
            self._tell = None
            if now - self.began > _PATIENCE:
                raise MachineError(
                    f"{holder.describe()} has held hone's host lock for a day",
                    hint="check what it is doing; kill it if it hangs",
                )
        time.sleep(_POLL)


@contextlib.contextmanager
def hold_host_lock(home: Home, waiting: Callable[[str], None]) -> Iterator[float]:
    """Hold the host lock; ``home`` is the one that is worked in.

    If another hone holds it, ``waiting`` is called once with a description of that hone, such as
    "another hone (process 4711: hone run mysql-builds)". Yields the seconds spent waiting. Raises
    MachineError after a day, and at once if another user's process that is not hone holds it.
    """
    patience = _Waiting(waiting)
    make_folder(home.scratch, shared=True)
    with _socket() as lock, opened_folder(home.root) as root:
        with _socket() as queue_head, opened_folder(home.scratch) as scratch:
            _bind(queue_head, _QUEUE_HEAD, patience)
            _lock(scratch, patience)
            _bind(lock, _LOCK, patience)
            _lock(root, patience)
        yield time.monotonic() - patience.began


def waiting_line(other: str) -> str:
    """Return the line that says for whom a hone waits, whatever that one does with the machine."""
    return f"waiting: {other} is working on this machine"


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def _bind(unbound: socket.socket, address: str, patience: _Waiting) -> None:
    """Bind a socket, which only one process can do at a time; wait for that."""
    while True:
        try:
            unbound.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            unbound.listen()
            return
        patience.wait(address)


def _lock(folder: int, patience: _Waiting) -> None:
    """Lock a folder, which only one process can do at a time; wait for that."""
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            patience.wait(None)
        else:
            return


def _holder(address: str) -> _Holder:
    with _socket() as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return _NOT_KNOWN
    pid, uid, _ = _CREDENTIALS.unpack(credentials)
    try:
        return _Holder(pid, uid, tuple(psutil.Process(pid).cmdline()))
    except psutil.Error:
        return _Holder(pid, uid, ())


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
