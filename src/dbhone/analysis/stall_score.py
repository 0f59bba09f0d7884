"""The score interval of an estimate that depends on how often servers happened to stall.

An estimate has normal noise, and that of two Poisson processes: stalls that make it smaller, and
stalls that make it larger. Whether something may be the truth is judged by the variance that the
estimate has then, with those rates of stalls that are likeliest if it is the truth. This is the
score interval of a difference of rates (O. Miettinen and M. Nurminen, Statistics in Medicine 4
(1985) 213-226), here with normal noise beside them.

Let a stall cost ``s`` in one direction and ``t`` in the other, and let their variances be ``a`` and
``b``. If the truth lies below the estimate, the likeliest rates are 1 / (1 - m s) and 1 / (1 + m t)
times those that were seen, for some ``m`` > 0. The variance is then v(m) = noise + a / (1 - m s) +
b / (1 + m t), and the truth lies m v(m) below the estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dbhone.measurement.sample_array import Array
from dbhone.measurement.stall_noise import StallNoise

_LEAST_NOISE = 0.01
"""Of the variance of an estimate: what its blocks show of it is not exact."""
_HALVINGS = 60
_ALMOST = 1 - 1e-12
_NEGLIGIBLE = 1e-6
"""Of the variance of an estimate: stalls of so little weight are as if there were none."""


def reaches(variance: Array, stalls: StallNoise, distance: Array) -> tuple[Array, Array]:
    """Return how far below and above estimates the truth may lie, one for each.

    ``variance`` is that of the estimates with all their noise, which is positive, ``stalls`` what
    stalls bring, and ``distance`` how many standard errors the truth may be away.
    """
    below = _Side.below(variance, stalls)
    return below.reach(distance), below.turned().reach(distance)


def distances(variance: Array, stalls: StallNoise, centre: Array) -> Array:
    """Return how many standard errors estimates lie from zero, if that is the truth."""
    below = _Side.below(variance, stalls)
    above = below.turned()
    return np.where(centre < 0, above.distance(-centre), below.distance(centre))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """Estimates beside truths on one side. ``rising`` is the variance by stalls that are more often
    there than it seemed, ``falling`` that by those that are rarer; the sizes are what one costs.
    """

    noise: Array
    rising: Array
    rising_size: Array
    falling: Array
    falling_size: Array

    @classmethod
    def below(cls, variance: Array, stalls: StallNoise) -> _Side:
        """Return estimates beside truths below them."""
        by_stalls, third = stalls.cumulants[:, 1], stalls.cumulants[:, 2]
        stalling = by_stalls > _NEGLIGIBLE * variance
        rising, falling = np.where(stalling, by_stalls, 0.0)
        rising_size, falling_size = np.where(
            stalling, third / np.where(stalling, by_stalls, 1.0), 0.0
        )
        return cls(
            noise=np.maximum(variance - rising - falling, _LEAST_NOISE * variance),
            rising=rising,
            rising_size=rising_size,
            falling=falling,
            falling_size=falling_size,
        )

    def turned(self) -> _Side:
        """Return the same estimates beside truths on the other side."""
        return replace(
            self,
            rising=self.falling,
            rising_size=self.falling_size,
            falling=self.rising,
            falling_size=self.rising_size,
        )

    def reach(self, distance: Array) -> Array:
        """Return how far away the truth may be, if it is so many standard errors."""
        found = self._solved(np.square(distance), lambda m, variance: np.square(m) * variance)
        return found * self._variance(found)

    def distance(self, away: Array) -> Array:
        """Return how many standard errors a truth is away that lies so far."""
        found = self._solved(np.maximum(away, 0.0), lambda m, variance: m * variance)
        return found * np.sqrt(self._variance(found))

    def _variance(self, m: Array) -> Array:
        variance: Array = (
            self.noise
            + self.rising / (1 - m * self.rising_size)
            + self.falling / (1 + m * self.falling_size)
        )
        return variance

    def _solved(self, wanted: Array, value: Callable[[Array, Array], Array]) -> Array:
        """Return for which ``m`` the value, which rises with it, is as wanted, by bisection."""
        steady = self.noise + self.rising
        low = np.zeros(wanted.shape)
        high = np.maximum(wanted, np.sqrt(wanted)) / np.minimum(steady, np.sqrt(steady))
        singular = np.where(self.rising_size > 0, self.rising_size, 1.0)
        high = np.where(self.rising_size > 0, np.minimum(high, _ALMOST / singular), high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            more = value(middle, self._variance(middle)) > wanted
            low, high = np.where(more, low, middle), np.where(more, middle, high)
        return (low + high) / 2
