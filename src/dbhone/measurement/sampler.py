"""Reads what a server does at fixed moments, in a thread of its own, while a slice runs.

It never fails the slice: a probe that fails is not asked again, and what it said is kept.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from dbhone.measurement.series import Readings, Series, series_of

Probe = Callable[[], Readings]
"""Reads something once. It may raise whatever it likes."""
_PATIENCE = 30.0


class Sampler:
    """Asks probes every so many ``seconds``, from the moment at which ``running`` is entered.

    A moment that has passed because a probe was slow is left out, so that those which are
    there stay multiples of the interval: what was read of two servers can then be laid over
    each other.
    """

    def __init__(self, probes: Sequence[Probe], *, every: float) -> None:
        self._probes: dict[Probe, list[tuple[float, Readings]]] = {each: [] for each in probes}
        self._every = every
        self._failed: set[Probe] = set()
        self._stop = threading.Event()
        self.trouble: str | None = None
        """Why something was not read, None if all was."""
        self.cpu_seconds = 0.0
        """The CPU time that reading took this process."""
        self.began = 0.0
        """The moment, in monotonic time, from which seconds are counted."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Read at once, and then at each moment until this is left."""
        self.began = time.monotonic()
        thread = threading.Thread(target=self._watch, name="dbhone-sampler", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(_PATIENCE)
            if thread.is_alive():
                self.trouble = f"the server did not answer for {_PATIENCE:.0f} s"

    def series(self) -> tuple[Series, ...]:
        """Return what was read."""
        return tuple(each for read in self._probes.values() for each in series_of(tuple(read)))

    def _watch(self) -> None:
        moment = 0
        while True:
            self._read()
            moment = max(moment + 1, int(self._passed() / self._every) + 1)
            self.cpu_seconds = time.thread_time()
            if self._stop.wait(max(0.0, moment * self._every - self._passed())):
                return

    def _passed(self) -> float:
        return time.monotonic() - self.began

    def _read(self) -> None:
        for probe, read in self._probes.items():
            if probe in self._failed:
                continue
            try:
                readings = probe()
            # What watches must never fail what is watched, whatever a client library raises.
            except Exception as error:  # noqa: BLE001
                self._failed.add(probe)
                self.trouble = f"{error or type(error).__name__}"
            else:
                read.append((self._passed(), readings))
