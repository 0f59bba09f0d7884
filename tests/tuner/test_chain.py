"""The name of a search's run says which search it is of and what it is for."""

from __future__ import annotations

import pytest

from dbhone.tuner.chain import Purpose, RunName, read_run_name, search_name


@pytest.mark.parametrize("purpose", Purpose)
def test_a_name_is_read_as_it_was_made(purpose: Purpose) -> None:
    name = RunName(search=search_name("0123abcdef"), purpose=purpose, number=12)
    assert str(name) == f"tune-0123abcdef-{purpose.value}-12"
    assert read_run_name(str(name)) == name


@pytest.mark.parametrize(
    "other",
    [
        "try",
        "tune",
        "tune-0123abcdef",
        "tune-0123abcdef-choose",
        "tune-0123abcdef-choose-",
        "tune-0123abcdef-measure-1",
        "tune-0123abcdef-choose-1-2",
        "/home/dba/tune-0123abcdef-choose-1",
        "tune-builds.toml",
    ],
)
def test_other_names_are_of_no_search(other: str) -> None:
    assert read_run_name(other) is None
