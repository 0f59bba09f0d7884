"""One heavy thing at a time on this machine.

A build beside a measurement spoils the measurement. Whoever builds, trains or measures takes
the machine's turn first, whichever home it uses; another hone waits and says so. The turn is
a socket in Linux's abstract namespace (unix(7)): it leaves no file, works across users, and
the kernel frees it when its holder ends, however it ends.

A run lets go of the turn between its pieces of work for a moment only. So that another hone
gets it then, whoever wants the turn first takes a place at its head, and keeps it until the
turn is theirs: who had the turn last finds that place taken, and waits in its turn.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Callable, Iterator

_TURN = "\0dbhone-turn"
_NEXT = "\0dbhone-turn-next"
_POLL = 0.2


@contextlib.contextmanager
def machine_turn(waiting: Callable[[], None]) -> Iterator[float]:
    """Hold the machine's turn. ``waiting`` is called once if another hone has it.

    Yields the seconds spent waiting.
    """
    began = time.monotonic()
    told = False

    def tell() -> None:
        nonlocal told
        if not told:
            waiting()
        told = True

    with _socket() as turn:
        with _socket() as next_:
            _take(next_, _NEXT, tell)
            _take(turn, _TURN, tell)
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
