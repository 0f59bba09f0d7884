"""Families of comparisons: each is corrected on its own, over whatever tables it is in."""

from __future__ import annotations

import numpy as np
import pytest

from dbhone.analysis.estimate import Estimates, estimate
from dbhone.analysis.multiplicity import Family, Rows, holm, judge
from dbhone.measurement.sample_array import Logs


def _estimates(*centres: float, blocks: int = 8) -> Estimates:
    noise = np.random.default_rng(4).normal(0, 0.01, (len(centres), blocks))
    return estimate(Logs.without_rounds(noise + np.array(centres)[:, None]))


def test_each_family_is_corrected_on_its_own() -> None:
    rows = _estimates(0.02, 0.01, 0.03, 0.0)
    families = (Family.STEPS, Family.CONTROL, Family.STEPS, Family.CONTROL)
    (found,) = judge([Rows(estimates=rows, families=families)])
    assert found.adjusted[[0, 2]] == pytest.approx(holm(rows.p[[0, 2]]))
    assert found.adjusted[[1, 3]] == pytest.approx(holm(rows.p[[1, 3]]))


def test_a_family_may_be_in_several_tables() -> None:
    one, two = _estimates(0.02, 0.0), _estimates(0.01, 0.03, 0.0)
    tables = [
        Rows(estimates=one, families=(Family.CONTROL,) * 2),
        Rows(estimates=two, families=(Family.CONTROL,) * 3),
    ]
    first, second = judge(tables)
    together = holm(np.concatenate([one.p, two.p]))
    assert np.concatenate([first.adjusted, second.adjusted]) == pytest.approx(together)


def test_what_has_too_few_blocks_takes_no_part() -> None:
    many, few = _estimates(0.01, 0.02), _estimates(0.5, blocks=4)
    family = Family.STEPS
    alone = judge([Rows(estimates=many, families=(family, family))])[0]
    beside, left_out = judge(
        [
            Rows(estimates=many, families=(family, family)),
            Rows(estimates=few, families=(family,)),
        ]
    )
    assert beside.adjusted == pytest.approx(alone.adjusted)
    assert np.isnan(left_out.adjusted).all()
    assert np.isnan(left_out.findable).all()


def test_a_table_may_be_empty() -> None:
    rows = Rows(estimates=_estimates(0.02), families=(Family.STEPS,))
    nothing = Rows(estimates=_estimates(), families=())
    found, none = judge([rows, nothing])
    assert found.adjusted == pytest.approx(rows.estimates.p)
    assert none.adjusted.size == 0
