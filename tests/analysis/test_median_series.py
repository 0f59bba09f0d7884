"""Median series: the median of the blocks at each moment of a slice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.median_series import MOST_POINTS, MedianSeries, find_median_series
from dbhone.measurement.series import CPU, MEMORY, Observation, Quantity, Series, SeriesKind

WAITS = Quantity(name="pg_stat_activity.IO:WALSync", unit="1", kind=SeriesKind.COUNT)


def observation(
    block: int, values: list[float], *, subject: str = "rel", late: float = 0.0
) -> Observation:
    at = tuple(second + 1 + late for second in range(len(values)))
    series = Series(quantity=CPU, at=at, values=tuple(values))
    return Observation(block=block, set="points", subject=subject, series=(series,))


def only(observations: list[Observation]) -> MedianSeries:
    (found,) = find_median_series(observations, ("points",))
    return found


def test_a_median_series_is_the_median_with_the_middle_half_of_the_blocks() -> None:
    blocks = [observation(block, [1.0 * block, 7.0]) for block in range(5)]
    found = only(blocks)
    assert (found.subject, found.set, found.quantity) == ("rel", "points", CPU)
    assert found.at == (1.0, 2.0)
    assert (found.low, found.values, found.high) == ((1.0, 7.0), (2.0, 7.0), (3.0, 7.0))
    assert found.blocks == 5


def test_moments_need_not_be_the_same_to_the_millisecond() -> None:
    found = only([observation(0, [1.0, 2.0], late=0.004), observation(1, [3.0, 4.0], late=0.2)])
    assert found.at == pytest.approx((1.102, 2.102))
    assert found.values == (2.0, 3.0)


def test_what_few_blocks_reach_is_left_out() -> None:
    blocks = [observation(block, [1.0, 1.0]) for block in range(4)]
    assert only([*blocks, observation(4, [1.0, 1.0, 9.0])]).at == (1.0, 2.0)


def test_blocks_that_share_no_moment_have_no_median_series() -> None:
    blocks = [
        Observation(
            block=block,
            set="points",
            subject="rel",
            series=(Series(quantity=CPU, at=(1.0 + block,), values=(1.0,)),),
        )
        for block in range(3)
    ]
    assert find_median_series(blocks, ("points",)) == ()


def test_a_count_that_a_block_does_not_tell_was_nought_in_it() -> None:
    at = (0.0, 1.0, 2.0)
    waits = Series(quantity=WAITS, at=at, values=(0.0, 4.0, 4.0))
    memory = Series(quantity=MEMORY, at=at, values=(5.0, 5.0, 5.0))
    blocks = [
        Observation(block=block, set="points", subject="rel", series=series)
        for block, series in enumerate(((waits, memory), (memory,), (memory,)))
    ]
    found = {each.quantity: each for each in find_median_series(blocks, ("points",))}
    assert found[WAITS].values == (0.0, 0.0, 0.0)
    assert found[WAITS].high == (0.0, 2.0, 2.0)
    assert found[WAITS].blocks == 3


def test_what_was_not_read_of_a_subject_is_no_nought() -> None:
    at = (0.0, 1.0)
    counted = Quantity(name="pg_stat_activity.Lock", unit="1", kind=SeriesKind.COUNT)
    other = Quantity(name="pg_stat_activity.IO", unit="1", kind=SeriesKind.COUNT)
    memory = Series(quantity=MEMORY, at=at, values=(5.0, 5.0))
    series = {
        "waits": (memory, Series(quantity=counted, at=at, values=(1.0, 1.0))),
        "waits otherwise": (memory, Series(quantity=other, at=at, values=(1.0, 1.0))),
        "tells no waits": (memory,),
    }
    observations = [
        Observation(block=0, set="points", subject=subject, series=own)
        for subject, own in series.items()
    ]
    found = find_median_series(observations, ("points",))
    assert {each.subject: each.values for each in found if each.quantity == counted} == {
        "waits": (1.0, 1.0),
        "waits otherwise": (0.0, 0.0),
    }


def test_a_long_slice_is_thinned_out_and_keeps_its_mean() -> None:
    values = [float(second % 2) for second in range(600)]
    found = only([observation(0, values)])
    assert len(found.at) <= MOST_POINTS + 1
    assert sum(found.values) / len(found.values) == pytest.approx(0.5, abs=0.05)
    assert found.at[-1] == pytest.approx(600, abs=10)


def test_sets_that_are_not_asked_for_are_not_computed() -> None:
    assert find_median_series([observation(0, [1.0])], ("other",)) == ()
    empty = Observation(block=0, set="points", subject="rel", series=())
    assert find_median_series([empty], ("points",)) == ()


@given(st.lists(st.lists(st.floats(0, 1e9), min_size=1, max_size=20), min_size=1, max_size=8))
def test_the_band_is_around_the_line_and_within_what_was_observed(
    blocks: list[list[float]],
) -> None:
    found = only([observation(block, values) for block, values in enumerate(blocks)])
    everything = [each for values in blocks for each in values]
    assert list(found.at) == sorted(set(found.at))
    for low, value, high in zip(found.low, found.values, found.high, strict=True):
        assert min(everything) - 1e-6 <= low <= value * (1 + 1e-9) + 1e-9
        assert value <= high * (1 + 1e-9) + 1e-9 <= max(everything) * (1 + 1e-8) + 1e-6
