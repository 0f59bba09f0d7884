"""Readings at moments become series: rates of what grows, levels of what does not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.measurement.series import Quantity, Readings, SeriesKind, series_of

RATE = Quantity(name="written", unit="B/s", kind=SeriesKind.RATE)
LEVEL = Quantity(name="memory", unit="B", kind=SeriesKind.LEVEL)
COUNT = Quantity(name="waiting", unit="1", kind=SeriesKind.COUNT)

sums = st.lists(st.floats(0, 1e15), min_size=0, max_size=20)
gaps = st.lists(st.floats(0.001, 100), min_size=20, max_size=20)


def moments(gaps: list[float]) -> list[float]:
    found = [0.0]
    for gap in gaps:
        found.append(found[-1] + gap)
    return found


def test_a_rate_is_the_growth_in_a_second_and_a_level_what_it_was() -> None:
    read: list[tuple[float, Readings]] = [
        (0.0, {RATE: 100.0, LEVEL: 7.0}),
        (2.0, {RATE: 300.0, LEVEL: 5.0}),
        (3.0, {RATE: 300.0, LEVEL: 6.0}),
    ]
    rate, level = series_of(read)
    assert (rate.quantity, rate.at, rate.values) == (RATE, (2.0, 3.0), (100.0, 0.0))
    assert (level.at, level.values) == ((0.0, 2.0, 3.0), (7.0, 5.0, 6.0))


def test_a_gap_is_averaged_over_and_a_reset_leaves_one_out() -> None:
    read: list[tuple[float, Readings]] = [
        (0.0, {RATE: 10.0}),
        (1.0, {}),
        (2.0, {RATE: 30.0}),
        (3.0, {RATE: 5.0}),
        (4.0, {RATE: 8.0}),
    ]
    (rate,) = series_of(read)
    assert (rate.at, rate.values) == ((2.0, 4.0), (10.0, 3.0))


def test_of_what_is_counted_there_is_none_where_it_is_not_told() -> None:
    (count,) = series_of([(0.0, {}), (1.0, {COUNT: 3.0}), (2.0, {})])
    assert (count.at, count.values) == ((0.0, 1.0, 2.0), (0.0, 3.0, 0.0))


def test_one_reading_makes_no_rate() -> None:
    assert series_of([(0.0, {RATE: 5.0})]) == ()


@given(sums, gaps)
def test_no_rate_is_negative_whatever_is_reset(values: list[float], between: list[float]) -> None:
    at = moments(between)
    found = series_of([(at[place], {RATE: value}) for place, value in enumerate(values)])
    for series in found:
        assert all(value >= 0 for value in series.values)
        assert set(series.at) <= set(at)
        assert len(series.at) == len(series.values)


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=20), gaps)
def test_rates_over_their_seconds_add_up_to_the_growth(
    steps: list[int], between: list[float]
) -> None:
    at = moments(between)
    total, read = 0, []
    for place, step in enumerate(steps):
        total += step
        read.append((at[place], {RATE: float(total)}))
    (rate,) = series_of(read)
    lengths = [after - before for before, after in pairwise(at[: len(steps)])]
    grown = sum(value * length for value, length in zip(rate.values, lengths, strict=True))
    assert grown == pytest.approx(sum(steps[1:]), rel=1e-6, abs=1e-3)
