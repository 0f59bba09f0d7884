import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics.trace import Slice, Trace, TraceError, Use, read, use_of, write

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


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("use: judging", "use: choosing", "'use' is choosing, and should be judging"),
        ("restarts: 2", "restarts: 3", "'restarts' is 3, and should be 2"),
        ("# dbms: mariadb\n", "", "'dbms' is missing"),
        ("# threads: 4", "# threads: 4\n# colour: red", "'colour' is missing .* does not belong"),
        ("trace: 1", "trace: 2", "'dbhone trace' is 2, and should be 1"),
        ("# threads: 4", "# threads", "line 8: '# threads' is not '# key: value'"),
        ("threads: 4", "threads: many", "in the header: .*many"),
        ("began,operations", "operations,began", "line 11: the columns are not"),
        ("4711,0.5003", "many,0.5003", "line 12: .*many"),
        ("4711,0.5003", "4711", "line 12: not enough values"),
        ("4711,0.5003", "4711,0", "line 12: no slice"),
        ("4711,0.5003", "-1,0.5", "line 12: no slice"),
        ("0,B,0.000", "0,C,0.000", "line 12: no slice of A or B"),
        ("1,1,1,A", "1,1,1,B", "two slices in one round"),
        ("60.250", "60.950", "not in the order of time"),
        (ROWS, "", "'restarts' is 2, and should be 0"),
    ],
)
def test_what_is_not_as_described_is_refused(
    tmp_path: Path, was: str, becomes: str, said: str
) -> None:
    text = HEADER + ROWS
    assert was in text
    with pytest.raises(TraceError, match=said):
        read(_file(tmp_path, text.replace(was, becomes)))


def test_a_file_that_is_not_compressed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "02-mariadb-point-query.csv.gz"
    path.write_text(HEADER + ROWS)
    with pytest.raises(TraceError, match="02-mariadb"):
        read(path)


def test_a_trace_without_slices_is_refused(tmp_path: Path) -> None:
    text = HEADER.replace("restarts: 2", "restarts: 0")
    with pytest.raises(TraceError, match="no slice at all"):
        read(_file(tmp_path, text))
