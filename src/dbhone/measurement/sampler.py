"""Samples a server while it is measured: at fixed moments, or at the two ends of short slices.

``Sampler`` reads at fixed moments, in a thread of its own, while a long slice runs.
``SliceSampler`` reads at the two ends of each short slice, joins the slices to one series, and
keeps a moment of it in so many seconds. What happens between two slices of a server, while others
are measured, is in no series.

Neither ever fails a slice: a probe that fails is not asked again, and its message is kept.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from dbhone.measurement.series import Quantity, Readings, Series, SeriesKind, series_of

Probe = Callable[[], Readings]
"""Reads something once. It may raise whatever it likes."""
_PATIENCE = 30.0


class _AskedProbe:
    """A probe that is asked until it fails. ``trouble`` is why it failed, None if it did not."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.trouble: str | None = None

    def read(self) -> Readings | None:
        """Return what it reads, None if it fails now or has failed before."""
        if self.trouble is not None:
            return None
        try:
            return self._probe()
        # What watches must never fail what is watched, whatever a client library raises.
        except Exception as error:  # noqa: BLE001
            self.trouble = str(error) or type(error).__name__
            return None


class Sampler:
    """Asks probes once in ``every`` seconds, from the moment at which ``running`` is entered.

    A moment that has passed because a probe was slow is left out, so that those which are
    there stay multiples of the interval: what was read of two servers can then be laid over
    each other.
    """

    def __init__(self, probes: Sequence[Probe], *, every: float) -> None:
        self._read_of: dict[_AskedProbe, list[tuple[float, Readings]]] = {
            _AskedProbe(probe): [] for probe in probes
        }
        self._every = every
        self._stop = threading.Event()
        self.trouble: str | None = None
        """Why something was not read, None if all was."""
        self.began = 0.0
        """The moment, in monotonic time, from which seconds are counted."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Read at once, and then at each moment until this is left."""
        self.began = time.monotonic()
        thread = threading.Thread(target=self._observe, name="dbhone-sampler", daemon=True)
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
        return tuple(series for read in self._read_of.values() for series in series_of(read))

    def _observe(self) -> None:
        moment = 0
        while True:
            self._read()
            moment = max(moment + 1, int(self._passed() / self._every) + 1)
            if self._stop.wait(max(0.0, moment * self._every - self._passed())):
                return

    def _passed(self) -> float:
        return time.monotonic() - self.began

    def _read(self) -> None:
        for probe, read in self._read_of.items():
            readings = probe.read()
            if readings is not None:
                read.append((self._passed(), readings))
            else:
                self.trouble = self.trouble or probe.trouble


class SliceSampler:
    """Asks probes when a slice begins and when it ends. A probe that fails is not asked again.

    A series has its moments ``every`` so many seconds of slices, or a slice's length more.
    """

    def __init__(self, probes: Sequence[Probe], *, every: float) -> None:
        self._probes = tuple(_ProbeReadings(probe, every) for probe in probes)
        self._began = 0.0
        self._passed = 0.0
        self.trouble: str | None = None
        """Why something was not read, None if all was."""

    def begin(self) -> None:
        """Read as a slice begins."""
        self._read(0.0)
        self._began = time.monotonic()

    def end(self) -> None:
        """Read as it ends."""
        self._passed += time.monotonic() - self._began
        self._read(self._passed)

    def series(self) -> tuple[Series, ...]:
        """Return what was read."""
        return tuple(series for probe in self._probes for series in probe.series())

    def _read(self, at: float) -> None:
        for probe in self._probes:
            probe.read(at)
            self.trouble = self.trouble or probe.trouble


class _ProbeReadings:
    """What one probe read: sums grow only while a slice lasts."""

    def __init__(self, probe: Probe, every: float) -> None:
        self._probe = _AskedProbe(probe)
        self._every = every
        self._before: Readings = {}
        self._sums: dict[Quantity, float] = {}
        self._moments: list[tuple[float, Readings]] = []

    def series(self) -> Iterator[Series]:
        """Yield what was read. Only rates have the moment at which the first slice began."""
        at_ends = {series.quantity: series for series in series_of(self._moments[1:])}
        for series in series_of(self._moments):
            of_rate = series.quantity.kind is SeriesKind.RATE
            yield series if of_rate else at_ends[series.quantity]

    @property
    def trouble(self) -> str | None:
        """Why it was not read, None if it was."""
        return self._probe.trouble

    def read(self, at: float) -> None:
        """Read at a slice's end, or with 0.0 at its begin."""
        readings = self._probe.read()
        if readings is None:
            return
        if at > 0.0:
            self._add(at, readings)
        elif not self._moments:
            self._moments.append((0.0, self._only_sums(readings)))
        self._before = readings

    def _only_sums(self, readings: Readings) -> Readings:
        """Return where rates begin. A level is read at the slices' ends alone."""
        return {quantity: 0.0 for quantity in readings if quantity.kind is SeriesKind.RATE}

    def _add(self, at: float, readings: Readings) -> None:
        now = dict(readings)
        for quantity, value in readings.items():
            if quantity.kind is SeriesKind.RATE:
                grown = max(0.0, value - self._before.get(quantity, value))
                now[quantity] = self._sums[quantity] = self._sums.get(quantity, 0.0) + grown
        if len(self._moments) > 1 and self._moments[-1][0] - self._moments[-2][0] < self._every:
            self._moments.pop()
        self._moments.append((at, now))
