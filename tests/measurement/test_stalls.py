"""Stalls: which slices belong to one."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.measurement.stalls import stalled_shares


def test_slices_in_which_one_stands_still_are_told_from_those_in_which_all_do() -> None:
    logs = np.random.default_rng(2).normal(5, 0.05, (30, 3))
    logs[[2, 11], 1] -= 1.0
    logs[20] -= 2.0
    shares = stalled_shares(logs)
    assert [tuple(place) for place in np.argwhere(shares)] == [(2, 1), (11, 1)]
    assert shares[2, 1] == pytest.approx(1 - np.exp(-1.0), abs=0.1)
    logs[20, 0] -= 3.0
    assert (20, 0) in [tuple(place) for place in np.argwhere(stalled_shares(logs))]


def test_one_subject_alone_can_stand_still() -> None:
    logs = np.full((10, 1), 3.0)
    logs[4] = 1.0
    assert np.flatnonzero(stalled_shares(logs)).tolist() == [4]


@pytest.mark.parametrize("shape", [(0, 2), (3, 1)])
def test_where_nothing_was_measured_nothing_stands_still(shape: tuple[int, int]) -> None:
    assert not stalled_shares(np.full(shape, np.nan)).any()
