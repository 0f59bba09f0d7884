"""How many rounds of short slices come before the subjects have settled.

After a server's start caches fill, threads are made, and a client's script is compiled: the first
rounds may be slower than all that follow. A round has not settled when some subject's rate in it
is further from the median of that subject's later rounds than their spread explains. Rounds are
looked at in their order, until one has settled; at most a third of them is left out, and none
where fewer than six remain to tell. A round is left out for all subjects, and whichever of them
it is that has not settled, so that leaving it out favours nobody.

The rule is Conway's (Management Science 10 (1963) 47-61): leave out what lies outside of all that
follows. The median and the median deviation take the place of the extremes, which one burst
would decide.
"""

from __future__ import annotations

import numpy as np

from dbhone.analysis.rounds import DEVIATION
from dbhone.measurement.sample_array import Array

_FAR = 4.0
"""In standard deviations: normal noise is as far off in one of 16,000 slices."""
_LEAST = 6


def unsettled(logs: Array) -> int:
    """Return how many rounds at the beginning are to be left out.

    ``logs`` is rounds x subjects, the logarithms of the slices' rates; NaN where one is missing.
    """
    most = min(len(logs) // 3, len(logs) - _LEAST)
    for count in range(max(0, most)):
        if not _is_far(logs[count], logs[count + 1 :]):
            return count
    return max(0, most)


def _is_far(first: Array, later: Array) -> bool:
    known = ~np.isnan(first) & ~np.isnan(later).any(axis=0)
    if not known.any():
        return False
    rest = later[:, known]
    middle = np.median(rest, axis=0)
    spread = DEVIATION * np.median(np.abs(rest - middle), axis=0)
    return bool((np.abs(first[known] - middle) > _FAR * spread).any())
