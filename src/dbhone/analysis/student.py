"""Student's t distribution: how likely a distance from the centre is, and its critical values.

Both tails together are the regularised incomplete beta function I_x(n/2, 1/2) of x = n / (n + t²),
with n degrees of freedom, which need not be a whole number. Sources: NIST Digital Library of
Mathematical Functions, 8.17.22 for its continued fraction, 5.11.13 for the ratio of two gamma
functions; M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.5 for the
first guess of a critical value; W. H. Press et al., Numerical Recipes (1992), 6.4 for the number of
terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from dbhone.measurement.sample_array import Array

_LEAST_TERMS = 14
"""With twice the root of the larger parameter in addition: all digits but the last two or so."""
_CLOSE = 2e-4
"""A step that is this small leaves an error of its cube, about."""
_BENT = 0.3
_MOST_STEPS = 60
_FARTHEST = 700.0
"""The logarithm of the largest distance that a float has room for, about."""
_FEW = 3.0
"""With fewer degrees of freedom the expansion of a critical value is no guess at all."""
_LARGE = 50.0
"""From here on the ratio of two gamma functions is taken from its expansion, which is exact."""
_EXPANSION = (1, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144)


def both_tails(freedom: ArrayLike, distance: ArrayLike) -> Array:
    """Return the probability of a distance from the centre, in standard errors, or a larger one.

    ``freedom`` and ``distance`` have one shape, or shapes that NumPy broadcasts. NaN gives NaN, and
    so do degrees of freedom that are not positive.
    """
    degrees, distances = np.broadcast_arrays(_degrees(freedom), np.asarray(distance, np.float64))
    tails = np.exp(_log_tails(degrees, distances, _log_beta(degrees)))
    return np.asarray(tails, dtype=np.float64)


def critical_value(freedom: ArrayLike, risk: ArrayLike) -> Array:
    """Return the distance, in standard errors, that has the probability ``risk`` in both tails.

    ``risk`` lies between 0 and 1; shapes are as in ``both_tails``. The logarithm of the tails is a
    concave function of the logarithm of the distance: Newton's method finds it from anywhere, and
    nearby Halley's, which uses the curvature, too.
    """
    risks = np.asarray(risk, dtype=np.float64)
    degrees, wanted, normal = np.broadcast_arrays(
        _degrees(freedom), np.log(risks), _each(_normal_critical_value, risks)
    )
    log_beta = _log_beta(degrees)
    position = np.log(_guess(degrees, normal))
    for _ in range(_MOST_STEPS):
        distance = np.exp(position)
        log_tails = _log_tails(degrees, distance, log_beta)
        slope = np.exp(_log_density(degrees, distance, log_beta) + position - log_tails)
        newton = (log_tails - wanted) / slope
        bend = newton * (1 + slope - (degrees + 1) / (1 + degrees / np.square(distance))) / 2
        step = np.where(np.abs(bend) < _BENT, newton / (1 + bend), newton)
        following = np.minimum(position + step, _FARTHEST)
        moved, position = np.abs(following - position), following
        if not (moved > _CLOSE).any():
            break
    return np.asarray(np.exp(position), dtype=np.float64)


def _normal_critical_value(risk: float) -> float:
    """Return the critical value with infinitely many degrees of freedom, about."""
    return NormalDist().inv_cdf(1 - risk / 2) if risk > 1e-15 else 8.0


def _guess(degrees: Array, normal: Array) -> Array:
    """Return about how far a risk reaches that reaches so far in a normal distribution."""
    square, n = np.square(normal), np.maximum(degrees, _FEW)
    more = (
        (square + 1) / 4 / n
        + ((5 * square + 16) * square + 3) / 96 / n**2
        + (((3 * square + 19) * square + 17) * square - 15) / 384 / n**3
    )
    guess: Array = normal * (1 + np.maximum(more, 0.0))
    return guess


def _log_tails(degrees: Array, distance: Array, log_beta: Array) -> Array:
    """Return the logarithm of both tails.

    The fraction converges fast on one side of the beta function's middle; beyond it the complement
    is computed.
    """
    half = degrees / 2
    with np.errstate(divide="ignore", over="ignore"):
        squared = np.square(distance) / degrees
        log_x, log_rest = -np.log1p(squared), -np.log1p(1 / squared)
    outside = log_x < np.log((half + 1) / (half + 2.5))
    first = np.where(outside, half, 0.5)
    fraction = _fraction(
        first, np.where(outside, 0.5, half), np.exp(np.where(outside, log_x, log_rest))
    )
    log_part = half * log_x + log_rest / 2 - log_beta + np.log(fraction / first)
    return np.where(outside, log_part, np.log1p(-np.exp(np.where(outside, -1.0, log_part))))


def _log_density(degrees: Array, distance: Array, log_beta: Array) -> Array:
    """Return the logarithm of the density at both distances together."""
    with np.errstate(over="ignore"):
        spread = np.log1p(np.square(distance) / degrees)
    return math.log(2) - (degrees + 1) / 2 * spread - np.log(degrees) / 2 - log_beta


def _log_beta(degrees: Array) -> Array:
    """Return the logarithm of the beta function B(n/2, 1/2)."""
    return math.log(math.pi) / 2 - _each(_log_gamma_ratio, degrees / 2)


def _log_gamma_ratio(value: float) -> float:
    """Return the logarithm of Γ(value + 1/2) / Γ(value)."""
    if value < _LARGE:
        return math.lgamma(value + 0.5) - math.lgamma(value)
    terms = (factor / value**power for power, factor in enumerate(_EXPANSION))
    return math.log(value) / 2 + math.log(sum(terms))


def _fraction(a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction of I_x(a, b), without the factor before it, from its end on.

    The number of terms grows with the square root of the larger parameter.
    """
    largest = float(np.fmax.reduce(np.fmax(a, b), axis=None, initial=1.0))
    result = np.ones_like(x)
    for term in range(_LEAST_TERMS + math.ceil(2 * math.sqrt(largest)), 0, -1):
        place = a + 2 * term
        odd = (a + term) * (a + b + term) * x / (place * (place + 1))
        even = term * (b - term) * x / ((place - 1) * place)
        result = 1 + even / (1 - odd / result)
    return 1 / (1 - (a + b) * x / (a + 1) / result)


def _degrees(freedom: ArrayLike) -> Array:
    """Return degrees of freedom; NaN for those that cannot be."""
    degrees = np.asarray(freedom, dtype=np.float64)
    return np.where(degrees > 0, degrees, np.nan)


def _each(function: Callable[[float], float], values: Array) -> Array:
    """Return a function of each value; NaN of NaN."""
    flat = [function(value) if not math.isnan(value) else math.nan for value in values.flat]
    return np.array(flat, dtype=np.float64).reshape(values.shape)
