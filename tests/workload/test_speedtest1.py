"""Reading what speedtest1 prints, strictly."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.errors import DriverError
from dbhone.workload.drivers.base import Chunk, DriverReport, DriverRequest
from dbhone.workload.drivers.speedtest1 import PLUGIN
from dbhone.workload.task import Task

HEADER = "-- Speedtest1 for SQLite 3.40.1 2022-12-28 14:03:47 df5c253c0b3dd249\n"
TOTAL = "       TOTAL.......................................................    0.105s\n"


REQUEST = DriverRequest(
    program=Path("/b/speedtest1"),
    task=Task(set="cte", size=25),
    database=Path("/d/db"),
)


def read(transcript: tuple[Chunk, ...]) -> DriverReport:
    return PLUGIN.read(REQUEST, transcript)


def name(number: int, title: str) -> str:
    return f"{number:4d} - {title}{'.' * (60 - len(title))} "


def chunk(text: str, at: float, cpu: float | None = None) -> Chunk:
    return Chunk(data=text.encode(), at=at, cpu_seconds=cpu, peak_memory_bytes=4096.0)


def as_printed(seconds: list[float], clock: list[float]) -> tuple[Chunk, ...]:
    """Return the output as it arrives: each step's name is flushed when the step begins."""
    chunks, before = [], HEADER
    for number, (took, at) in enumerate(zip(seconds, clock, strict=False)):
        chunks.append(chunk(before + name(100 + number, "some INSERTs"), at, cpu=at * 0.5))
        before = f"{took:8.3f}s\n"
    chunks.append(chunk(before + TOTAL, clock[-1]))
    return tuple(chunks)


def test_steps_are_timed_by_their_arrival_and_not_only_to_the_millisecond() -> None:
    report = read(as_printed([0.012, 0.090, 0.003], [10.0, 10.0123, 10.1025, 10.106]))
    assert [each.key for each in report.steps] == ["100", "101", "102"]
    assert [each.seconds for each in report.steps] == pytest.approx([0.0123, 0.0902, 0.003])
    assert report.steps[0].cpu_seconds == pytest.approx(0.0123 / 2)
    assert report.steps[0].title == "some INSERTs"
    assert report.version == "3.40.1"


@given(
    took=st.integers(min_value=0, max_value=5000),
    arrival=st.floats(min_value=0, max_value=10, allow_nan=False),
)
def test_a_steps_time_never_contradicts_speedtest1s_own_clock(took: int, arrival: float) -> None:
    report = read(as_printed([took / 1000, 0.001], [10.0, 10.0 + arrival, 99.0]))
    seconds = report.steps[0].seconds
    assert seconds > 0
    assert abs(seconds - took / 1000) <= 0.001 + 1e-9


def test_a_steps_name_tells_that_it_begins_before_and_after_its_result() -> None:
    begun = name(100, "some INSERTs")
    assert PLUGIN.begins_step(begun)
    assert PLUGIN.begins_step(f"{begun}   0.004s")
    assert not PLUGIN.begins_step(begun[:20])
    assert not any(map(PLUGIN.begins_step, (HEADER.rstrip(), TOTAL.rstrip(), "")))


@pytest.mark.parametrize("printed", [3.012, 0.012])
def test_a_pause_is_no_part_of_a_step(printed: float) -> None:
    """It may lie before the moment at which speedtest1 starts its clock, or after."""
    first, second, end = as_printed([printed, 0.090], [10.0, 13.0123, 13.1025])
    later = (replace(second, paused=3.0), replace(end, paused=3.0))
    assert [each.seconds for each in read((first, *later)).steps[:1]] == pytest.approx([0.0123])


def test_a_pause_is_no_part_of_a_step_whose_end_was_not_seen() -> None:
    """Its result arrived together with that of the next one, as hone was late to read."""
    one, two, three, end = as_printed([3.0122, 0.0011, 0.003], [10.0, 13.0123, 13.0134, 14.0])
    merged = chunk((two.data + three.data).decode(), three.at)
    steps = read((one, replace(merged, paused=3.0), replace(end, paused=3.0))).steps
    assert [each.seconds for each in steps[:2]] == pytest.approx([0.0134, 0.001])
    assert steps[0].cpu_seconds is None


def test_output_in_one_piece_is_timed_by_speedtest1_alone() -> None:
    text = "".join(each.data.decode() for each in as_printed([0.012, 0.090], [1.0, 2.0, 3.0]))
    report = read((chunk(text, 5.0),))
    assert [each.seconds for each in report.steps] == [0.012, 0.090]
    assert [each.cpu_seconds for each in report.steps] == [None, None]


