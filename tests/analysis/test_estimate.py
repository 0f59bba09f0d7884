import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from dbhone.analysis.estimate import degrees, estimate, trimmed
from tests.analysis.blocks import Array

# Self-awareness data of P. Dana (1990), an example of R. R. Wilcox, Introduction to Robust
# Estimation and Hypothesis Testing: the 20 % trimmed mean is 282.7 and, from the Winsorised
# spread, its standard error 56.1.
DANA = [
    *(77.0, 87, 88, 114, 151, 210, 219, 246, 253, 262),
    *(296, 299, 306, 376, 428, 515, 666, 1310, 2611),
]

rows = st.lists(
    st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 6)), min_size=3, max_size=40
)


def _slow(row: list[float]) -> tuple[float, float]:
    """Return the trimmed mean and its standard error as the formulas are written."""
    count = len(row)
    cut = min(int(0.2 * count + 1e-9), max((count - 8) // 2, 0))
    ordered = sorted(row)
    middle = ordered[cut : count - cut]
    pulled = [middle[0]] * cut + middle + [middle[-1]] * cut
    mean = statistics.fmean(pulled)
    squares = sum((each - mean) ** 2 for each in pulled)
    kept = len(middle)
    return statistics.fmean(middle), math.sqrt(squares / (kept * (kept - 1)))


def test_published_trimmed_mean_and_standard_error() -> None:
    found = estimate(np.array([DANA]), 0.95)
    assert found.centre[0] == pytest.approx(282.7, abs=0.05)
    kept, share = 19 - 2 * 3, 0.6
    freedom = degrees(np.array([19]))[0]
    error = found.half[0] / special.stdtrit(freedom, 0.975)
    # Yuen's standard error uses the blocks kept, Tukey and McLaughlin's the share kept.
    spread = error * math.sqrt(kept * (kept - 1) / 18)
    assert spread / (share * math.sqrt(19)) == pytest.approx(56.1, abs=0.05)


@given(rows)
def test_agrees_with_formulas_written_out(row: list[float]) -> None:
    centre, error = _slow(row)
    found = estimate(np.array([row]), 0.95)
    freedom = float(degrees(np.array([len(row)]))[0])
    assert found.centre[0] == pytest.approx(centre, abs=1e-12)
    half = stats.t.ppf(0.975, freedom) * (0.0 if error <= 1e-12 else error)
    assert found.half[0] == pytest.approx(half, rel=1e-9, abs=1e-11)


@given(rows, st.integers(0, 5), st.randoms())
def test_order_and_gaps_do_not_matter(row: list[float], gaps: int, random: object) -> None:
    padded = [*row, *[math.nan] * gaps]
    random.shuffle(padded)  # type: ignore[attr-defined]
    plain, other = estimate(np.array([row]), 0.95), estimate(np.array([padded]), 0.95)
    assert other.count[0] == len(row)
    assert other.centre[0] == pytest.approx(plain.centre[0], abs=1e-12)
    assert other.half[0] == pytest.approx(plain.half[0], abs=1e-11)


@given(rows)
def test_p_value_lies_above_zero_and_not_above_one(row: list[float]) -> None:
    assert 0 < estimate(np.array([row]), 0.95).p[0] <= 1


@given(rows)
def test_p_value_is_below_alpha_exactly_when_interval_misses_zero(row: list[float]) -> None:
    found = estimate(np.array([row]), 0.95)
    distance = abs(found.centre[0]) - found.half[0]
    if abs(distance) > 1e-9:
        assert (found.p[0] < 0.05) == (distance > 0)


def test_too_few_values_have_no_interval() -> None:
    found = estimate(np.array([[0.1, 0.2, math.nan], [math.nan] * 3]), 0.95)
    assert found.centre[0] == pytest.approx(0.15)
    assert np.isnan(found.centre[1])
    assert np.isnan(found.half).all()
    assert np.isnan(found.p).all()


def test_nothing_measured_is_no_error() -> None:
    found = estimate(np.empty((2, 0)), 0.95)
    assert found.count.tolist() == [0, 0]
    assert np.isnan(found.centre).all()


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = estimate(np.array([[0.0] * 8, [0.1] * 8]), 0.95)
    assert found.half.tolist() == [0, 0]
    assert found.p[0] == 1
    assert 0 < found.p[1] < 1e-100


def test_outliers_hardly_move_the_estimate() -> None:
    calm = np.array([0.05, 0.049, 0.051, 0.05, 0.048, 0.052, 0.05, 0.049, 0.051, 0.05] * 2)
    struck = calm.copy()
    struck[:4] = (-3.0, 2.0, 5.0, -4.0)
    found = estimate(np.array([calm, struck]), 0.95)
    assert found.centre[1] == pytest.approx(found.centre[0], abs=0.002)


def test_a_fifth_is_trimmed_but_eight_are_kept() -> None:
    counts = np.array([3, 9, 10, 12, 14, 15, 20, 25, 100])
    assert trimmed(counts).tolist() == [0, 0, 1, 2, 2, 3, 4, 5, 20]


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
    found = estimate(values, 0.95)
    assert 0.93 <= np.mean(np.abs(found.centre) <= found.half) <= 0.99


@pytest.mark.parametrize("blocks", [6, 10, 14, 25])
def test_p_values_keep_their_promise_far_out_in_the_tail(blocks: int) -> None:
    """A correction for hundreds of comparisons looks nowhere else."""
    values = np.random.default_rng(blocks).normal(0, 1, (400_000, blocks))
    assert np.mean(estimate(values, 0.95).p < 0.0005) == pytest.approx(0.0005, rel=0.35)
