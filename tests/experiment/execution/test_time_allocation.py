"""For how long each set is asked once some blocks have told which are hard to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dbhone.experiment.execution.time_allocation import TimeAllocation, allocate_time
from dbhone.measurement.record import Design, Sliced
from tests.measurement.store_records import a_slice

SUBJECTS = ("base", "pgo")
DESIGN = Design(seed=1, target=0.0001, budget_seconds=3600.0, min_blocks=6, max_blocks=100)
ROUNDS, SLICE = 16, 0.25


def _sliced(blocks: int, spreads: Mapping[str, float]) -> list[Sliced]:
    """Make blocks of sets whose slices differ by so much; a round takes 0.6 s."""
    rng = np.random.default_rng(3)
    return [
        Sliced(
            block=block,
            set=name,
            subject=subject,
            slices=tuple(
                replace(
                    a_slice(number, counted=number > 0),
                    began=number * 0.6 + position * 0.3,
                    seconds=SLICE,
                    operations=round(1000 * float(np.exp(rng.normal(0, spread)))),
                    errors=0,
                )
                for number in range(ROUNDS)
            ),
        )
        for block in range(blocks)
        for name, spread in spreads.items()
        for position, subject in enumerate(SUBJECTS)
    ]


def _perhaps_allotted(
    sliced: list[Sliced],
    *,
    left: float = 1800.0,
    design: Design = DESIGN,
    block_seconds: float = 50.0,
    events: Mapping[str, int] | None = None,
) -> TimeAllocation | None:
    usual = dict.fromkeys(("noisy", "quiet", "scan"), ROUNDS * SLICE)
    return allocate_time(
        sliced,
        SUBJECTS,
        usual,
        design,
        layouts=0,
        events=events or {},
        block_seconds=block_seconds,
        left=left,
    )


def _allotted(sliced: list[Sliced], **given: Any) -> TimeAllocation:
    found = _perhaps_allotted(sliced, **given)
    assert found is not None
    return found


def test_a_set_that_is_hard_to_tell_is_asked_for_longer() -> None:
    found = _allotted(_sliced(4, {"noisy": 0.2, "quiet": 0.01}))
    assert found.seconds["noisy"] > ROUNDS * SLICE > found.seconds["quiet"]


def test_no_set_is_asked_for_less_than_two_seconds() -> None:
    found = _allotted(_sliced(4, {"noisy": 0.2, "quiet": 0.0001}))
    assert found.seconds["quiet"] == 2.0


def test_no_set_is_asked_for_more_than_eight_times_as_long_as_usual() -> None:
    found = _allotted(_sliced(4, {"noisy": 0.5}), block_seconds=10_000.0, left=100_000.0)
    assert max(found.seconds.values()) == 8 * ROUNDS * SLICE


def test_no_set_is_asked_for_longer_than_its_events_last() -> None:
    sliced = _sliced(4, {"noisy": 0.1})
    found = _allotted(sliced, events={"noisy": 30_000}, block_seconds=10_000.0, left=100_000.0)
    # A slice has about a thousand of them.
    assert found.seconds["noisy"] == pytest.approx(30 * SLICE, rel=0.1)


def test_where_events_are_few_the_suites_own_time_stands() -> None:
    found = _allotted(_sliced(4, {"noisy": 0.2}), events={"noisy": 500})
    assert found.seconds["noisy"] == ROUNDS * SLICE


def test_a_block_takes_what_its_rounds_and_its_start_take() -> None:
    found = _allotted(_sliced(4, {"noisy": 0.2, "quiet": 0.01}))
    # Two invocations of 16 rounds took about 19 of the 50 seconds; the rest was the start.
    rounds = sum(found.seconds.values()) / SLICE
    assert found.block_seconds == pytest.approx(50 - 19 + rounds * 0.6, rel=0.05)


def test_a_target_that_is_near_makes_blocks_short() -> None:
    sliced = _sliced(4, {"noisy": 0.2, "quiet": 0.01})
    far, near = _allotted(sliced), _allotted(sliced, design=replace(DESIGN, target=0.2))
    assert near.block_seconds < far.block_seconds


def test_the_blocks_that_a_verdict_needs_have_room() -> None:
    found = _allotted(_sliced(3, {"noisy": 0.3}), left=200.0)
    assert 3 * found.block_seconds <= 200.0


def test_sets_that_are_not_sliced_stay_as_they_are() -> None:
    found = _allotted(_sliced(4, {"noisy": 0.2}))
    assert set(found.seconds) == {"noisy"}


@pytest.mark.parametrize(("blocks", "left"), [(0, 1800.0), (2, 1800.0), (4, 10.0)])
def test_too_little_known_or_too_little_time_changes_nothing(blocks: int, left: float) -> None:
    assert _perhaps_allotted(_sliced(blocks, {"noisy": 0.2}), left=left) is None


def test_a_trial_of_which_nothing_counts_is_passed_over() -> None:
    sliced = _sliced(4, {"noisy": 0.2})
    failed = [
        replace(each, block=4, slices=tuple(replace(one, counted=False) for one in each.slices))
        for each in sliced[:2]
    ]
    assert _allotted([*sliced, *failed]) == _allotted(sliced)
