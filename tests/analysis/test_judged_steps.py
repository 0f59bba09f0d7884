"""By which steps subjects are judged, corrected and chosen: the same ones everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dbhone.analysis.judged_steps import judged_steps
from dbhone.analysis.selection import block_scores
from dbhone.analysis.verdict import overall
from dbhone.measurement.record import Group
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import analysed, noisy, samples, steps_of

_TRAINED = {"0": True, "1": True}
_STEPS = steps_of("012", in_sample=_TRAINED)


def _measured(*, held_out: bool = True) -> SampleArray:
    """Return a base and b in three steps, of which the last is held out."""
    values = noisy(9, (2, 3, 12), (1.0, 1.01))
    if not held_out:
        values[1, 2] = np.nan
    return samples(values)


def _names(of: SampleArray) -> list[str]:
    return [step.name for step in judged_steps(of, "a", _STEPS)]


def test_they_are_held_out_as_far_as_any_of_these_was_compared() -> None:
    assert _names(_measured()) == ["2"]
    assert _names(_measured(held_out=False)) == ["0", "1"]


def test_they_are_those_that_were_declared_where_nothing_was_compared() -> None:
    assert _names(samples(noisy(9, (1, 3, 12), (1.0,)))) == ["2"]
    assert [step.name for step in judged_steps(_measured(), "absent", _STEPS)] == ["2"]


def test_they_are_no_parts() -> None:
    of = replace(_measured(), steps=("0", "1", "1/part"))
    part = replace(_STEPS[2], set="1", key="part")
    found = judged_steps(of, "a", (*_STEPS[:2], part))
    assert [step.name for step in found] == ["0", "1"]


def test_who_is_judged_in_sample_is_corrected_as_judged_and_chosen_by_the_same() -> None:
    of = _measured(held_out=False)
    found = analysed(of, in_sample=_TRAINED, groups={"0": Group.POINT, "1": Group.WRITE})
    score = overall(found, "b")
    assert score is not None
    assert score.in_sample
    # It is the only one of its family.
    assert score.p_adjusted == score.p_value
    assert not np.isnan(block_scores(of, "a", _STEPS)["b"]).any()
