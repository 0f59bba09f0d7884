"""Reading what db_bench prints: RocksDB 7.8.3's own lines, as they arrive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.errors import DriverError
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import Chunk, DriverReport, DriverRequest
from dbhone.workload.drivers.db_bench import PLUGIN
from dbhone.workload.task import Task

REQUEST = DriverRequest(
    program=Path("/b/db_bench"),
    task=Task(set="writing", size=20_000),
    database=Path("/d/db"),
)
HEAD = """\
Initializing RocksDB Options from command-line flags
RocksDB:    version 7.8.3
CPU:        2 * AMD EPYC
Keys:       20 bytes each (+ 0 bytes user-defined timestamp)
Compression: NoCompression
------------------------------------------------
"""
LINES = (
    "DB path: [/d/db]\n",
    "fillrandom   :       4.211 micros/op 237461 ops/sec 0.084 seconds 20000 operations;"
    "   95.1 MB/s\n",
    "DB path: [/d/db]\n",
    "compact      :  412711.000 micros/op 2 ops/sec 0.413 seconds 1 operations;\n",
    "DB path: [/d/db]\n",
    "readwhilewriting :       6.741 micros/op 86125 ops/sec 0.232 seconds 20000 operations;"
    "   22.3 MB/s (12925 of 20000 found)\n",
    "\nDB path: [/d/db]\n",
    "seekrandomwhilewriting :      11.638 micros/op 62451 ops/sec 0.320 seconds 20000 operations;"
    "  250.0 MB/s (13327 of 20000 found)\n",
)
VERIFYING = (
    "randomwithverify :       5.848 micros/op 170894 ops/sec 0.117 seconds 20000 operations;"
    " ( get:18000 put:1600 del:400 total:20000 found:8085)\n",
    "verifychecksum :    1816.000 micros/op 545 ops/sec 0.002 seconds 1 operations;\n",
)


def chunk(text: str, at: float, paused: float = 0.0) -> Chunk:
    return Chunk(
        data=text.encode(),
        at=at,
        cpu_seconds=at / 2,
        peak_memory_bytes=4096.0,
        paused=paused,
    )


def transcript(*lines: str, pauses: tuple[float, ...] = ()) -> tuple[Chunk, ...]:
    """Return the lines, one a second; each after the pauses that are given for it."""
    waited = [sum(pauses[: at + 1]) for at in range(len(lines))]
    return (
        chunk(HEAD, 0.0),
        *(chunk(text, at + 1 + waited[at], waited[at]) for at, text in enumerate(lines)),
        chunk("", len(lines) + 1.0 + (waited[-1] if waited else 0.0)),
    )


def read(*lines: str, verify: bool = False, pauses: tuple[float, ...] = ()) -> DriverReport:
    return PLUGIN.read(replace(REQUEST, verify=verify), transcript(*lines, pauses=pauses))


def test_a_benchmark_is_a_step_timed_by_db_bench_itself() -> None:
    report = read(*LINES)
    assert report.version == "7.8.3"
    assert report.verification is None
    keys = [step.key for step in report.steps]
    assert keys == ["readwhilewriting", "seekrandomwhilewriting"]
    assert [step.throughput for step in report.steps] == pytest.approx([86125, 62451])
    assert {step.operations for step in report.steps} == {20_000}
    # A line a second: what it used is counted from the line before.
    assert [step.cpu_seconds for step in report.steps] == pytest.approx([0.5, 0.5])


@given(st.floats(min_value=0.1, max_value=100))
def test_a_pause_is_in_no_steps_time(pause: float) -> None:
    report = read(*LINES, pauses=(0.0, 0.0, 0.0, 0.0, 0.0, pause, 0.0, 0.0))
    reading, seeking = report.steps
    assert reading.seconds == pytest.approx(1.0, abs=1e-6)
    assert seeking.throughput == pytest.approx(62451)


def test_a_benchmark_begins_where_the_one_before_ends() -> None:
    begun = [line for line in (*HEAD.splitlines(), *LINES) if PLUGIN.begins_step(line)]
    assert [line.split()[0] for line in begun] == [
        *("fillrandom", "compact"),
        *("readwhilewriting", "seekrandomwhilewriting"),
    ]


def test_only_benchmarks_that_do_not_go_by_the_clock_can_be_paused() -> None:
    sets = ("cached", "hyper-clock", "compressed", "writing")
    pausable = [name for name in sets if PLUGIN.can_pause(Task(set=name, size=20_000))]
    assert pausable == ["cached", "hyper-clock", "compressed"]


def test_few_long_operations_are_timed_by_seconds() -> None:
    task = Task(set="hyper-clock", size=20_000)
    lines = (
        *LINES[:4],
        LINES[5].replace("readwhilewriting", "readrandom"),
        LINES[7].replace("seekrandomwhilewriting", "seekrandom"),
        LINES[5].replace("readwhilewriting", "readreverse"),
    )
    report = PLUGIN.read(replace(REQUEST, task=task), transcript(*lines))
    (compact,) = (step for step in report.steps if step.key == "compact")
    assert compact.seconds == 0.413


def test_a_proof_tells_what_was_done_and_found() -> None:
    report = read(*LINES, *VERIFYING, verify=True)
    assert report.verification is not None
    assert report.verification.splitlines() == [
        "fillrandom 20000",
        "compact 1",
        "readwhilewriting 20000",
        "seekrandomwhilewriting 20000",
        "randomwithverify 20000",
        "verifychecksum 1",
    ]
    assert len(report.steps) == 2


def test_a_proof_has_what_was_found_where_nobody_writes_meanwhile() -> None:
    lines = (
        LINES[1],
        LINES[3],
        "readrandom   :       2.086 micros/op 478594 ops/sec 0.042 seconds 20000 operations;"
        "  121.1 MB/s (12630 of 20000 found)\n",
        LINES[7].replace("seekrandomwhilewriting", "seekrandom"),
        "readreverse  :       0.356 micros/op 2757906 ops/sec 0.005 seconds 12645 operations;"
        " 1104.7 MB/s\n",
        *VERIFYING,
    )
    task = Task(set="hyper-clock", size=20_000)
    request = replace(REQUEST, task=task, verify=True)
    verification = PLUGIN.read(request, transcript(*lines)).verification
    assert verification is not None
    assert "readrandom 20000 12630 of 20000 found" in verification
    assert "found:8085" in verification


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((), "ran nothing"),
        (LINES[:2], "ran fillrandom"),
        ((*LINES, "put error: IO error: No such file\n"), "reports an error: 'put error"),
        ((*LINES, "key 7 has inconsistent values\n"), "inconsistent"),
        ((*LINES, LINES[1]), "but ran fillrandom, compact, readwhilewriting"),
    ],
)
def test_what_went_wrong_is_told(lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(DriverError) as caught:
        read(*lines)
    assert said in caught.value.message


def test_output_of_another_program_is_refused() -> None:
    with pytest.raises(DriverError, match="did not say which version"):
        PLUGIN.read(REQUEST, (chunk("hello\n", 1.0),))


def test_the_suite_lists_the_benchmarks_that_the_driver_runs() -> None:
    suite = suites.load("rocksdb")
    for name, declared in suite.sets.items():
        task = Task(set=name, size=1000)
        argv = PLUGIN.argv(replace(REQUEST, task=task))
        (option,) = (word for word in argv if word.startswith("--benchmarks="))
        asked = set(option.partition("=")[2].split(","))
        prepared = {"fillrandom", "compact"} if name == "writing" else set()
        assert set(declared.keys()) == asked - prepared


def test_a_set_whose_cache_a_version_lacks_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "tools" / "db_bench_tool.cc"
    source.parent.mkdir()
    source.write_text('DEFINE_string(cache_type, "lru_cache", "Type of block cache.");')
    assert PLUGIN.sets(("cached", "hyper-clock"), tmp_path) == ("cached",)
    with pytest.raises(DriverError, match="has no db_bench_tool"):
        PLUGIN.sets(("cached",), tmp_path / "nothing")
