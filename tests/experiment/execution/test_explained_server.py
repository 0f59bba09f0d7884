"""What is made of a server's samples and of its answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.analysis.explained_rounds import Work
from dbhone.analysis.stacks import OTHER
from dbhone.dbms.base_server import load_server_dbms
from dbhone.errors import DriverError
from dbhone.experiment.execution.explained_server import calls_of, check_samples, split
from dbhone.measurement.stack_sampling import StackFrame, StackSample


def test_waiting_is_of_the_module_that_waits() -> None:
    program = Path("/opt/mysql/bin/mysqld")
    names = ("ut_delay", "", "log_wait_for_flush", "trx_commit")
    frames = tuple(StackFrame(name, str(program)) for name in names)
    sample = StackSample(at=0.0, frames=frames)
    calls = calls_of(sample, load_server_dbms("mysql"), program.parents[1])
    log, transactions = "InnoDB's log", "InnoDB's transactions"
    assert [call.module for call in calls] == [log, OTHER, log, transactions]


def test_waits_are_of_sessions_or_of_the_servers_other_threads() -> None:
    waits = split({"IO:WALSync": 0.5, "background IO:WALSync": 0.25, "background IO:WALWrite": 0.1})
    assert waits.sessions == {"IO:WALSync": 0.5}
    assert waits.background == {"IO:WALSync": 0.25, "IO:WALWrite": 0.1}


@pytest.mark.parametrize(
    ("work", "why"),
    [(Work.OPERATION, "the server is almost idle"), (Work.RUN, "the batch is too short")],
)
def test_a_round_with_too_few_samples_is_refused_with_what_was_too_little(
    work: Work, why: str
) -> None:
    check_samples((20, 200), work)
    with pytest.raises(DriverError, match=why) as refused:
        check_samples((200, 19), work)
    assert "--seconds" in (refused.value.hint or "")
