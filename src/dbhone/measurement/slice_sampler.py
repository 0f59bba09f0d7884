"""Reads what a server does at the two ends of short slices, and puts them one after the other.

What happens between two slices of a server, when others are asked, is in no series: the seconds
of a series are those in which the server itself was asked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from dbhone.measurement.sampler import Probe
from dbhone.measurement.series import Kind, Quantity, Readings, Series, series_of


class SliceSampler:
    """Asks probes when a slice begins and when it ends. A probe that fails is not asked again."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = tuple(_Course(each) for each in probes)
        self._began = 0.0
        self._passed = 0.0
        self.trouble: str | None = None
        """Why something was not read, None if all was."""
        self.cpu_seconds = 0.0
        """The CPU time that reading took this process."""
        self.began = 0.0
        """Series have no moment in monotonic time at which they began."""

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
        return tuple(each for course in self._probes for each in series_of(course.moments))

    def _read(self, at: float) -> None:
        used = time.thread_time()
        for each in self._probes:
            trouble = each.read(at)
            self.trouble = trouble or self.trouble
        self.cpu_seconds += time.thread_time() - used


class _Course:
    """What one probe read: sums grow only while a slice lasts."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._failed = False
        self._before: Readings = {}
        self._sums: dict[Quantity, float] = {}
        self.moments: list[tuple[float, Readings]] = []

    def read(self, at: float) -> str | None:
        """Read at a slice's end, or with 0.0 at its begin; return what went wrong."""
        if self._failed:
            return None
        try:
            found = self._probe()
        # What watches must never fail what is watched, whatever a client library raises.
        except Exception as error:  # noqa: BLE001
            self._failed = True
            return f"{error or type(error).__name__}"
        if at > 0.0:
            self._add(at, found)
        elif not self.moments:
            self.moments.append((0.0, self._only_sums(found)))
        self._before = found
        return None

    def _only_sums(self, found: Readings) -> Readings:
        """Return where rates begin. A level is told of the slices' ends alone."""
        return {each: 0.0 for each in found if each.kind is Kind.RATE}

    def _add(self, at: float, found: Readings) -> None:
        now = dict(found)
        for each, value in found.items():
            if each.kind is Kind.RATE:
                grown = max(0.0, value - self._before.get(each, value))
                now[each] = self._sums[each] = self._sums.get(each, 0.0) + grown
        self.moments.append((at, now))
