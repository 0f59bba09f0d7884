"""SQLite's shell as a driver: what it is started with, and reading what it prints, strictly."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.command import Command
from dbhone.errors import DriverError
from dbhone.process import run
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import Chunk, DriverReport, DriverRequest
from dbhone.workload.drivers.sqlite_shell import PLUGIN
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload

SUITE = suites.load("batch:insert-select-sqlite")
PRINTED = """\
version|3.40.1
step|run-1|first
Run Time: real 0.143 user 0.103228 sys 0.020000
rows|2000
step|run-2|second
Run Time: real 0.000 user 0.000001 sys 0.000000
rows|1999
answer|2000,7
answer|2000
end
"""


def task(seed: int = 77) -> Task:
    (only,) = Workload(name="batch:insert-select-sqlite", scale=Scale(size="smoke")).tasks()
    return only.with_seed(seed)


def request(
    *, database: Path = Path("/d/x"), seed: int = 77, verify: bool = False
) -> DriverRequest:
    return DriverRequest(
        program=Path("/b/sqlite3"), task=task(seed), database=database, verify=verify
    )


def read(printed: str, *, verify: bool = False) -> DriverReport:
    chunk = Chunk(data=printed.encode(), at=0.0, peak_memory_bytes=9.0)
    return PLUGIN.read(request(verify=verify), (chunk,))


def test_a_timed_statement_is_a_step_and_its_rows_are_operations() -> None:
    report = read(PRINTED)
    first, second = report.steps
    assert (first.key, first.title) == ("run-1", "first")
    assert (first.seconds, first.operations) == (0.143, 2000)
    assert first.cpu_seconds == pytest.approx(0.123228)
    assert first.latency is not None
    assert first.latency.p50 == 0.143
    assert second.seconds > 0
    assert report.version == "3.40.1"
    assert report.verification is None


def test_the_answers_prove_what_was_written() -> None:
    verification = read(PRINTED, verify=True).verification
    assert verification is not None
    assert read(PRINTED.replace("2000,7", "2000,8"), verify=True).verification != verification


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("end\n", "", "ended before"),
        ("version|3.40.1\n", "", "ended before"),
        ("rows|1999", "rows|0", "run-2 did nothing"),
        ("rows|1999\n", "", "printed unexpected output: 'step|run-2"),
        ("Run Time: real 0.143", "Run Time: real x", "printed unexpected output: 'step|run-1"),
        ("answer|2000\n", "Error: no\n", "printed unexpected output: 'Error: no'"),
    ],
)
def test_what_is_cut_off_or_unknown_is_refused(old: str, new: str, complaint: str) -> None:
    assert PRINTED.count(old) == 1
    with pytest.raises(DriverError) as refused:
        read(PRINTED.replace(old, new))
    assert complaint in refused.value.message


def test_without_a_timed_statement_nothing_was_measured() -> None:
    with pytest.raises(DriverError, match="timed no statement"):
        read("version|3.40.1\nend\n")


@given(st.integers(min_value=0, max_value=len(PRINTED) - 2))
def test_no_part_of_the_output_passes_for_the_whole(cut: int) -> None:
    with pytest.raises(DriverError):
        read(PRINTED[:cut])


def test_values_without_a_seed_are_refused() -> None:
    with pytest.raises(DriverError, match="needs a seed"):
        PLUGIN.argv(replace(request(), task=replace(task(), seed=None)))


def test_a_folder_with_spaces_and_quotes_is_read_from() -> None:
    words = PLUGIN.argv(request())
    script = words[-1].removeprefix('.read "').removesuffix('"')
    assert Path(script).is_file()
    assert "2000 AS row_count, 77 AS seed" in words[-2]


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
def test_a_real_shell_writes_the_rows_of_its_seed(tmp_path: Path) -> None:
    def report(name: str, seed: int) -> DriverReport:
        program = Path(shutil.which("sqlite3") or "sqlite3")
        asked = request(database=tmp_path / name, seed=seed, verify=True)
        argv = PLUGIN.argv(replace(asked, program=program))
        finished = run(Command(argv=argv, cwd=tmp_path, isolated=True, timeout=120.0))
        assert finished.ok, finished.text()
        return read(finished.text(), verify=True)

    one, same, other = report("a", 77), report("b", 77), report("c", 78)
    assert [step.key for step in one.steps] == list(SUITE.sets["insert-select"].keys())
    assert [step.operations for step in one.steps] == [2000, 2000, 2000]
    # The sums of load.lua's values for this seed, which MySQL and PostgreSQL gave.
    assert one.verification == same.verification != other.verification
    assert "answer|2000,2001000,1006064999,996546534,1008537425" in (one.verification or "")
