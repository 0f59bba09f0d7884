"""Comparisons by way of an anchor: which terms there are, and whose noise they have."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.analysis.indirect import ONE_RUN, Links, contrast
from dbhone.measurement.sample_array import Logs

BLOCKS = 3


def logs(value: float, within: float = 0.0) -> Logs:
    return Logs(values=np.full(BLOCKS, value), within=np.full(BLOCKS, within))


def test_the_noise_of_what_all_are_compared_with_counts_once() -> None:
    """The base is one subject, however many are pooled."""
    rows = {"base": logs(1.0, within=0.5), "two": logs(2.0), "three": logs(4.0)}
    (term,) = contrast(rows, {"two": 0.5, "three": 0.5}, "base", ONE_RUN)
    assert term.values == pytest.approx(np.full(BLOCKS, 2.0))
    assert term.within == pytest.approx(np.full(BLOCKS, 0.5))


def test_a_subject_is_at_no_distance_from_itself_for_sure() -> None:
    (term,) = contrast({"base": logs(1.0, within=0.5)}, {"base": 1.0}, "base", ONE_RUN)
    assert not term.values.any()
    assert not term.within.any()


def test_other_runs_are_terms_of_their_own() -> None:
    links = Links(
        runs={"old": frozenset({0}), "anchor": frozenset({0, 1}), "new": frozenset({1})},
        anchors={"new": "anchor"},
    )
    rows = {"old": logs(1.0), "anchor": logs(1.5, within=0.25), "new": logs(4.0)}
    terms = contrast(rows, {"new": 1.0}, "old", links)
    assert [float(term.values[0]) for term in terms] == [2.5, 0.5]
    assert [float(term.within[0]) for term in terms] == [0.25, 0.25]
