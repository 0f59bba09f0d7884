"""Versions by age."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dbhone.versions import age


@given(st.permutations(["5.7.9", "5.7.10", "8.0", "8.0.0-dmr", "8.0.0", "8.0.11", "10.1"]))
def test_age_sorts_numbers_as_numbers_and_what_came_before_a_release_before_it(
    names: list[str],
) -> None:
    assert sorted(names, key=age) == [
        *("5.7.9", "5.7.10", "8.0", "8.0.0-dmr", "8.0.0", "8.0.11", "10.1")
    ]
