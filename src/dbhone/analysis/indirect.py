"""Compares subjects that no run measured together, by way of a common comparator, the anchor.

A ratio is always taken within the blocks of one run. If an earlier run measured the anchor beside
one subject, and a later run measured it beside another, the logarithms of the two ratios add up. So
do their variances, since the runs are independent.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from dbhone.measurement.sample_array import Logs

Hop = tuple[str, str]
"""A comparison within runs: the later subject with the earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Which runs measured which subjects; empty for samples of a single run.

    ``runs`` has the indices of the runs that measured a subject. ``anchors`` names the subject by
    which another is compared with those of earlier runs; the subjects of the first run have none.
    """

    runs: Mapping[str, frozenset[int]] = field(default_factory=dict)
    anchors: Mapping[str, str] = field(default_factory=dict)

    def together(self, one: str, other: str) -> frozenset[int]:
        """Return the runs that measured both; of a single run's samples, that run."""
        if not self.runs:
            return frozenset((0,))
        return self.runs[one] & self.runs[other]

    def within(self, one: str, other: str) -> bool:
        """Return whether all runs that measured ``one`` measured ``other``, too."""
        return not self.runs or self.runs[one] <= self.runs[other]

    def hops(self, later: str, earlier: str) -> tuple[Hop, ...]:
        """Return the comparisons within runs that lead from ``earlier`` to ``later``."""
        if self.together(later, earlier):
            return ((later, earlier),)
        if min(self.runs[later]) > min(self.runs[earlier]):
            anchor = self.anchors[later]
            return ((later, anchor), *self.hops(anchor, earlier))
        anchor = self.anchors[earlier]
        return (*self.hops(later, anchor), (anchor, earlier))


ONE_RUN = Links()


def contrast(
    rows: Mapping[str, Logs], weights: Mapping[str, float], earlier: str, links: Links
) -> list[Logs]:
    """Return how far the weighted mean of subjects is from ``earlier``: the terms of a sum.

    ``rows`` are the logarithms by subject; their last axis is the blocks. The weights add up to 1.
    The terms are independent, since each is of other runs. What shares a run is one term, over the
    blocks that have all of it.
    """
    terms: dict[frozenset[int], dict[str, float]] = {}
    for name, weight in weights.items():
        if name == earlier:
            continue  # it is not at a distance from itself, and says nothing of any other run
        for above, below in links.hops(name, earlier):
            runs = links.together(above, below)
            sharing = next((term for term in terms if term & runs), runs)
            factors = terms.pop(sharing, {})
            terms[sharing & runs] = factors
            # A subject's noise is the same wherever it stands, so its weights are added first.
            factors[above] = factors.get(above, 0.0) + weight
            factors[below] = factors.get(below, 0.0) - weight
    sums = [
        reduce(operator.add, (rows[name].times(factor) for name, factor in factors.items()))
        for factors in terms.values()
    ]
    return sums or [rows[earlier].times(0.0)]
