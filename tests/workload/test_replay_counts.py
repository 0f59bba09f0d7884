"""What a replay counts of the kinds of statements: those that failed apart from the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dbhone.workload.counting import CountFile
from dbhone.workload.drivers.base import StepResult, part_results
from tests.workload.counted import needs_sysbench

SCRIPT = Path(__file__).with_name("failing.lua")


@needs_sysbench
def test_a_statement_that_failed_is_none_of_those_that_were_executed(tmp_path: Path) -> None:
    counts = CountFile(tmp_path / "counts", 1, 1)
    counts.begin()
    options = ("--threads=1", "--events=11", "--time=60", f"--counts={counts.path}", "--parts=1")
    subprocess.run(["sysbench", str(SCRIPT), *options, "run"], capture_output=True, check=True)
    read = counts.read()
    executed, _, failed = read.parts[0]
    assert (executed, failed) == (8, 3)
    assert (read.finished, read.refused) == (8, 3)


def test_the_share_of_a_part_that_failed_is_of_all_that_was_asked() -> None:
    (part,) = part_results(("read",), [(30.0, 1.5, 90.0)])
    assert part.refused_share == 0.75
    whole = StepResult(key="", title="t", seconds=1.0, operations=30.0, errors=90)
    assert whole.refused_share == part.refused_share
