"""The sampler reads while something else runs, and never fails it."""

from __future__ import annotations

import threading

from dbhone.errors import ServerError
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.series import Quantity, Readings, SeriesKind

LEVEL = Quantity(name="level", unit="1", kind=SeriesKind.LEVEL)
OTHER = Quantity(name="other", unit="1", kind=SeriesKind.LEVEL)
PATIENCE = 60.0


class Probe:
    """Counts how often it was asked, and tells when that was often enough."""

    def __init__(self, quantity: Quantity, *, enough: int, fails_at: int = 0) -> None:
        self.asked = 0
        self.enough = threading.Event()
        self._quantity, self._enough, self._fails_at = quantity, enough, fails_at

    def __call__(self) -> Readings:
        self.asked += 1
        if self.asked >= self._enough:
            self.enough.set()
        if self.asked == self._fails_at:
            raise ServerError("the server has gone away")
        return {self._quantity: float(self.asked)}


def test_it_reads_at_growing_moments_until_it_is_left() -> None:
    probe = Probe(LEVEL, enough=3)
    sampler = Sampler([probe], every=0.01)
    with sampler.running():
        assert probe.enough.wait(PATIENCE)
    asked = probe.asked
    (series,) = sampler.series()
    assert len(series.at) == asked >= 3
    assert list(series.at) == sorted(set(series.at))
    assert series.values == tuple(float(each) for each in range(1, asked + 1))
    assert sampler.trouble is None
    assert "dbhone-sampler" not in {each.name for each in threading.enumerate()}


def test_a_probe_that_fails_is_told_and_asked_no_more_while_others_go_on() -> None:
    failing, sound = Probe(LEVEL, enough=2, fails_at=2), Probe(OTHER, enough=4)
    sampler = Sampler([failing, sound], every=0.01)
    with sampler.running():
        assert sound.enough.wait(PATIENCE)
    assert sampler.trouble == "the server has gone away"
    assert failing.asked == 2
    first, second = sampler.series()
    assert (first.quantity, first.values) == (LEVEL, (1.0,))
    assert second.quantity == OTHER
    assert len(second.values) >= 4


def test_a_failure_without_a_message_is_told_by_its_kind() -> None:
    asked = threading.Event()

    def fail() -> Readings:
        asked.set()
        raise TimeoutError

    sampler = Sampler([fail], every=30.0)
    with sampler.running():
        assert asked.wait(PATIENCE)
    assert sampler.trouble == "TimeoutError"


def test_what_it_watches_may_fail_and_the_sampler_ends_with_it() -> None:
    probe = Probe(LEVEL, enough=1)
    sampler = Sampler([probe], every=30.0)
    try:
        with sampler.running():
            assert probe.enough.wait(PATIENCE)
            raise ServerError("it crashed")
    except ServerError as error:
        assert error.message == "it crashed"
    assert "dbhone-sampler" not in {each.name for each in threading.enumerate()}
    assert len(sampler.series()) == 1
