"""Stalls: which slices belong to one, and the noise that they bring."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.measurement.sample_array import Array, SampleArray, join
from dbhone.measurement.stall_noise import StallNoise
from dbhone.measurement.stalls import (
    TrialStalls,
    stalled,
    stalled_shares,
    trial_stalls,
    with_unseen,
)

SECONDS = 0.2


def _calm(*shape: int) -> Array:
    calm: Array = np.random.default_rng(4).normal(5, 0.01, shape)
    return calm


def _stalls(logs: Array) -> TrialStalls:
    return trial_stalls(logs, np.full(logs.shape, SECONDS))


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


def test_a_stall_is_all_that_its_subject_missed_in_one_go() -> None:
    logs = _calm(20, 2)
    logs[[3, 4, 5, 11, 12], 1] = -9.0
    logs[16, 0] = -9.0  # too short for one
    found = stalled(logs, np.full(logs.shape, SECONDS))
    assert np.flatnonzero(found[:, 1]).tolist() == [3, 4, 5, 11, 12]
    assert not found[:, 0].any()
    assert _stalls(logs).count.tolist() == [0, 2]


def test_its_cost_is_what_the_level_lacks() -> None:
    logs = _calm(20, 2)
    logs[[3, 4], 1] = -9.0
    cost = -np.log(18 / 20)
    found = _stalls(logs)
    assert found.variance == pytest.approx([0, cost**2], rel=1e-4)
    assert found.third == pytest.approx([0, cost**3], rel=1e-4)
    logs[[12, 13], 1] = -9.0
    twice = -np.log(16 / 20)
    assert _stalls(logs).variance[1] == pytest.approx(2 * (twice / 2) ** 2, rel=1e-4)


def test_many_trials_at_once_are_each_judged_alone() -> None:
    logs = _calm(3, 4, 20, 2)
    logs[np.random.default_rng(5).random(logs.shape) < 0.1] = -9.0
    together = _stalls(logs)
    for place in np.ndindex(3, 4):
        alone = _stalls(logs[place])
        assert together.count[place].tolist() == alone.count.tolist()
        assert together.third[place] == pytest.approx(alone.third)


def test_a_subject_that_stalled_on_one_step_might_have_on_another() -> None:
    """Half a stall of the usual size for each step, over its blocks; nothing for who never did."""
    subject, step = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0, 0])
    stalls, nothing = 400.0, [0.0] * 5
    found = TrialStalls(
        count=np.array([stalls, *nothing]),
        variance=np.array([stalls * 0.02, *nothing]),
        third=np.array([stalls * 0.003, *nothing]),
    )
    (seen, variance, third), larger = with_unseen(found, subject, step).cumulants
    assert seen == pytest.approx(found.variance)
    assert variance - seen == pytest.approx([0.005] * 4 + [0, 0], rel=0.01)
    assert third - found.third == pytest.approx([0.00075] * 4 + [0, 0], rel=0.01)
    assert not larger.any()


def test_a_subject_that_stalled_once_is_not_expected_to_stall_everywhere() -> None:
    """The prior's mean is the usual rate: one stall on a hundred steps."""
    steps = np.arange(100)
    once = np.where(steps == 0, 1.0, 0.0)
    found = TrialStalls(count=once, variance=0.04 * once, third=0.008 * once)
    noise = with_unseen(found, np.zeros_like(steps), steps).cumulants[0]
    size = noise[2, 1] / noise[1, 1]
    assert size == pytest.approx(0.2 / 51)
    assert noise[1, 1] / size**2 == pytest.approx(0.5)


def _samples(stalls: StallNoise | None) -> SampleArray:
    return SampleArray.of_columns(
        subjects=("rel", "pgo"),
        steps=("insert",),
        subject=np.array([0, 1], dtype=np.int32),
        step=np.array([0, 0], dtype=np.int32),
        block=np.array([0, 0], dtype=np.int32),
        values={"throughput": np.array([100.0, 90.0])},
        stalls=stalls,
    )


def test_samples_keep_the_stalls_of_what_is_picked_and_joined() -> None:
    stalling = _samples(StallNoise.of_levels(*np.array([[0.0, 0.01], [0.0, 0.02], [0.0, 0.001]])))
    picked = stalling.pick({"pgo": "fast"}, ["scan", "insert"])
    assert picked.stalls is not None
    assert picked.stalls.seen[0, :, 0].tolist() == [0.0, 0.01]
    both = join([stalling, _samples(None)])
    assert both.stalls is not None
    assert both.stalls.variance[1, 0].tolist() == [0.02, 0.0]
    assert join([_samples(None)] * 2).stalls is None


def test_what_slows_the_base_makes_a_ratio_larger() -> None:
    base, subject = (
        StallNoise.of_levels(*np.array([[0.0], [size**2], [size**3]])) for size in (0.1, 0.2)
    )
    smaller, larger = (subject - base).cumulants[..., 0]
    assert smaller == pytest.approx([0, 0.04, 0.008])
    assert larger == pytest.approx([0, 0.01, 0.001])
    turned = (subject - base).times(-2.0).cumulants[0, :, 0]
    assert turned == pytest.approx([0, 0.04, 0.008])
    mean = StallNoise.stacked([subject, base]).weighted(np.array([0.5, 0.5])).cumulants[0, :, 0]
    assert mean == pytest.approx([0, (0.04 + 0.01) / 4, (0.008 + 0.001) / 8])
