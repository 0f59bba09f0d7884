"""Corrects comparisons for their number, in families, by Holm's method.

A family answers one question. Within a family, at most one run in twenty raises a false alarm. Each
further family has a twentieth of its own, so there are few. Source: S. Holm, Scand. J. Statist. 6
(1979) 65-70.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from dbhone.analysis.estimate import CONFIDENCE, Estimates
from dbhone.analysis.student import critical_value
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.measurement.sample_array import Array


def findable(error: Array, freedom: Array, adjusted: Array) -> Array:
    """Return for each row the smallest distance from 0 that would have been found.

    ``error`` and ``freedom`` are those of the rows' estimates, ``adjusted`` their p values after
    Holm's correction; NaN takes no part and stays NaN. The distance's p value is what Holm's method
    asks of the best of those that were not found. Half of all runs find a true difference of this
    size.
    """
    alpha = 1 - CONFIDENCE
    left = max(int(np.count_nonzero(adjusted >= alpha)), 1)
    part = ~np.isnan(adjusted)
    distance = critical_value(np.where(part, freedom, 1.0), alpha / left)
    return np.where(part, np.where(part, error, 0.0) * distance, np.nan)


def holm(p: Array) -> Array:
    """Return the p values of one family, adjusted.

    Calling significant what is below 0.05 afterwards raises a single false alarm among all
    of the family in at most 5 of 100 runs, however the tests depend on each other. NaN takes
    no part and stays NaN.
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    remaining = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(remaining * p[order]), 1.0)
    return adjusted


class Family(Enum):
    """Which question a comparison belongs to."""

    STEPS = auto()
    """Which steps of which candidates differ?"""
    JUDGED = auto()
    """Which candidates differ, by the summary that they are judged by?"""
    PARTS = auto()
    """Which other summaries differ?"""
    CONTROL = auto()
    """Does the base differ from itself, in whatever figure of a control?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """The tests of rows: p values corrected within families, and the findable differences.

    NaN stands for a row that has too few blocks for a verdict; it takes no part.
    """

    adjusted: Array
    findable: Array


def judge(estimates: Sequence[Estimates], families: Sequence[Sequence[Family]]) -> list[Tests]:
    """Correct each family over all tables of estimates; return the tests of each table's rows.

    ``families`` are those of the rows of each table.
    """
    family_of = np.array([family.value for table in families for family in table])
    p, error, freedom = (
        np.concatenate(columns) for columns in zip(*map(_columns, estimates), strict=True)
    )
    adjusted, least = np.full_like(p, np.nan), np.full_like(p, np.nan)
    for family in Family:
        own = family_of == family.value
        adjusted[own] = holm(p[own])
        least[own] = findable(error[own], freedom[own], adjusted[own])
    ends = np.cumsum([len(table) for table in families])[:-1]
    pairs = zip(np.split(adjusted, ends), np.split(least, ends), strict=True)
    return [Tests(adjusted=adjusted_p, findable=other) for adjusted_p, other in pairs]


def _columns(rows: Estimates) -> tuple[Array, Array, Array]:
    return np.where(rows.count >= MINIMUM_BLOCKS, rows.p, np.nan), rows.error, rows.freedom
