"""What simulated runs measure: the slices of two equal servers, and how they spend their time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis.rounds import unsettled, usual_unsettled
from dbhone.analysis.verdict import MINIMUM_BLOCKS

Array = NDArray[np.float64]
SLICE_SECONDS = 0.5
"""How long simulated slices are: as long as hone's were when synthetic noise was described. Its own
are shorter now, so that a round of a recording is made of several of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a run spends its time: restarts, in each the steps, in each rounds of two slices.

    ``restart_seconds`` is what it takes to restore the data and to start and warm up both servers.
    """

    restarts: int
    steps: int = 5
    rounds: int = 20
    slice_seconds: float = SLICE_SECONDS
    restart_seconds: float = 20.0

    @property
    def slices(self) -> int:
        """How many slices a run has."""
        return self.restarts * self.steps * self.rounds * 2

    @property
    def minutes(self) -> float:
        """How long a run takes."""
        return (self.restarts * self.restart_seconds + self.slices * self.slice_seconds) / 60

    def after(self, restarts: int) -> Plan:
        """Return the same plan, ended after so many restarts."""
        return replace(self, restarts=restarts)

    def within(self, minutes: float) -> Plan:
        """Return the same plan, ended within so many minutes, but not too early for a verdict."""
        restarts = max(int(minutes / self.after(1).minutes), MINIMUM_BLOCKS)
        return self.after(min(restarts, self.restarts))

    def shape(self, runs: int) -> tuple[int, int, int, int, int]:
        """Return the axes of the slices of many runs: after the first in the order of time."""
        return runs, self.restarts, self.steps, self.rounds, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """The logarithms of rates in many runs of two servers that do not differ.

    ``logs`` is runs x restarts x steps x rounds x servers. ``by_start`` is what of it belongs to a
    start of a server (runs x restarts x steps x servers): zero in a trace, which cannot tell.
    Restarts of one of the ``clusters`` have servers of the same layouts; without any each has its
    own. From what is ``settled`` the rounds before servers had settled were left out already. Each
    slice took ``slice_seconds``.
    """

    logs: Array
    by_start: Array
    clusters: NDArray[np.intp] | None = None
    settled: bool = False
    slice_seconds: float = SLICE_SECONDS

    @classmethod
    def of(cls, noise: Array, by_start: Array) -> Piece:
        """Return what servers do in such noise whose starts differ so."""
        return cls(logs=noise + by_start[..., None, :], by_start=by_start)

    def first(self, restarts: int) -> Piece:
        """Return the same runs, had they ended after so many restarts."""
        return replace(
            self,
            logs=self.logs[:, :restarts],
            by_start=self.by_start[:, :restarts],
            clusters=None if self.clusters is None else self.clusters[:restarts],
        )

    def left_out(self) -> NDArray[np.intp]:
        """Return how many rounds dbhone leaves out at the beginning, runs x restarts x steps."""
        if self.settled:
            return np.zeros(self.logs.shape[:3], dtype=np.intp)
        found = unsettled(self.logs).swapaxes(0, 1)
        so_far = [usual_unsettled(found[: restart + 1]) for restart in range(len(found))]
        return np.stack(so_far, axis=1)

    def alone(self) -> Array:
        """Return what a single server would have done at every moment, if its starts were alike.

        Runs x restarts x steps x slices, in the order of time.
        """
        logs = self.logs - self.by_start[..., None, :]
        return logs.reshape(*logs.shape[:3], -1)
