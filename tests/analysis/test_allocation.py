"""Where the time that is left goes, by what differs between blocks and between their rounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.allocation import (
    LEAST_ROUNDS,
    Allocation,
    BlockCost,
    Limits,
    VarianceComponents,
    allocate,
    variance_components,
)
from dbhone.measurement.sample_array import Array

NOISY = VarianceComponents(error=0.02**2 / 3, between=0.0, within=0.1**2)
QUIET = VarianceComponents(error=0.002**2 / 3, between=0.0, within=0.01**2)
LUCKY = VarianceComponents(error=0.02**2 / 3, between=0.02**2, within=0.01**2)


def _limits(
    components: dict[str, VarianceComponents],
    *,
    seconds: float = 1800.0,
    blocks: int = 1,
    wanted: float = 0.0,
) -> Limits:
    least, most = (dict.fromkeys(components, rounds) for rounds in (LEAST_ROUNDS, 400))
    return Limits(seconds=seconds, blocks=blocks, least=least, most=most, wanted=wanted)


def _chosen(
    components: dict[str, VarianceComponents],
    *,
    start: float = 20.0,
    blocks: int = 1,
    wanted: float = 0.0,
) -> Allocation:
    cost = BlockCost(start=start, rounds=dict.fromkeys(components, 1.0))
    found = allocate(components, cost, 3, _limits(components, blocks=blocks, wanted=wanted))
    assert found is not None
    return found


def test_the_step_whose_interval_is_widest_gets_the_time() -> None:
    found = _chosen({"noisy": NOISY, "quiet": QUIET})
    assert found.rounds["noisy"] > 10 * found.rounds["quiet"]


def test_blocks_that_would_tell_nothing_new_are_not_worth_their_starts() -> None:
    cost = BlockCost(start=20.0, rounds={"lucky": 1.0})
    limits = _limits({"lucky": LUCKY})
    free = allocate({"lucky": LUCKY}, cost, 3, limits)
    limited = allocate({"lucky": LUCKY}, cost, 3, replace(limits, useful_blocks=5))
    assert free is not None
    assert limited is not None
    assert free.blocks > 5
    assert limited.blocks <= 5


def test_steps_that_are_alike_are_treated_alike() -> None:
    rounds = _chosen({"one": NOISY, "two": NOISY}).rounds
    assert rounds["one"] == rounds["two"]


def test_where_rounds_differ_few_blocks_are_made_of_many_rounds() -> None:
    found = _chosen({"noisy": replace(NOISY, error=0.0)})
    assert found.rounds["noisy"] > 100
    assert found.blocks < 12


def test_where_blocks_differ_many_are_made_of_few_rounds() -> None:
    few = _chosen({"lucky": LUCKY}, start=60.0)
    assert few.blocks > 15
    assert few.rounds["lucky"] < 20


def test_one_block_has_as_many_rounds_as_kalibera_and_jones_say() -> None:
    # Without anything before, the best number of rounds is the root of the ratio of the costs
    # times that of the halfs, whatever the time.
    cost = BlockCost(start=100.0, rounds={"step": 1.0})
    step = VarianceComponents(error=0.0, between=0.01**2, within=0.05**2)
    found = allocate({"step": step}, cost, 0, _limits({"step": step}, seconds=1e6))
    assert found is not None
    assert found.rounds["step"] == pytest.approx(math.sqrt(100 / 1 * 25), rel=0.15)


def test_what_is_wanted_is_reached_by_the_shortest_way() -> None:
    found = _chosen({"noisy": NOISY}, wanted=0.03)
    assert found.half <= 0.03
    assert found.seconds < 400


def test_there_are_as_many_blocks_as_a_verdict_needs() -> None:
    assert _chosen({"noisy": NOISY}, blocks=3, wanted=0.1).blocks == 3


def test_too_little_time_is_told() -> None:
    cost = BlockCost(start=20.0, rounds={"step": 1.0})
    assert allocate({"step": NOISY}, cost, 3, _limits({"step": NOISY}, seconds=23.0)) is None


_spreads = st.floats(0, 0.3).map(lambda spread: spread**2)
_steps = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.builds(VarianceComponents, error=_spreads, between=_spreads, within=_spreads),
    min_size=1,
    max_size=6,
)


@given(
    components=_steps,
    start=st.floats(0, 100),
    before=st.integers(3, 20),
    seconds=st.floats(10, 5000),
)
def test_the_time_is_kept_and_each_step_measured(
    components: dict[str, VarianceComponents], start: float, before: int, seconds: float
) -> None:
    cost = BlockCost(start=start, rounds=dict.fromkeys(components, 0.7))
    found = allocate(components, cost, before, _limits(components, seconds=seconds))
    if found is not None:
        assert found.seconds <= seconds + 1e-6
        assert set(found.rounds) == set(components)
        assert min(found.rounds.values()) >= LEAST_ROUNDS


@given(components=_steps, seconds=st.floats(200, 5000))
def test_more_time_never_makes_the_widest_interval_wider(
    components: dict[str, VarianceComponents], seconds: float
) -> None:
    cost = BlockCost(start=10.0, rounds=dict.fromkeys(components, 0.7))
    less = allocate(components, cost, 3, _limits(components, seconds=seconds))
    more = allocate(components, cost, 3, _limits(components, seconds=2 * seconds))
    assert less is not None
    assert more is not None
    assert more.half <= less.half + 1e-9


def _blocks(
    count: int, rounds: int, *, between: float, within: float, subjects: int = 3
) -> list[Array]:
    """Make blocks whose levels and slices have these standard deviations."""
    rng = np.random.default_rng(7)
    drift = rng.normal(0, 0.2, (count, rounds, 1))
    luck = rng.normal(0, between, (count, 1, subjects))
    return list(8 + drift + luck + rng.normal(0, within, (count, rounds, subjects)))


def test_variances_between_blocks_and_within_are_told_apart() -> None:
    found = variance_components(_blocks(400, 20, between=0.03, within=0.05))
    assert found is not None
    # Of a ratio, which two subjects have a part in.
    assert found.between == pytest.approx(2 * 0.03**2, rel=0.15)
    assert found.within == pytest.approx(2 * 0.05**2, rel=0.15)
    assert found.error == pytest.approx((2 * 0.03**2 + 2 * 0.05**2 / 20) / 400, rel=0.15)


def test_rounds_alone_leave_nothing_between_blocks() -> None:
    found = variance_components(_blocks(400, 20, between=0.0, within=0.05))
    assert found is not None
    assert found.between < 0.1 * found.within / 20


def test_blocks_may_have_different_numbers_of_rounds() -> None:
    many = _blocks(200, 40, between=0.0, within=0.05)
    few = _blocks(200, 8, between=0.0, within=0.05)
    found = variance_components([*many, *few])
    assert found is not None
    assert found.within == pytest.approx(2 * 0.05**2, rel=0.15)


@pytest.mark.parametrize(
    "blocks",
    [
        _blocks(2, 20, between=0.0, within=0.05),
        _blocks(5, 3, between=0.0, within=0.05),
        _blocks(5, 20, between=0.0, within=0.05, subjects=1),
    ],
)
def test_too_few_blocks_rounds_or_subjects_tell_no_variances(blocks: list[Array]) -> None:
    assert variance_components(blocks) is None


def test_a_block_without_slices_of_a_subject_is_passed_over() -> None:
    whole = _blocks(3, 20, between=0.0, within=0.05)
    broken = whole[0].copy()
    broken[:, 2] = np.nan
    assert variance_components([*whole, broken]) == variance_components(whole)
