"""One heavy thing at a time on this machine.

A build beside a measurement spoils the measurement. Whoever builds, trains or measures takes
the machine's turn first, whichever home it uses; another hone waits and says so. The turn is
a socket in Linux's abstract namespace (unix(7)): it leaves no file, works across users, and
the kernel frees it when its holder ends, however it ends.

A run lets go of the turn between its pieces of work for a moment only. So that another hone
gets it then, whoever wants the turn first takes a place at its head, and keeps it until the
turn is theirs: who had the turn last finds that place taken, and waits in its turn.

Who has the turn listens on its socket, and answers nobody: the kernel tells whoever connects
which process that is (SO_PEERCRED in unix(7)).
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

_TURN = "\0dbhone-turn"
_NEXT = "\0dbhone-turn-next"
_POLL = 0.2
_CREDENTIALS = struct.Struct("3i")
_SOMEBODY = "another hone"
_NAMES = ("hone", "dbhone", "__main__.py")


@contextlib.contextmanager
def hold_host_lock(waiting: Callable[[str], None]) -> Iterator[float]:
    """Hold the machine's turn.

    If another hone has it, ``waiting`` is called once with words for who that is: "another
    hone (process 4711: hone run mysql-builds)". Yields the seconds spent waiting.
    """
    began = time.monotonic()
    told = False

    def tell() -> None:
        nonlocal told
        if not told:
            waiting(_holder())
        told = True

    with _socket() as turn:
        with _socket() as next_:
            _take(next_, _NEXT, tell)
            _take(turn, _TURN, tell)
            turn.listen()
        yield time.monotonic() - began


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def _take(place: socket.socket, address: str, busy: Callable[[], None]) -> None:
    while True:
        try:
            place.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return
        busy()
        time.sleep(_POLL)


def _holder() -> str:
    """Tell who has the turn; without a name if that cannot be known, or nobody has it now."""
    with _socket() as asking:
        asking.setblocking(False)
        try:
            asking.connect(_TURN)
            credentials = asking.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
            )
        except OSError:
            return _SOMEBODY
    pid, _, _ = _CREDENTIALS.unpack(credentials)
    return f"{_SOMEBODY} (process {pid}{_command(pid)})" if pid else _SOMEBODY


def _command(pid: int) -> str:
    """Return a process's command from hone's own name on, or nothing if that is not to be had."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return ""
    named = [place for place, word in enumerate(words) if Path(word).name in _NAMES]
    return f": hone {' '.join(words[named[0] + 1 :])}".rstrip() if named else ""
