"""The host lock: one build or measurement at a time on this machine.

A build beside a measurement spoils the measurement. Whoever builds, trains or measures holds the
host lock, whichever home it uses. Another hone waits, and says so. The lock is a socket in Linux's
abstract namespace (unix(7)): it leaves no file, works across users, and the kernel frees it when
its holder ends, however it ends.

A run releases the lock between two pieces of work for a moment only. A second socket is the head
of the queue, so that another hone gets the lock then. A process takes the head of the queue first,
and keeps it until it has the lock. The last holder finds the head taken, and queues behind it.

The holder listens on its socket, but accepts no connection. The kernel tells a process that
connects who the holder is (SO_PEERCRED in unix(7)).
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

_LOCK = "\0dbhone-turn"
_QUEUE_HEAD = "\0dbhone-turn-next"
_POLL = 0.2
_CREDENTIALS = struct.Struct("3i")
_UNKNOWN = "another hone"
_NAMES = ("hone", "dbhone", "__main__.py")


@contextlib.contextmanager
def hold_host_lock(waiting: Callable[[str], None]) -> Iterator[float]:
    """Hold the host lock.

    If another hone holds it, ``waiting`` is called once with a description of that hone, such as
    "another hone (process 4711: hone run mysql-builds)". Yields the seconds spent waiting.
    """
    began = time.monotonic()
    notified = False

    def notify() -> None:
        nonlocal notified
        if not notified:
            waiting(_holder())
        notified = True

    with _socket() as lock:
        with _socket() as queue_head:
            _bind(queue_head, _QUEUE_HEAD, notify)
            _bind(lock, _LOCK, notify)
            lock.listen()
        yield time.monotonic() - began


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def _bind(unbound: socket.socket, address: str, busy: Callable[[], None]) -> None:
    """Bind a socket, which only one process can do at a time; wait for that."""
    while True:
        try:
            unbound.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return
        busy()
        time.sleep(_POLL)


def _holder() -> str:
    """Describe the holder, without a process if it is unknown or the lock is free by now."""
    with _socket() as probe:
        probe.setblocking(False)
        try:
            probe.connect(_LOCK)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return _UNKNOWN
    pid, _, _ = _CREDENTIALS.unpack(credentials)
    return f"{_UNKNOWN} (process {pid}{_command(pid)})" if pid else _UNKNOWN


def _command(pid: int) -> str:
    """Return a process's command from hone's own name on; an empty text if it cannot be read."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return ""
    starts = [index for index, word in enumerate(words) if Path(word).name in _NAMES]
    return f": hone {' '.join(words[starts[0] + 1 :])}".rstrip() if starts else ""
