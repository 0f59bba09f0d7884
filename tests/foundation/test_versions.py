"""Versions by age, and in texts that name them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.versions import age, names_version, numbers


@given(st.permutations(["5.7.9", "5.7.10", "8.0", "8.0.0-dmr", "8.0.0", "8.0.11", "10.1"]))
def test_age_sorts_numbers_as_numbers_and_what_came_before_a_release_before_it(
    names: list[str],
) -> None:
    assert sorted(names, key=age) == [
        *("5.7.9", "5.7.10", "8.0", "8.0.0-dmr", "8.0.0", "8.0.11", "10.1")
    ]


def test_ten_comes_after_nine() -> None:
    assert numbers("8.0.9") < numbers("8.0.12") < numbers("10.1") < numbers("18")


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ("10.11.18", True),
        ("10.11.1", False),
        ("10.11", False),
        ("0.11.18", False),
        ("11.18", False),
    ],
)
def test_a_part_of_a_version_is_another_version(version: str, named: bool) -> None:
    text = "deb:mariadb-test=1:10.11.18-0+deb12u1,libpcre2-posix3=10.42-1"
    assert names_version(text, version) is named
    assert names_version(f"git:https://host/server@mariadb-{version}", version)
