"""What is counted in logs: where a workload is cut into halves."""

from __future__ import annotations

from dbhone.capture.counted import Counted


def test_half_of_the_transactions_begin_before_the_middle_even_of_a_burst() -> None:
    counted = Counted()
    for number in range(1000):
        counted.add(1_000_000_000 + number * 1000, statements=1)
    earlier = sum(1_000_000_000 + number * 1000 < counted.middle() for number in range(1000))
    assert abs(earlier - 500) <= 2


def test_halves_stay_equal_over_many_moments() -> None:
    counted = Counted()
    for number in range(50_000):
        counted.add(number * 3_000_000, statements=1)
    earlier = sum(number * 3_000_000 < counted.middle() for number in range(50_000))
    assert abs(earlier - 25_000) <= 3
