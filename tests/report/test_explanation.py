"""What is said of two servers' sampled stacks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dbhone.analysis.explained_rounds import Call, CodeOrigin, Round, Waits, Work
from dbhone.report.explanation import Explanation, difference_folded, explanation, speedscope
from dbhone.report.flame import explanation_page
from dbhone.report.table import plain

SCAN = Call(CodeOrigin.OWN, "executor", "ExecScan")
INSERT = Call(CodeOrigin.OWN, "WAL", "XLogFlush")
SYNC = Call(CodeOrigin.KERNEL, "kernel: fdatasync", "fdatasync")


def rounds(synced: int, waits: Waits | None = None) -> list[Round]:
    return [
        Round(
            operations=1000,
            seconds=1.0,
            cpu=0.2 + synced / 1000,
            client=0.1,
            stacks={(SCAN,): 200 + noise, (SYNC, INSERT): synced},
            waits=waits,
        )
        for noise in range(4)
    ]


def said_of(
    base: list[Round], subject: list[Round], step: str = "update", **how: Any
) -> Explanation:
    """Return what is said of the servers rel and nosync."""
    usual: dict[str, Any] = {"work": Work.OPERATION, "kinds": (), "settings": {}}
    usual |= {"threads": 1, "cores": 2}
    return explanation(step, ("rel", "nosync"), (base, subject), **(usual | how))


def test_what_differs_is_named_with_its_function_and_caller() -> None:
    said = said_of(rounds(400), rounds(1))
    (first,) = [it for it in said.sentences if it.startswith("Kernel: fdatasync")]
    assert "µs less for an operation of nosync, most in fdatasync, called by XLogFlush" in first
    assert "at most" in said.sentences[-1]
    parts, modules, functions = said.tables
    assert next(row.cells[0].text for row in parts.rows) == "The server's own code"
    assert "Kernel: fdatasync" in {row.cells[0].text for row in modules.rows}
    heads = [plain(row.cells[0]) for row in functions.rows if row.heading]
    assert heads[0] == "kernel: fdatasync"


@pytest.mark.parametrize(
    ("callers", "named"),
    [
        (("issue_xlog_fsync", "XLogFlush"), ", called by issue_xlog_fsync."),
        (("fdatasync", "issue_xlog_fsync"), ", called by issue_xlog_fsync."),
        (("", "XLogFlush"), "."),
    ],
    ids=["two callers", "libc's wrapper", "unknown caller"],
)
def test_the_caller_is_the_innermost_that_is_not_the_functions_wrapper(
    callers: tuple[str, str], named: str
) -> None:
    above = tuple(Call(CodeOrigin.OWN, "WAL", name) for name in callers)
    base, subject = (
        [replace(it, stacks={(SCAN,): 200, (SYNC, *above): synced}) for it in rounds(synced)]
        for synced in (400, 1)
    )
    said = said_of(base, subject)
    (first,) = [it for it in said.sentences if it.startswith("Kernel: fdatasync")]
    assert first.endswith(f", most in fdatasync{named}")


def test_equal_servers_have_no_tables_of_differences() -> None:
    said = said_of(rounds(5), rounds(5), threads=4)
    assert len(said.tables) == 1


def test_what_an_operation_waits_for_is_told_by_the_dbms_events() -> None:
    waits = [
        Waits(sessions={"wait/io/file/log": log}, background={"wait/io/file/page": 0.3 - log / 2})
        for log in (0.3, 0.1)
    ]
    both = (rounds(5, waits[0]), rounds(5, waits[1]))
    said = said_of(*both)
    _, own, background = said.tables
    assert [[plain(cell) for cell in row.cells] for row in own.rows] == [
        ["wait/io/file/log", "300 ±0", "100 ±0", "-200 ±0"],
        ["other events", "0 ±0", "0 ±0", "0 ±0"],
        ["for the client or a CPU, or without an event", "395 ±0", "595 ±0", "+200 ±0"],
    ]
    assert [plain(row.cells[0]) for row in background.rows] == ["wait/io/file/page"]
    assert {it.removesuffix(" for an operation of nosync.") for it in said.sentences[:3]} == {
        "Waits for wait/io/file/log: 200 µs less",
        "Waits for the client or a CPU, or without an event: 200 µs more",
        "Background threads wait for wait/io/file/page: 100 µs more",
    }
    page = explanation_page("update", ("rel", "nosync"), said, both).decode()
    assert "<td" in page
    assert "wait/io/file/log" in page


def test_settings_that_slowed_the_servers_down_are_told() -> None:
    said = said_of(rounds(5), rounds(5), settings={"performance_schema": "ON"})
    assert said.sentences[-1].startswith("To count waits, servers ran with performance_schema = ON")


def test_of_a_batch_the_time_of_a_run_is_told_in_milliseconds() -> None:
    both = (rounds(400), rounds(1))
    said = said_of(*both, step="run-1", work=Work.RUN)
    (first,) = [it for it in said.sentences if it.startswith("Kernel: fdatasync")]
    assert "ms less for a run of nosync, most in fdatasync" in first
    parts, *_ = said.tables
    assert parts.title == "CPU time of a run, by whose code is executed"
    assert parts.caption == "In ms, with intervals over rounds."
    cells = {row.cells[0].text: row.cells[1].text for row in parts.rows}
    assert cells["CPU of the server"] == "0.600"
    page = explanation_page("run-1", ("rel", "nosync"), said, both).decode()
    assert "Where the CPU time of a run goes" in page
    assert "µs" not in page
    written = json.loads(speedscope(("rel", "nosync"), both, Work.RUN))
    assert written["profiles"][0]["name"] == "rel, CPU of a run"


def test_stacks_are_written_for_flame_graphs_with_what_an_operation_takes() -> None:
    both = (rounds(400), rounds(1))
    written = json.loads(speedscope(("rel", "nosync"), both, Work.OPERATION))
    names = [frame["name"] for frame in written["shared"]["frames"]]
    base, subject = written["profiles"]
    assert {tuple(names[it] for it in stack) for stack in base["samples"]} == {
        ("ExecScan",),
        ("XLogFlush", "fdatasync"),
    }
    assert sum(base["weights"]) == pytest.approx(600, rel=0.01)
    assert sum(subject["weights"]) == pytest.approx(201, rel=0.01)
    lines = dict(line.split(" ", 1) for line in difference_folded(both).splitlines())
    more, less = map(int, lines["XLogFlush;fdatasync"].split())
    assert more > 100 * less
