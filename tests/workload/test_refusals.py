"""What is told of statements that a server refuses and the original did not."""

from __future__ import annotations

from dbhone.workload.drivers._refusals import refusals_in_words
from dbhone.workload.drivers.replay import PLUGIN
from dbhone.workload.workload_file import Template


def template(*pieces: str) -> Template:
    return Template(
        pieces=pieces, kind="text", executions=1, microseconds=0, errors=0, inexact=False
    )


TEMPLATES = (
    template("INSERT INTO child VALUES (", ")"),
    template("SELECT * FROM shop.gone WHERE id = ", ""),
    template("UPDATE item SET name = ", ""),
    template("DELETE FROM other"),
)
PRINTED = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

answer 1 1 abc
refused 1 1146 Table 'sbtest.gone' doesn't exist
answer 2 failed 1146
refused 0 23503 insert or update on table "child" violates foreign key constraint "secret"
answer 3 failed 23503
refused 0 23503 insert or update on table "child" violates foreign key constraint "secret"
answer 4 failed 23503
verified
"""


def test_the_most_frequent_error_is_told_first_with_its_statement_and_a_known_cause() -> None:
    told = refusals_in_words(PRINTED, TEMPLATES)
    assert told is not None
    assert told.startswith(
        "3 statements that the original executed: 2 × error 23503, insert or update on table"
        ' "child" violates foreign key constraint "…" (where the server makes keys'
    )
    assert "in: INSERT INTO child VALUES (?); 1 × error 1146, Table 'sbtest.gone'" in told


def test_no_value_is_told() -> None:
    line = "refused 2 1062 Duplicate entry 'secret' for key 'item.name'\n"
    told = refusals_in_words(line, TEMPLATES)
    assert told is not None
    assert "Duplicate entry '…' for key 'item.name'" in told


def test_where_nothing_was_refused_nothing_is_told() -> None:
    assert refusals_in_words("answer 1 1 abc\nanswer 2 failed 1146\nverified\n", TEMPLATES) is None


def test_what_was_refused_is_no_answer_of_its_own() -> None:
    assert list(PLUGIN.answers(PRINTED)) == ["answer 1", "answer 2", "answer 3", "answer 4"]
