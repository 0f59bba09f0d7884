from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.statistics.__main__ import METHODS
from benchmarks.statistics.methods.base import Method
from benchmarks.statistics.methods.dbhone import ROUNDS, in_long_slices, in_rounds, judge
from benchmarks.statistics.methods.sequential import (
    MANN_WHITNEY,
    ONE_RUN,
    WELCH,
    distribution,
    sequential,
)
from benchmarks.statistics.noise import drift, heavy, quiet, uneven_starts
from benchmarks.statistics.piece import Array, Piece, Plan
from dbhone.analysis.verdict import Verdict
from dbhone.measurement.stall_noise import StallNoise
from tests.analysis.blocks import analysed, samples

PLAN = Plan(restarts=8, steps=3, rounds=6)


def _runs(seed: int, count: int, repetitions: int) -> Array:
    values: Array = np.random.default_rng(seed).normal(0, 0.02, (count, 2, repetitions, 2))
    return values


def _piece(logs: Array) -> Piece:
    return Piece(logs=logs, by_start=np.zeros((*logs.shape[:3], 2)))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
def test_every_method_finds_a_fifth_on_a_quiet_machine(method: Method) -> None:
    seen = method.seen(quiet(np.random.default_rng(1), 5, PLAN))
    slower = seen.copy()
    slower[..., 1] -= 0.2
    told = method.judge(slower)
    assert told.different.all()
    assert told.ratio == pytest.approx(-0.2, abs=0.05)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
def test_an_interval_misses_one_for_each_difference_that_is_told(method: Method) -> None:
    told = method.judge(method.seen(heavy(np.random.default_rng(2), 40, PLAN)))
    if told.low is not None and told.high is not None:
        outside = (told.low > 0) | (told.high < 0)
        assert not np.any(told.different & ~outside)


def test_dbhone_judges_as_its_analysis_does() -> None:
    seen = ROUNDS.seen(heavy(np.random.default_rng(3), 12, PLAN))
    seen[6:, 0, :, 1] -= 0.15
    told = ROUNDS.judge(seen)
    for run in range(len(seen)):
        rates, within = seen[run, ..., :2], seen[run, ..., 2]
        halves = np.stack([within / 2] * 2)
        smaller = np.moveaxis(seen[run, ..., 4:7], -1, 0)
        larger = np.moveaxis(seen[run, ..., 7:], -1, 0)
        stalls = StallNoise.of_levels(*np.stack([larger, smaller], axis=1))
        measured = samples(np.exp(np.moveaxis(rates, -1, 0)))
        found = analysed(replace(measured, within=halves, stalls=stalls)).effects
        wanted = [each.verdict in {Verdict.FASTER, Verdict.SLOWER} for each in found]
        assert told.different[run].tolist() == wanted
        assert np.exp(told.ratio[run]) == pytest.approx([each.ratio for each in found])


def test_rounds_do_not_see_what_strikes_both_servers_alike() -> None:
    calm = quiet(np.random.default_rng(4), 3, PLAN)
    moods = np.random.default_rng(5).normal(0, 1, (*calm.logs.shape[:-1], 1))
    before, after = (in_rounds(piece)[..., :2] for piece in (calm, _piece(calm.logs + moods)))
    assert np.abs(after - before).max() > 0.3
    assert np.diff(after) == pytest.approx(np.diff(before), abs=0.08)


def test_a_machine_that_becomes_slower_is_a_slower_subject_to_whoever_measures_in_turn() -> None:
    piece = drift(np.random.default_rng(6), 100, Plan(restarts=12, steps=2, rounds=50))
    assert np.mean(np.diff(sequential(piece, 1))) < -0.02
    assert abs(np.mean(np.diff(in_long_slices(piece)))) < 0.005
    assert abs(np.mean(np.diff(in_rounds(piece.first(6))[..., :2]))) < 0.001


def test_sequential_runs_take_the_first_half_of_the_time_and_then_the_second() -> None:
    logs = np.zeros((1, 4, 1, 3, 2))
    logs[:, 2:] = -0.1
    seen = sequential(_piece(logs), 3)
    assert seen.shape == (1, 1, 3, 2)
    assert seen[..., 0] == pytest.approx(0.0)
    assert seen[..., 1] == pytest.approx(-0.1)


def test_what_a_start_brings_stays_with_it_whatever_the_design() -> None:
    piece = uneven_starts(np.random.default_rng(7), 4, Plan(restarts=6, steps=2, rounds=100))
    wanted = np.diff(piece.by_start.swapaxes(1, 2))
    assert np.diff(in_rounds(piece)[..., :2]) == pytest.approx(wanted, abs=0.02)
    assert np.diff(in_long_slices(piece)) == pytest.approx(wanted, abs=0.02)


def test_one_run_tells_of_whatever_is_off_by_more_than_the_threshold() -> None:
    seen = np.log(np.array([[[[1.0, 1.024]]], [[[1.0, 1.026]]], [[[1.0, 0.974]]]]))
    assert ONE_RUN.judge(seen).different.ravel().tolist() == [False, True, True]


@pytest.mark.parametrize("count", [4, 10])
def test_mann_whitney_is_scipys(count: int) -> None:
    seen = _runs(8, 30, count)
    seen[::2, ..., 1] += 0.03
    told = MANN_WHITNEY.judge(seen)
    exact = stats.mannwhitneyu(seen[..., 1], seen[..., 0], axis=-1, method="exact")
    assert np.array_equal(told.different, exact.pvalue <= 0.05)
    assert told.low is not None
    assert told.high is not None
    assert np.array_equal(told.different, (told.low > 0) | (told.high < 0))


def test_the_distribution_of_wins_is_the_published_one() -> None:
    """H. B. Mann and D. R. Whitney (1947), table 1: 4 and 4, up to 3 wins."""
    assert distribution(4)[:4] == pytest.approx([0.014, 0.029, 0.057, 0.100], abs=0.0005)


def test_welch_is_scipys() -> None:
    seen = _runs(9, 30, 10)
    seen[..., 1] *= 3
    told = WELCH.judge(seen)
    test = stats.ttest_ind(seen[..., 1], seen[..., 0], axis=-1, equal_var=False)
    interval = test.confidence_interval(0.95)
    assert np.array_equal(told.different, test.pvalue < 0.05)
    assert told.low == pytest.approx(interval.low)
    assert told.high == pytest.approx(interval.high)


def test_a_restart_whose_rounds_disagree_hardly_counts() -> None:
    logs = np.random.default_rng(10).normal(0, 0.02, (50, 8, 1, 20, 2))
    logs[:, 3] *= 20
    seen = in_rounds(_piece(logs))
    weighted, alike = judge(seen), judge(seen[..., :2])
    assert np.std(weighted.ratio) < 0.5 * np.std(alike.ratio)
