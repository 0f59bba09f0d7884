"""What is said of two servers' sampled stacks."""

from __future__ import annotations

import json

import pytest

from dbhone.analysis.stacks import Call, CodeOrigin, Round
from dbhone.report.explanation import difference_folded, explanation, speedscope
from dbhone.report.table import plain

SCAN = Call(CodeOrigin.OWN, "executor", "ExecScan")
INSERT = Call(CodeOrigin.OWN, "WAL", "XLogFlush")
SYNC = Call(CodeOrigin.KERNEL, "kernel: fdatasync", "fdatasync")


def rounds(synced: int) -> list[Round]:
    return [
        Round(
            operations=1000,
            seconds=1.0,
            cpu=0.2 + synced / 1000,
            client=0.1,
            stacks={(SCAN,): 200 + noise, (SYNC, INSERT): synced},
        )
        for noise in range(4)
    ]


def test_what_differs_is_named_with_its_function_and_caller() -> None:
    both = (rounds(400), rounds(1))
    said = explanation("update", ("rel", "nosync"), both, threads=1, cores=2)
    (first,) = [it for it in said.sentences if it.startswith("Kernel: fdatasync")]
    assert "µs less for an operation of nosync, most in fdatasync, called by XLogFlush" in first
    assert "at most" in said.sentences[-1]
    parts, modules, functions = said.tables
    assert next(row.cells[0].text for row in parts.rows) == "The server's own code"
    assert "Kernel: fdatasync" in {row.cells[0].text for row in modules.rows}
    heads = [plain(row.cells[0]) for row in functions.rows if row.heading]
    assert heads[0] == "kernel: fdatasync"


def test_equal_servers_have_no_tables_of_differences() -> None:
    both = (rounds(5), rounds(5))
    said = explanation("update", ("rel", "control"), both, threads=4, cores=2)
    assert len(said.tables) == 1


def test_stacks_are_written_for_flame_graphs_with_what_an_operation_takes() -> None:
    both = (rounds(400), rounds(1))
    written = json.loads(speedscope(("rel", "nosync"), both))
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
