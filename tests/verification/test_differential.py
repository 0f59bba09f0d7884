"""Generated queries: what counts as an answer."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dbhone import process
from dbhone.errors import DriverError
from dbhone.instance.client import Client, RejectedQueryError
from dbhone.instance.server import Server
from dbhone.verification.checks.sqlsmith import PLUGIN
from dbhone.verification.differential import Queries, QueryRun
from dbhone.verification.outcome import SERVER, ListResult, Status, compare
from tests.verification.outcomes import results


class Rejecting:
    """A client whose server rejects every query, and a server that continues."""

    def ask(self, question: str) -> None:
        raise RejectedQueryError("statement timeout" if "slow" in question else "no such operator")

    def check(self) -> None:
        """Nothing is wrong with the server."""


def test_an_error_is_an_answer_in_the_server_s_own_words() -> None:
    run = QueryRun(check=PLUGIN, list=PLUGIN.lists[0], harness=cast("Any", None))
    both = Rejecting()
    wrong, slow = run._ask(cast("Client", both), cast("Server", both), ("select 1", "select slow"))
    assert (wrong.status, wrong.answer) == (Status.PASSED, "no such operator")
    assert slow.status is Status.UNDECIDED


RIGHT = ("1 row, a", Status.PASSED)
WRONG = ("1 row, b", Status.PASSED)
OTHERWISE = ("1 row, c", Status.PASSED)
LATE = ("statement timeout", Status.UNDECIDED)


def answered(*answers: tuple[str, Status], crash: bool = False) -> ListResult:
    """Return the answers to as many queries, and whether the server lived on."""
    named = {f"query {number}": answer for number, answer in enumerate(answers, start=1)}
    statuses = {name: status for name, (_, status) in named.items()}
    ended = {SERVER: Status.FAILED if crash else Status.PASSED}
    texts = {name: answer for name, (answer, _) in named.items()}
    return results(statuses | ended, answers=texts)


@pytest.mark.parametrize(
    ("first", "second", "failed", "undecided"),
    [
        (answered(RIGHT, RIGHT), None, [], ()),
        (answered(RIGHT, LATE), None, [], ("query 2",)),
        (answered(WRONG, RIGHT), answered(RIGHT, RIGHT), ["query 1"], ()),
        (answered(WRONG, RIGHT), answered(OTHERWISE, RIGHT), ["query 1"], ()),
        (answered(WRONG, RIGHT), answered(LATE, RIGHT), ["query 1"], ()),
        (answered(WRONG, RIGHT), answered(RIGHT, OTHERWISE), ["query 1", "query 2"], ()),
        (answered(LATE, WRONG), answered(RIGHT, RIGHT), ["query 2"], ("query 1",)),
        (answered(RIGHT, crash=True), answered(RIGHT, RIGHT), ["query 2", SERVER], ()),
        (answered(RIGHT, WRONG), answered(RIGHT, crash=True), ["query 2", SERVER], ()),
    ],
    ids=[
        "right",
        "none in time",
        "then right",
        "wrong in two ways",
        "then none in time",
        "then another wrong",
        "none in time, then right",
        "a crash, then right",
        "then none since it crashed",
    ],
)
def test_a_wrong_answer_in_either_attempt_counts(
    first: ListResult,
    second: ListResult | None,
    failed: list[str],
    undecided: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = iter([first] if second is None else [first, second])
    monkeypatch.setattr(QueryRun, "_answers", lambda *_: next(runs))
    run = QueryRun(check=PLUGIN, list=PLUGIN.lists[0], harness=cast("Any", None))
    queries = Queries(texts=("select 1", "select 2"), base=answered(RIGHT, RIGHT))
    compared = compare(queries.base, run._answers_twice(cast("Any", None), queries))
    assert [failure.test for failure in compared.failures] == failed
    assert compared.undecided == undecided
    assert next(runs, None) is None


def test_queries_of_a_generator_that_did_not_end_well_are_no_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broke_off = process.Finished(
        status=-signal.SIGSEGV,
        seconds=1.0,
        cpu_seconds=0.0,
        output=b"select 1;\nlost connection\n",
        timed_out=False,
        overflowed=False,
    )
    monkeypatch.setattr(process, "run", lambda _: broke_off)
    endpoint = SimpleNamespace(socket=Path("/run/s"), port=1, user="u", database="d")
    server = cast("Any", SimpleNamespace(endpoint=endpoint, place=SimpleNamespace(tenant=None)))
    run = QueryRun(check=PLUGIN, list=PLUGIN.lists[0], harness=cast("Any", None))
    with pytest.raises(DriverError, match="sqlsmith was ended by SIGSEGV: lost connection"):
        run._generate(server)
