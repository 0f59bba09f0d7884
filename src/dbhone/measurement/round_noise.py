"""The noise of levels, as the rounds of their trial show it.

A level is made of many slices, and what they differ by says how far a level is from what more
slices would give. The analysis weighs blocks by that (``dbhone.analysis.estimate``).

The spread is robust: a server that stands still in some slices is slower in that block, and the
block is not noisier for it. With a plain variance such blocks would hardly count, and stalls would
not show. It is the biweight midvariance (F. Mosteller and J. W. Tukey, Data Analysis and Regression
(1977) 205-208; T. C. Beers, K. Flynn and K. Gebhardt, Astronomical Journal 100 (1990) 32-46).
"""

from __future__ import annotations

import numpy as np

from dbhone.measurement.sample_array import Array

_REJECTED = 9.0
"""In median deviations, six standard deviations of normal noise: what is as far off is left out."""
_ROUNDING = 1e-12
"""Spreads of logarithms below this are rounding, not measurement."""


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
    variances: Array = _biweight(own) / rounds * subjects / (subjects - 1)
    return variances


def _biweight(values: Array) -> Array:
    """Return the biweight midvariance over the last axis but one."""
    away = np.abs(values - np.median(values, axis=-2, keepdims=True))
    scale = _REJECTED * np.median(away, axis=-2, keepdims=True)
    near = 1 - np.square(np.minimum(away / np.maximum(scale, _ROUNDING), 1.0))
    total = np.sum(np.square(away * np.square(near)), axis=-2) * values.shape[-2]
    variances: Array = total / np.square(np.sum(near * (5 * near - 4), axis=-2))
    return variances
