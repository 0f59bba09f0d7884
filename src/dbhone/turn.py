"""One heavy thing at a time on this machine.

A build beside a measurement spoils the measurement. Whoever builds, trains or measures takes
the machine's turn first, whichever home it uses; another hone waits and says so. The turn is
a socket in Linux's abstract namespace (unix(7)): it leaves no file, works across users, and
the kernel frees it when its holder ends, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Callable, Iterator

_ADDRESS = "\0dbhone-turn"
_POLL = 0.2


@contextlib.contextmanager
def machine_turn(waiting: Callable[[], None]) -> Iterator[float]:
    """Hold the machine's turn. ``waiting`` is called once if another hone has it.

    Yields the seconds spent waiting.
    """
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
        told = False
        while not _take(holder):
            if not told:
                waiting()
                told = True
            time.sleep(_POLL)
        yield time.monotonic() - began


def _take(holder: socket.socket) -> bool:
    try:
        holder.bind(_ADDRESS)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        raise
    return True
