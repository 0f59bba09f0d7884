"""How large a difference had to be to be found, where none was."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from dbhone.measurement.sample_array import Array


def findable(error: Array, freedom: Array, adjusted: Array, confidence: float) -> Array:
    """Return for each row the smallest distance from 0 that would have been found.

    ``error`` and ``freedom`` are those of the rows' estimates, ``adjusted`` their p values after
    Holm's correction; NaN takes no part and stays NaN. It is the distance of which the p value is
    just what Holm's method asks of the best of those that were not found. A true difference of
    just that size is found in half of all cases.
    """
    alpha = 1 - confidence
    left = max(int(np.count_nonzero(adjusted >= alpha)), 1)
    part = ~np.isnan(adjusted)
    quantile = stdtrit(np.where(part, freedom, 1.0), 1 - alpha / left / 2)
    return np.where(part, np.where(part, error, 0.0) * quantile, np.nan)
