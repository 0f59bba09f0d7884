"""What a replay counts of the kinds of statements: those that failed apart from the others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from dbhone.workload.drivers.base import StepResult, part_results
from tests.workload.counted import needs_sysbench

SCRIPT = Path(__file__).with_name("failing.lua")


@needs_sysbench
def test_a_statement_that_failed_is_none_of_those_that_were_executed() -> None:
    done = subprocess.run(
        ["sysbench", str(SCRIPT), "--threads=1", "--events=8", "--time=60", "run"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"^part 0: (\d+) in [\d.]+ s, (\d+) failed$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    assert found.groups() == ("8", "3")


def test_the_share_of_a_part_that_failed_is_of_all_that_was_asked() -> None:
    (part,) = part_results(("read",), [(30.0, 1.5, 90.0)])
    assert part.refused_share == 0.75
    whole = StepResult(key="", title="t", seconds=1.0, operations=30.0, errors=90)
    assert whole.refused_share == part.refused_share
