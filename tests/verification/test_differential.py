"""Generated queries: what counts as an answer."""

from __future__ import annotations

from typing import Any, cast

from dbhone.instance.client import Client, RejectedQueryError
from dbhone.instance.server import Server
from dbhone.verification.checks.sqlsmith import PLUGIN
from dbhone.verification.differential import QueryRun
from dbhone.verification.outcome import Status


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
