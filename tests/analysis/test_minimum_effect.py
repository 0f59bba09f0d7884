import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr

from dbhone.analysis.estimate import CONFIDENCE
from dbhone.analysis.multiplicity import findable, holm

_ALPHA = 1 - CONFIDENCE
_P = st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), min_size=1, max_size=30)


@given(_P, st.floats(1e-4, 1.0), st.floats(2, 40))
def test_the_distance_has_just_the_p_value_that_the_correction_asks(
    p: list[float], error: float, freedom: float
) -> None:
    adjusted = holm(np.array(p))
    found = findable(np.full(len(p), error), np.full(len(p), freedom), adjusted)
    left = max(int(np.count_nonzero(adjusted >= _ALPHA)), 1)
    known = ~np.isnan(adjusted)
    assert np.isnan(found[~known]).all()
    assert np.allclose(2 * stdtr(freedom, -found[known] / error), _ALPHA / left)


@given(_P, st.floats(2, 40))
def test_what_was_not_found_is_nearer_than_what_would_have_been(
    p: list[float], freedom: float
) -> None:
    values = np.array(p)
    adjusted = holm(values)
    found = findable(np.ones(len(p)), np.full(len(p), freedom), adjusted)
    reach = 2 * stdtr(freedom, -found)
    assert not (values < reach * (1 - 1e-6))[adjusted >= _ALPHA].any()


def test_it_is_larger_in_a_larger_family() -> None:
    alone, many = (findable(np.ones(size), np.full(size, 9.0), np.ones(size)) for size in (1, 300))
    assert many[0] > 1.5 * alone[0]
