"""The estimator: against formulas written out, and against what its intervals promise."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import optimize, stats

from dbhone.analysis.estimate import Estimates, estimate, summed, width, with_repeats
from dbhone.measurement.sample_array import Logs
from dbhone.measurement.stall_noise import StallNoise
from tests.analysis.blocks import Array

rows = st.lists(
    st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 6)), min_size=3, max_size=40
)
noisy_rows = st.lists(
    st.tuples(st.floats(-1, 1).map(lambda value: round(value, 6)), st.floats(1e-4, 1.0)),
    min_size=3,
    max_size=20,
)


def half(found: Estimates) -> Array:
    """Return how far the intervals' upper ends lie from the estimates."""
    return found.high - found.centre


def plain(values: Array) -> Estimates:
    """Estimate rows of which no rounds are known."""
    return estimate(Logs.without_rounds(values))


def _meta_analysis(values: list[float], within: list[float]) -> tuple[float, float, float]:
    """Return the centre, its error and the degrees of freedom, as the formulas are written."""
    middle = statistics.median(within)
    noise = np.maximum(within, middle)
    ratios = np.array(values)

    def squares(between: float) -> float:
        weights = 1 / (noise + between)
        centre = np.average(ratios, weights=weights)
        return float(np.sum(weights * (ratios - centre) ** 2)) - (len(ratios) - 1)

    between = optimize.brentq(squares, 0.0, 1e3, xtol=1e-15) if squares(0.0) > 0 else 0.0
    weights = 1 / (noise + between)
    centre = float(np.average(ratios, weights=weights))
    scatter = float(np.sum(weights * (ratios - centre) ** 2)) / (len(ratios) - 1)
    effective = weights.sum() ** 2 / np.sum(weights**2)
    return centre, math.sqrt(scatter / weights.sum()), float(effective - 1)


@given(rows)
def test_without_rounds_it_is_the_mean_with_students_interval(row: list[float]) -> None:
    found = plain(np.array([row]))
    assert found.centre[0] == pytest.approx(statistics.fmean(row), abs=1e-12)
    error = statistics.stdev(row) / math.sqrt(len(row))
    expected = stats.t.ppf(0.975, len(row) - 1) * (0.0 if error <= 1e-12 else error)
    assert half(found)[0] == pytest.approx(expected, rel=1e-9, abs=1e-11)


@given(noisy_rows)
def test_with_rounds_it_is_a_random_effects_mean(row: list[tuple[float, float]]) -> None:
    values, within = [value for value, _ in row], [noise for _, noise in row]
    found = estimate(Logs(values=np.array([values]), within=np.array([within])))
    centre, error, freedom = _meta_analysis(values, within)
    assert found.centre[0] == pytest.approx(centre, abs=1e-7)
    assert found.error[0] == pytest.approx(error, rel=1e-4, abs=1e-9)
    assert found.freedom[0] == pytest.approx(freedom, rel=1e-4)


def test_a_noisy_block_counts_for_less() -> None:
    values = np.array([[0.05, 0.051, 0.049, 0.05, 0.052, 0.048, 0.9]])
    quiet, burst = 1e-6, 0.1
    within = np.array([[quiet] * 6 + [burst]])
    found = estimate(Logs(values=values, within=within))
    assert found.centre[0] == pytest.approx(0.05, abs=0.03)
    assert plain(values).centre[0] > 0.15


