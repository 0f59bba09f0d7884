"""What a postgresql.conf says, as the server would take it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms.base_settings import Origin
from dbhone.dbms.postgresql import Postgresql
from dbhone.errors import SettingsError

FILE = """\
# - Memory -
shared_buffers = 4GB\t\t# min 128kB
#work_mem = 4MB
Work_Mem 64MB
search_path = '"$user", public'
log_line_prefix = 'it''s %m [%p] # '   # a comment
escaped = 'a\\'b'
random_page_cost = 1.1
pg_stat_statements.max = 10000
work_mem = '32MB'
"""


def read(text: str) -> dict[str, str]:
    return {each.name: each.value for each in Postgresql().read_settings_file(text)}


def test_settings_are_read_with_and_without_a_sign_between() -> None:
    found = read(FILE)
    assert found["shared_buffers"] == "4GB"
    assert found["random_page_cost"] == "1.1"


def test_of_what_stands_twice_the_last_counts() -> None:
    assert read(FILE)["work_mem"] == "32MB"


def test_quotes_are_taken_off() -> None:
    found = read(FILE)
    assert found["search_path"] == '"$user", public'
    assert found["log_line_prefix"] == "it's %m [%p] # "
    assert found["escaped"] == "a'b"


def test_a_setting_of_an_extension_may_be_missing() -> None:
    assert read(FILE)["loose_pg_stat_statements.max"] == "10000"


def test_everything_is_known_to_be_from_a_file() -> None:
    assert {each.origin for each in Postgresql().read_settings_file(FILE)} == {Origin.FILE}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\ninclude_dir = 'conf.d'\n", "line 2: 'include_dir"),
        ("work_mem = 4 MB\n", "line 1: 'work_mem = 4 MB' is no setting"),
        ("work_mem\n", "line 1"),
        ("work_mem = 'open\n", "line 1"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read(text)


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1))
def test_what_hone_writes_it_reads(value: str) -> None:
    assert read(Postgresql().settings_file({"search_path": value})) == {"search_path": value}
