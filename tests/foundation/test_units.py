"""Quantities as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.errors import UsageError
from dbhone.units import (
    duration,
    exact_duration,
    exact_percent,
    parse_duration,
    parse_percent,
    percent,
    size,
    whole_minutes,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("8m", 480), ("8 min", 480), ("1h30m", 5400), ("1.5h", 5400), ("250ms", 0.25)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "eight", "8x", "m8", "-5m", "0", "8m later"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(7200.0, "2h"), (900.0, "15m"), (5400.0, "90m"), (90.5, "90.5s")]
)
def test_a_duration_is_written_so_that_it_is_read_again(seconds: float, text: str) -> None:
    assert exact_duration(seconds) == text
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["30", " 30 ", "1h30", "30 1h"])
def test_a_duration_without_a_unit_is_refused_with_both_that_may_be_meant(text: str) -> None:
    with pytest.raises(UsageError, match="lacks a unit") as caught:
        parse_duration(text)
    assert caught.value.hint == "write 30s or 30m, not 30"


@pytest.mark.parametrize(("text", "value"), [("2%", 0.02), ("0.5 %", 0.005), ("0.02", 0.02)])
def test_percentages_are_read(text: str, value: float) -> None:
    assert parse_percent(text) == pytest.approx(value)


def test_a_bare_number_that_may_be_meant_as_percent_is_refused_with_both() -> None:
    with pytest.raises(UsageError, match="lacks its unit") as caught:
        parse_percent("0.5")
    assert caught.value.hint == "write 0.5% or 50%"


@pytest.mark.parametrize("text", ["", "much", "0%", "100%", "-1%", "2", "nan"])
def test_what_is_no_precision_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_percent(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.21, "210 ms"),
        (17.64, "17.6 s"),
        (59.96, "1 m 00 s"),
        (161, "2 m 41 s"),
        (3599.7, "1 h 00 m"),
        (3900, "1 h 05 m"),
    ],
)
def test_durations_are_written_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(min_value=1, max_value=1e6))
def test_a_written_duration_is_read_back_nearly(seconds: float) -> None:
    assert parse_duration(duration(seconds)) == pytest.approx(seconds, rel=0.06)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1468006, "1.4 MiB"), (2**50, "1024.0 TiB")]
)
def test_sizes_are_written_in_binary_units(count: int, text: str) -> None:
    assert size(count) == text


def test_percentages_carry_their_sign() -> None:
    assert percent(0.064) == "+6.4%"
    assert percent(-0.031) == "-3.1%"


@given(seconds=st.floats(min_value=0.01, max_value=1e6))
def test_whole_minutes_are_enough_and_by_less_than_a_minute(seconds: float) -> None:
    assert 0 <= parse_duration(whole_minutes(seconds)) - seconds < 60 + 1e-6


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.02, "2.0%"), (0.0025, "0.25%"), (0.1, "10.0%"), (0.0007, "0.07%")]
)
def test_an_exact_percentage_is_not_rounded(fraction: float, text: str) -> None:
    assert exact_percent(fraction) == text
