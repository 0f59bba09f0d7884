"""Lists of CPUs: read, and written as short as they can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.errors import UsageError
from dbhone.instance.cpu_list import cpu_list, parse_cpus


@given(st.frozensets(st.integers(0, 300), min_size=1))
def test_what_is_written_is_read_again(cpus: frozenset[int]) -> None:
    assert parse_cpus(cpu_list(cpus)) == cpus


@pytest.mark.parametrize(
    ("written", "shortest"),
    [("0", "0"), ("1,0", "0-1"), ("0-1,1-3", "0-3"), ("8, 0-2", "0-2,8"), ("5-5", "5")],
)
def test_equal_lists_have_one_spelling(written: str, shortest: str) -> None:
    assert cpu_list(parse_cpus(written)) == shortest


@pytest.mark.parametrize("text", ["", "a", "-1", "3-1", "0,", "0-", "1.5", "٣", "0-999999999"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no list of CPUs") as caught:
        parse_cpus(text)
    assert caught.value.hint is not None
