"""What earlier sessions' trials show of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dbhone.experiment.target.earlier_trials import earlier_trials
from dbhone.measurement.record import Sliced
from tests.measurement.store_records import a_slice

NAMES = ("old", "new")
STEADY = [1000, 1010, 990, 1005, 995, 1000, 1008, 992, 1003]


def trial(
    operations: Sequence[int],
    *,
    block: int = 0,
    set_name: str = "scan",
    tried: int = 0,
    seconds: float = 0.5,
    counted: bool = True,
) -> list[Sliced]:
    """Return a trial whose rounds ended so many operations in half a second.

    The first ``tried`` had slices of half a second, the others of ``seconds``.
    """
    return [
        Sliced(
            block=block,
            set=set_name,
            subject=name,
            slices=tuple(
                replace(
                    a_slice(number, counted=counted and number >= tried),
                    seconds=0.5 if number < tried else seconds,
                    operations=count if number < tried else round(count * seconds / 0.5),
                )
                for number, count in enumerate(operations)
            ),
        )
        for name in NAMES
    ]


def test_the_rounds_that_seemed_unsettled_are_known_of_each_trial() -> None:
    warming_up = [100, 300, *STEADY]
    sliced = [*trial(STEADY, block=0), *trial(warming_up, block=1)]
    assert earlier_trials(sliced)["scan"].unsettled == (0, 2)


@pytest.mark.parametrize("seconds", [0.3, 0.7])
def test_rounds_that_were_only_tried_are_none_of_them(seconds: float) -> None:
    sliced = trial([100, *STEADY], tried=1, seconds=seconds)
    found = earlier_trials(sliced)["scan"]
    assert found.unsettled == (0,)
    assert found.slice_seconds == seconds


def test_the_usual_slice_is_as_long_as_in_the_last_trial() -> None:
    sliced = [*trial(STEADY, block=1, seconds=1.5), *trial(STEADY, block=0)]
    assert earlier_trials(sliced)["scan"].slice_seconds == 1.5


def test_a_subject_that_failed_changes_nothing() -> None:
    old, new = trial([100, *STEADY])
    failed = Sliced(block=0, set="scan", subject="new", slices=new.slices[:2])
    assert earlier_trials([old, failed])["scan"].unsettled == (1,)


def test_sets_are_told_apart_and_a_trial_of_which_nothing_counts_is_none() -> None:
    sliced = [
        *trial(STEADY, set_name="scan"),
        *trial([100, *STEADY], set_name="point"),
        *trial(STEADY, set_name="stalled", counted=False),
    ]
    found = earlier_trials(sliced)
    assert {name: trials.unsettled for name, trials in found.items()} == {
        "scan": (0,),
        "point": (1,),
    }
