import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.analysis.multiplicity import holm

family = st.lists(st.floats(1e-12, 1), min_size=1, max_size=30)


def test_holm_by_hand() -> None:
    found = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_what_was_not_tested_does_not_count() -> None:
    found = holm(np.array([0.01, np.nan, 0.02]))
    assert found[0] == pytest.approx(0.02)
    assert np.isnan(found[1])
    assert found[2] == pytest.approx(0.02)


@given(family)
def test_adjusted_lies_between_p_and_bonferroni(values: list[float]) -> None:
    p = np.array(values)
    found = holm(p)
    assert (found >= p).all()
    assert (found <= np.minimum(p * len(p), 1) * (1 + 1e-12)).all()


@given(family)
def test_order_of_p_values_is_kept(values: list[float]) -> None:
    found = holm(np.array(values))
    assert (np.diff(found[np.argsort(values, kind="stable")]) >= 0).all()
