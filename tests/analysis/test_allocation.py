"""Where the time that is left goes: to restarts or to rounds, and of which steps."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.allocation import LEAST_ROUNDS, Allocation, Bounds, Cost, Known, allocate

NOISY = Known(error=0.02**2 / 3, between=0.0, within=0.1**2)
QUIET = Known(error=0.002**2 / 3, between=0.0, within=0.01**2)
LUCKY = Known(error=0.02**2 / 3, between=0.02**2, within=0.01**2)


def _bounds(
    known: dict[str, Known], *, seconds: float = 1800.0, restarts: int = 1, wanted: float = 0.0
) -> Bounds:
    rounds = dict.fromkeys(known, 400)
    return Bounds(seconds=seconds, restarts=restarts, rounds=rounds, wanted=wanted)


def _chosen(
    known: dict[str, Known], *, restart: float = 20.0, restarts: int = 1, wanted: float = 0.0
) -> Allocation:
    cost = Cost(restart=restart, rounds=dict.fromkeys(known, 1.0))
    found = allocate(known, cost, 3, _bounds(known, restarts=restarts, wanted=wanted))
    assert found is not None
    return found


def test_the_step_whose_interval_is_widest_gets_the_time() -> None:
    found = _chosen({"noisy": NOISY, "quiet": QUIET})
    assert found.rounds["noisy"] > 10 * found.rounds["quiet"]


def test_steps_that_are_alike_are_treated_alike() -> None:
    rounds = _chosen({"one": NOISY, "two": NOISY}).rounds
    assert rounds["one"] == rounds["two"]


def test_where_rounds_differ_few_restarts_are_made_of_many_rounds() -> None:
    found = _chosen({"noisy": replace(NOISY, error=0.0)})
    assert found.rounds["noisy"] > 100
    assert found.restarts < 12


def test_where_restarts_differ_many_are_made_of_few_rounds() -> None:
    few = _chosen({"lucky": LUCKY}, restart=60.0)
    assert few.restarts > 15
    assert few.rounds["lucky"] < 20


def test_one_restart_has_as_many_rounds_as_kalibera_and_jones_say() -> None:
    # Without anything before, the best number of rounds is the root of the ratio of the costs
    # times that of the halfs, whatever the time.
    cost = Cost(restart=100.0, rounds={"step": 1.0})
    step = Known(error=0.0, between=0.01**2, within=0.05**2)
    found = allocate({"step": step}, cost, 0, _bounds({"step": step}, seconds=1e6))
    assert found is not None
    assert found.rounds["step"] == pytest.approx(math.sqrt(100 / 1 * 25), rel=0.15)


def test_what_is_wanted_is_reached_by_the_shortest_way() -> None:
    found = _chosen({"noisy": NOISY}, wanted=0.03)
    assert found.half <= 0.03
    assert found.seconds < 400


def test_there_are_as_many_restarts_as_a_verdict_needs() -> None:
    assert _chosen({"noisy": NOISY}, restarts=3, wanted=0.1).restarts == 3


def test_too_little_time_is_told() -> None:
    cost = Cost(restart=20.0, rounds={"step": 1.0})
    assert allocate({"step": NOISY}, cost, 3, _bounds({"step": NOISY}, seconds=23.0)) is None


_spreads = st.floats(0, 0.3).map(lambda spread: spread**2)
_steps = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.builds(Known, error=_spreads, between=_spreads, within=_spreads),
    min_size=1,
    max_size=6,
)


@given(
    known=_steps,
    restart=st.floats(0, 100),
    before=st.integers(3, 20),
    seconds=st.floats(10, 5000),
)
def test_the_time_is_kept_and_each_step_measured(
    known: dict[str, Known], restart: float, before: int, seconds: float
) -> None:
    cost = Cost(restart=restart, rounds=dict.fromkeys(known, 0.7))
    found = allocate(known, cost, before, _bounds(known, seconds=seconds))
    if found is not None:
        assert found.seconds <= seconds + 1e-6
        assert set(found.rounds) == set(known)
        assert min(found.rounds.values()) >= LEAST_ROUNDS


@given(known=_steps, seconds=st.floats(200, 5000))
def test_more_time_never_makes_the_widest_interval_wider(
    known: dict[str, Known], seconds: float
) -> None:
    cost = Cost(restart=10.0, rounds=dict.fromkeys(known, 0.7))
    less = allocate(known, cost, 3, _bounds(known, seconds=seconds))
    more = allocate(known, cost, 3, _bounds(known, seconds=2 * seconds))
    assert less is not None
    assert more is not None
    assert more.half <= less.half + 1e-9
