"""The noise of levels, as the rounds of their trial show it.

A level is made of many slices, and what they differ by says how far a level is from what more
slices would give. The analysis weighs blocks by that (``dbhone.analysis.estimate``).
"""

from __future__ import annotations

import numpy as np

from dbhone.measurement.sample_array import Array


def level_variances(logs: Array) -> Array:
    """Return the variance of each subject's log level, NaN where too little shows it.

    ``logs`` is rounds x subjects, the logarithms of the slices' rates, none missing; further axes
    before these are many trials at once. What a round does to all subjects alike is not noise of
    theirs: it is taken out first.
    """
    rounds, subjects = logs.shape[-2:]
    if rounds < 2 or subjects < 2:
        return np.full((*logs.shape[:-2], subjects), np.nan)
    own = logs - logs.mean(axis=-1, keepdims=True)
    # The common part, a mean of all subjects, has a share of each one's noise.
    variances: Array = own.var(axis=-2, ddof=1) / rounds * subjects / (subjects - 1)
    return variances
