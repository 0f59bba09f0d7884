import gzip
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics.trace import Slice, Trace, Use, read, use_of, write

HEADER = """\
# dbhone trace: 1
# recording: 2
# use: judging
# machine: 2 x A CPU, kvm, Linux 6.1.0
# dbms: mariadb
# version: 10.11.6
# step: point-query
# threads: 4
# slice-seconds: 0.5
# restarts: 2
restart,round,position,subject,began,operations,seconds
"""
ROWS = """\
1,1,0,B,0.000,4711,0.5003
1,1,1,A,0.503,4802,0.5001
2,1,0,A,60.250,4650,0.5002
2,1,1,B,60.751,4699,0.5000
"""


def _slice(restart: int, position: int, subject: str, began: float, done: int) -> Slice:
    return Slice(
        restart=restart,
        round=1,
        position=position,
        subject=subject,
        began=began,
        operations=done,
        seconds=0.5003,
    )


TRACE = Trace(
    recording=2,
    machine="2 x A CPU, kvm, Linux 6.1.0",
    dbms="mariadb",
    version="10.11.6",
    step="point-query",
    threads=4,
    slice_seconds=0.5,
    slices=(_slice(1, 0, "B", 0.0, 4711), _slice(1, 1, "A", 0.503, 4802)),
)


def _file(folder: Path, text: str) -> Path:
    path = folder / "02-mariadb-point-query.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_a_file_as_described_is_read(tmp_path: Path) -> None:
    trace = read(_file(tmp_path, HEADER + ROWS))
    assert (trace.dbms, trace.step, trace.threads, trace.restarts) == (
        *("mariadb", "point-query"),
        *(4, 2),
    )
    assert trace.use is Use.JUDGING
    assert trace.slices[0] == _slice(1, 0, "B", 0.0, 4711)
    assert trace.file_name == "02-mariadb-point-query.csv.gz"


def test_what_is_written_can_be_read_and_is_always_the_same_file(tmp_path: Path) -> None:
    path = write(TRACE, tmp_path)
    first = path.read_bytes()
    assert read(path) == TRACE
    assert write(TRACE, tmp_path).read_bytes() == first


@given(st.integers(1, 1000))
def test_odd_recordings_are_for_choosing_and_even_ones_for_judging(number: int) -> None:
    assert (use_of(number) is Use.CHOOSING) == (number % 2 == 1)
    assert replace(TRACE, recording=number).use is use_of(number)