def test_only_a_step_whose_beginning_was_seen_is_timed_by_its_arrival() -> None:
    one, two, three, end = as_printed([0.0122, 0.0911, 0.003], [10.0, 10.0123, 10.1025])
    merged = chunk((two.data + three.data).decode(), three.at, cpu=three.cpu_seconds)
    steps = read((one, merged, end)).steps
    assert [each.cpu_seconds is None for each in steps] == [True, True, True]
    later = read((chunk(one.data.decode() + two.data.decode(), two.at), three, end)).steps
    assert [each.seconds for each in later] == pytest.approx([0.012, 0.0902, 0.003])


def test_a_number_that_comes_twice_is_told_apart() -> None:
    text = HEADER + "".join(name(130, "Star query") + "   0.004s\n" for _ in range(2)) + TOTAL
    assert [each.key for each in read((chunk(text, 1.0),)).steps] == ["130", "130.2"]


def test_the_verification_is_read_and_newer_lines_are_known() -> None:
    lines = (
        HEADER
        + '       Begin testset "main"\n'
        + name(100, "x")
        + "   0.004s\n"
        + TOTAL
        + "Verification Hash: 1234 00ff00ff\n"
    )
    assert read((chunk(lines, 1.0),)).verification == "1234 00ff00ff"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "first line"),
        ("garbage\n", "an unexpected first line: 'garbage'"),
        (HEADER, "ended before its TOTAL line"),
        (HEADER + TOTAL, "ended before its TOTAL line"),
        (HEADER + name(100, "x") + "   0.004s\n", "ended before its TOTAL line"),
        (HEADER + name(100, "x") + "fast\n" + TOTAL, "an unexpected line"),
        (HEADER + name(100, "x") + "   0.004s\nnoise\n" + TOTAL, "'noise'"),
        (HEADER + TOTAL + name(100, "x") + "   0.004s\n", "an unexpected line"),
    ],
)
def test_anything_else_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(DriverError, match=complaint):
        read((chunk(text, 1.0),))


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_never_crashes(data: bytes) -> None:
    with pytest.raises(DriverError):
        read((Chunk(data=data, at=0.0),))


def test_the_sets_are_those_of_the_suite_that_the_source_knows(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "speedtest1.c").write_text(
        'if( strcmp(zThisTest,"main")==0 ){\n}else if( strcmp( zThisTest, "cte" )==0 ){\n'
        'if( strcmp(zThisTest,"main")==0 ){'
    )
    assert PLUGIN.sets(("cte", "rtree", "main"), tmp_path) == ("cte", "main")


def test_a_tree_without_speedtest1_is_told(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match=r"has no speedtest1\.c"):
        PLUGIN.sets(("main",), tmp_path)


def test_the_command_does_not_wait_for_the_disk() -> None:
    assert PLUGIN.argv(REQUEST) == (
        "/b/speedtest1",
        "--nosync",
        "--size",
        "25",
        "--testset",
        "cte",
        "/d/db",
    )


def test_the_last_step_ends_with_its_result_and_not_with_the_program() -> None:
    begin = chunk(HEADER + name(100, "x"), 10.0, cpu=0.010)
    rest = chunk("   0.004s\n" + TOTAL, 10.0041, cpu=0.013)
    end = chunk("", 10.0044, cpu=0.0139)
    (step,) = read((begin, rest, end)).steps
    assert step.seconds == pytest.approx(0.0041)
    assert step.cpu_seconds == pytest.approx(0.0039)


def test_the_end_of_a_program_is_in_no_step_that_was_paused() -> None:
    begin = chunk(HEADER + name(100, "x"), 10.0, cpu=0.010)
    rest = replace(chunk("   0.024s\n" + TOTAL, 10.0241, cpu=0.013), paused=0.02)
    end = replace(chunk("", 10.0644, cpu=0.0239), paused=0.05)
    (step,) = read((begin, rest, end)).steps
    assert step.seconds == pytest.approx(0.0041)
    assert step.cpu_seconds == step.seconds


def test_every_line_is_written_at_once_where_the_library_for_that_is_installed() -> None:
    variables = PLUGIN.environment
    if shutil.which("stdbuf") is None:
        assert variables == {}
    else:
        assert variables["_STDBUF_O"] == "L"
        assert Path(variables["LD_PRELOAD"]).is_file()
