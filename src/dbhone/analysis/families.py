"""Families of comparisons, each corrected for being many on its own.

A family answers one question. Within it at most one run in twenty raises a false alarm; each
further family has its own twentieth, so there are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from dbhone.analysis.estimate import Estimates
from dbhone.analysis.minimum_effect import findable
from dbhone.analysis.multiplicity import holm
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.measurement.sample_array import Array


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
class Rows:
    """Comparisons, one estimate for each, and the family of each."""

    estimates: Estimates
    families: tuple[Family, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """What their families say of rows: corrected p values, and what would have been found.

    NaN for a row that has too few blocks for a verdict; it takes no part.
    """

    adjusted: Array
    findable: Array


def judge(tables: Sequence[Rows], confidence: float) -> list[Tests]:
    """Correct each family over all tables; return the tests of each table's rows."""
    families = np.array([each.value for table in tables for each in table.families])
    p, error, freedom = (
        np.concatenate(columns)
        for columns in zip(*(_columns(table.estimates) for table in tables), strict=True)
    )
    adjusted, least = np.full_like(p, np.nan), np.full_like(p, np.nan)
    for family in Family:
        own = families == family.value
        adjusted[own] = holm(p[own])
        least[own] = findable(error[own], freedom[own], adjusted[own], confidence)
    ends = np.cumsum([len(table.families) for table in tables])[:-1]
    pairs = zip(np.split(adjusted, ends), np.split(least, ends), strict=True)
    return [Tests(adjusted=one, findable=other) for one, other in pairs]


def _columns(rows: Estimates) -> tuple[Array, Array, Array]:
    return np.where(rows.count >= MINIMUM_BLOCKS, rows.p, np.nan), rows.error, rows.freedom
