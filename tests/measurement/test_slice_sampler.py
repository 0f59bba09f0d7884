"""What is read at the ends of slices, as if nothing had been between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbhone.errors import ServerError
from dbhone.measurement.sampler import Probe, SliceSampler
from dbhone.measurement.series import Quantity, Readings, Series, SeriesKind

SUM = Quantity(name="sum", unit="1/s", kind=SeriesKind.RATE)
LEVEL = Quantity(name="level", unit="1", kind=SeriesKind.LEVEL)
COUNT = Quantity(name="count", unit="1", kind=SeriesKind.COUNT)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each reading of the clock be a second later: a slice lasts one second."""
    seconds = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))


def probe(quantity: Quantity, *values: float) -> Probe:
    """Return a probe that reads one value after the other, and then fails."""
    left: Iterator[float] = iter(values)

    def read() -> Readings:
        for value in left:
            return {quantity: value}
        raise ServerError("the server has gone away")

    return read


def sampled(
    probes: list[Probe], slices: int, *, every: float = 1.0
) -> tuple[SliceSampler, tuple[Series, ...]]:
    sampler = SliceSampler(probes, every=every)
    for _ in range(slices):
        sampler.begin()
        sampler.end()
    return sampler, sampler.series()


def test_what_grows_between_slices_is_in_no_rate() -> None:
    # 10 in the first slice, 1000 while others are asked, 30 in the second slice.
    _, (series,) = sampled([probe(SUM, 5, 15, 1015, 1045)], 2)
    assert series == Series(quantity=SUM, at=(1.0, 2.0), values=(10.0, 30.0))


def test_a_level_is_that_of_the_slices_ends() -> None:
    _, (series,) = sampled([probe(LEVEL, 1, 2, 3, 4)], 2)
    assert series == Series(quantity=LEVEL, at=(1.0, 2.0), values=(2.0, 4.0))


def test_what_is_counted_is_that_of_the_slices_ends() -> None:
    _, (series,) = sampled([probe(COUNT, 1, 2, 3, 4)], 2)
    assert series == Series(quantity=COUNT, at=(1.0, 2.0), values=(2.0, 4.0))


def test_slices_are_joined_until_the_time_for_a_moment_has_passed() -> None:
    rate = probe(SUM, 0, 10, 100, 130, 200, 250, 300, 301, 400, 402)
    _, (sums, levels) = sampled([rate, probe(LEVEL, *range(10))], 5, every=2.0)
    assert sums == Series(quantity=SUM, at=(2.0, 4.0, 5.0), values=(20.0, 25.5, 2.0))
    assert levels == Series(quantity=LEVEL, at=(2.0, 4.0, 5.0), values=(3.0, 7.0, 9.0))


def test_a_sum_that_shrank_was_begun_anew_and_gives_no_negative_rate() -> None:
    _, (series,) = sampled([probe(SUM, 100, 7, 8, 20)], 2)
    assert series.values == (0.0, 12.0)


def test_a_probe_that_fails_is_told_and_others_go_on() -> None:
    sampler, found = sampled([probe(SUM, 0, 1), probe(LEVEL, *range(9))], 3)
    assert sampler.trouble == "the server has gone away"
    assert {each.quantity: len(each.at) for each in found} == {SUM: 1, LEVEL: 3}
