"""The noise that stalls bring into logarithms, as its cumulants.

Stalls come at random, and are few. So a mean over blocks has an error by how many happened to fall
into them. If it saw few, it is too high, and looks surer than it is: the blocks hardly differ. The
noise that they bring is described by cumulants. Of a sum of random events, the n-th is the sum of
the n-th powers of what each event costs (Campbell's theorem; J. F. C. Kingman, Poisson Processes
(1993), section 3.2). The estimate makes its interval of that (``dbhone.analysis.estimate``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StallNoise:
    """The second and third cumulants of the noise that stalls bring into logarithms.

    ``cumulants`` has two axes before those of the logarithms. The first is the direction: stalls
    that make a logarithm smaller, then those that make it larger, as the base's do with a ratio.
    The second is which cumulant it is: the variance by the stalls that were seen, the variance by
    those that are expected, and the third cumulant by these, positive in both directions. Cumulants
    of independent values add up.
    """

    cumulants: Array

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> StallNoise:
        """Return the noise of servers that never stall."""
        return cls(cumulants=np.zeros((2, 3, *shape)))

    @classmethod
    def of_levels(cls, seen: Array, variance: Array, third: Array) -> StallNoise:
        """Return the noise of levels, which their servers' stalls make smaller."""
        smaller = np.array([seen, variance, third])
        return cls(cumulants=np.array([smaller, np.zeros_like(smaller)]))

    @classmethod
    def stacked(cls, rows: Sequence[StallNoise]) -> StallNoise:
        """Return rows of equal shape as one, along a new first axis."""
        return cls(cumulants=np.stack([row.cumulants for row in rows], axis=2))

    @classmethod
    def joined(cls, parts: Sequence[StallNoise]) -> StallNoise:
        """Return parts one after the other, along the last axis."""
        return cls(cumulants=np.concatenate([part.cumulants for part in parts], axis=-1))

    @property
    def seen(self) -> Array:
        """The variance by the stalls of both directions that were seen."""
        seen: Array = self.cumulants[:, 0].sum(axis=0)
        return seen

    @property
    def variance(self) -> Array:
        """The variance by the stalls of both directions that are expected."""
        variance: Array = self.cumulants[:, 1].sum(axis=0)
        return variance

    def __getitem__(self, index: Any) -> StallNoise:
        return StallNoise(cumulants=self.cumulants[:, :, *_places(index)])

    def __setitem__(self, index: Any, values: StallNoise) -> None:
        self.cumulants[:, :, *_places(index)] = values.cumulants

    def __add__(self, other: StallNoise) -> StallNoise:
        return StallNoise(cumulants=self.cumulants + other.cumulants)

    def __sub__(self, other: StallNoise) -> StallNoise:
        return StallNoise(cumulants=self.cumulants + other.cumulants[::-1])

    def times(self, factor: float | Array) -> StallNoise:
        """Return the noise of the logarithms times a factor, or times one of each logarithm's."""
        factors = np.broadcast_to(factor, self.cumulants.shape[2:])
        size = np.abs(factors)
        scaled = self.cumulants * np.stack([size**2, size**2, size**3])
        return StallNoise(cumulants=np.where(factors < 0, scaled[::-1], scaled))

    def weighted(self, weights: Array) -> StallNoise:
        """Return the noise of sums over the first axis, of which each element has a weight."""
        further = self.cumulants.ndim - 3
        return self.times(weights.reshape(-1, *[1] * further)).sum(axis=0)

    def sum(self, axis: int) -> StallNoise:
        """Return the noise of sums over an axis of the logarithms."""
        return StallNoise(cumulants=self.cumulants.sum(axis=axis + 2 if axis >= 0 else axis))

    def by_cluster(self, members: Array) -> StallNoise:
        """Return the noise of sums over the last axis; ``members`` is its elements x clusters."""
        return StallNoise(cumulants=self.cumulants @ members)


def _places(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)