@given(
    table=arrays(np.float64, (3, 8), elements=st.floats(-1, 1)),
    missing=arrays(np.bool_, (3, 8)),
    noise=st.floats(1e-4, 1),
)
def test_blocks_of_one_cluster_are_one_value(
    table: Array, missing: NDArray[np.bool_], noise: float
) -> None:
    values = np.where(missing, np.nan, table)
    clusters = np.arange(24, dtype=np.int32) % 8
    clustered = Logs(
        values=values.reshape(1, -1), within=np.full((1, 24), noise), clusters=clusters
    )
    known = np.count_nonzero(~missing, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.nansum(values, axis=0) / known
    whole = Logs(values=means[None], within=np.where(known, noise, np.nan)[None] / known)
    found, expected = estimate(clustered), estimate(whole)
    for name in ("centre", "low", "high", "p", "freedom"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-9
        )
    assert found.count[0] == np.count_nonzero(known)


def test_layouts_that_come_again_tell_nothing_new_of_their_luck() -> None:
    """Eight layouts and hardly any noise: more blocks must not make the interval narrower."""
    random = np.random.default_rng(3)
    luck = random.normal(0, 0.01, 8)
    blocks = np.arange(80, dtype=np.int32)
    values = luck[blocks % 8] + random.normal(0, 1e-4, 80)
    clustered = Logs(values=values[None], within=np.full((1, 80), 1e-8), clusters=blocks % 8)
    assert half(estimate(clustered))[0] > 3 * half(plain(values[None]))[0]


def test_a_control_that_differs_is_no_second_base_whatever_parts_of_steps_lack() -> None:
    random = np.random.default_rng(5)
    noise = random.normal(0, 0.001, (2, 3, 8))
    noise[1] += 0.06
    noise[:, 2] = np.nan  # a part, which has none of this metric
    base, control = (Logs.without_rounds(values) for values in noise)
    whole = np.array([True, True, False])
    np.testing.assert_array_equal(with_repeats(base, [control], whole).values, base.values)
    alike = Logs.without_rounds(noise[0] + random.normal(0, 0.001, (3, 8)))
    pooled = with_repeats(base, [alike], whole)
    assert not np.array_equal(pooled.values[:2], base.values[:2])


def test_a_slow_start_is_not_left_out() -> None:
    """Its own rounds agree: it is no noise, but what one user in eight gets."""
    values = np.array([[0.0, 0.001, -0.001, 0.0, 0.002, -0.002, 0.0, -0.8]])
    found = estimate(Logs(values=values, within=np.full(values.shape, 1e-6)))
    assert found.centre[0] == pytest.approx(-0.1, abs=1e-6)


def test_rounds_that_only_some_blocks_have_are_not_used() -> None:
    values = np.array([[0.0, 0.1, 0.2, 0.3]])
    within = np.array([[1e-6, math.nan, 1e-3, 1e-3]])
    assert estimate(Logs(values=values, within=within)).centre[0] == pytest.approx(0.15)


@given(noisy_rows, st.integers(0, 5), st.randoms())
def test_order_and_gaps_do_not_matter(
    row: list[tuple[float, float]], gaps: int, random: object
) -> None:
    padded = [*row, *[(math.nan, math.nan)] * gaps]
    random.shuffle(padded)  # type: ignore[attr-defined]
    straight, shuffled = (
        estimate(Logs(values=table[None, :, 0], within=table[None, :, 1]))
        for table in (np.array(row), np.array(padded))
    )
    assert shuffled.count[0] == len(row)
    assert shuffled.centre[0] == pytest.approx(straight.centre[0], abs=1e-9)
    assert half(shuffled)[0] == pytest.approx(half(straight)[0], rel=1e-6, abs=1e-9)


@given(rows)
def test_p_value_lies_above_zero_and_not_above_one(row: list[float]) -> None:
    assert 0 < plain(np.array([row])).p[0] <= 1


@given(rows)
def test_p_value_is_below_alpha_exactly_when_interval_misses_zero(row: list[float]) -> None:
    found = plain(np.array([row]))
    distance = abs(found.centre[0]) - half(found)[0]
    if abs(distance) > 1e-9:
        assert (found.p[0] < 0.05) == (distance > 0)


def test_too_few_values_have_no_interval() -> None:
    found = plain(np.array([[0.1, 0.2, math.nan], [math.nan] * 3]))
    assert found.centre[0] == pytest.approx(0.15)
    assert np.isnan(found.centre[1])
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    assert np.isnan(found.p).all()


def test_nothing_measured_is_no_error() -> None:
    found = plain(np.empty((2, 0)))
    assert found.count.tolist() == [0, 0]
    assert np.isnan(found.centre).all()


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = plain(np.array([[0.0] * 8, [0.1] * 8]))
    assert half(found).tolist() == [0, 0]
    assert found.p[0] == 1
    assert 0 < found.p[1] < 1e-100


def test_a_sum_has_the_variances_of_its_terms() -> None:
    one, other = np.random.default_rng(1).normal(0, 0.02, (2, 1, 8))
    terms = [Logs.without_rounds(row[0]) for row in (one, other)]
    found = summed([terms])
    parts = [plain(row) for row in (one, other)]
    assert found.centre[0] == pytest.approx(sum(float(part.centre[0]) for part in parts))
    assert found.error[0] == pytest.approx(math.hypot(*(float(part.error[0]) for part in parts)))
    assert 7 <= found.freedom[0] <= 14


def test_the_width_of_an_interval_is_that_of_as_many_blocks() -> None:
    values = np.array([[-1.0, 1.0] * 4])
    assert width(8) * values.std(ddof=1) == pytest.approx(float(half(plain(values))[0]))


def _heavy(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return differences of two-humped, heavy-tailed noise, as shared machines have it."""
    sides = rng.standard_t(3, (*shape, 2)) * 0.02 - 0.15 * (rng.random((*shape, 2)) < 0.3)
    difference: Array = sides[..., 0] - sides[..., 1]
    return difference


@pytest.mark.parametrize("blocks", [6, 10, 14, 25])
@pytest.mark.parametrize("noise", ["quiet", "heavy"])
def test_intervals_cover_the_truth_as_often_as_they_say(blocks: int, noise: str) -> None:
    rng = np.random.default_rng(blocks)
    shape = (20_000, blocks)
    values = rng.normal(0, 0.02, shape) if noise == "quiet" else _heavy(rng, shape)
    found = plain(values)
    assert 0.93 <= np.mean((found.low <= 0) & (found.high >= 0)) <= 0.99


@pytest.mark.parametrize("blocks", [6, 10, 14])
@pytest.mark.parametrize("between", [0.0, 0.02])
def test_intervals_cover_the_truth_where_noise_comes_in_bursts(blocks: int, between: float) -> None:
    rng = np.random.default_rng(blocks)
    shape = (20_000, blocks)
    spread = np.where(rng.random(shape) < 0.3, 0.1, 0.01)
    values = rng.normal(0, between, shape) + rng.normal(0, spread)
    within = spread**2 * rng.chisquare(19, shape) / 19
    found = estimate(Logs(values=values, within=within))
    assert 0.93 <= np.mean((found.low <= 0) & (found.high >= 0)) <= 0.99
    assert np.median(half(found)) < 0.8 * np.median(half(plain(values)))


@pytest.mark.parametrize("blocks", [6, 10, 14, 25])
def test_p_values_keep_their_promise_far_out_in_the_tail(blocks: int) -> None:
    """A correction for hundreds of comparisons looks nowhere else."""
    values = np.random.default_rng(blocks).normal(0, 1, (400_000, blocks))
    assert np.mean(plain(values).p < 0.0005) == pytest.approx(0.0005, rel=0.35)


@pytest.mark.parametrize(("steps", "most"), [(1, 0.07), (5, 0.10), (32, 0.16)])
def test_light_tails_raise_no_more_false_alarms_than_the_documents_say(
    steps: int, most: float
) -> None:
    values = np.random.default_rng(steps).uniform(-1, 1, (400_000, 6))
    alone = np.mean(plain(values).p < 0.05 / steps)
    assert 0.05 < 1 - (1 - alone) ** steps < most


def _stalling(seed: int, *, cost: float, stalls: float, blocks: int) -> Logs:
    """Return rows of a subject that stalls so often in all blocks together; its truth is 0."""
    rng = np.random.default_rng(seed)
    count = rng.poisson(stalls / blocks, (20_000, blocks)).astype(np.float64)
    values = rng.normal(0, 0.01, count.shape) - cost * (count - stalls / blocks)
    expected: Array = count + 0.5 / blocks
    noise = StallNoise.of_levels(cost**2 * count, cost**2 * expected, cost**3 * expected)
    return Logs(values=values, within=np.full(values.shape, np.nan), stalls=noise)


@pytest.mark.parametrize("stalls", [1, 2, 4, 12])
def test_intervals_allow_for_how_many_stalls_happened_to_be_seen(stalls: int) -> None:
    rows = _stalling(stalls, cost=0.2, stalls=stalls, blocks=12)
    found, plainly = estimate(rows), plain(rows.values)
    covered = np.mean((found.low <= 0) & (found.high >= 0))
    assert 0.94 <= covered <= 0.995
    if stalls <= 4:
        assert covered > np.mean((plainly.low <= 0) & (plainly.high >= 0)) + 0.02


def test_an_interval_reaches_further_where_there_were_more_stalls() -> None:
    found = estimate(_stalling(1, cost=0.2, stalls=3, blocks=12)[:50])
    assert (found.centre - found.low > found.high - found.centre).all()
    turned = estimate(_stalling(1, cost=0.2, stalls=3, blocks=12)[:50].times(-1.0))
    np.testing.assert_allclose(turned.high, -found.low)


def test_stalls_of_both_sides_alike_leave_an_interval_as_long_on_both() -> None:
    rows = _stalling(2, cost=0.1, stalls=3, blocks=12)[:50]
    found = estimate(rows - rows[::-1])
    again = estimate(rows[::-1] - rows)
    np.testing.assert_allclose(again.low, -found.high)


@pytest.mark.parametrize("stalls", [1, 3, 12])
def test_two_subjects_that_stall_as_often_are_told_apart_by_chance_alone(stalls: int) -> None:
    one, other = (_stalling(seed, cost=0.2, stalls=stalls, blocks=12) for seed in (3, 4))
    found = estimate(one - other)
    assert np.mean((found.low <= 0) & (found.high >= 0)) >= 0.94
    assert np.mean(found.p < 0.01) <= 0.01


@given(rows, st.floats(0.001, 0.5), st.floats(0, 1), st.floats(0, 1))
def test_p_value_and_interval_agree_where_servers_stalled(
    row: list[float], cost: float, smaller: float, larger: float
) -> None:
    count = np.full((1, len(row)), 2 / len(row))
    own, bases = (
        StallNoise.of_levels(*(count * part * cost**power for power in (2, 2, 3)))
        for part in (smaller, larger)
    )
    values = np.array([row])
    logs = Logs(values=values, within=np.full_like(values, np.nan), stalls=own - bases)
    found = estimate(logs)
    gaps = found.low[0], -found.high[0]
    if min(map(abs, gaps)) > 1e-9:
        assert (found.p[0] < 0.05) == (max(gaps) > 0)
