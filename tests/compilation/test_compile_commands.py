"""What is read out of the record of a compile command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dbhone.compilation import compile_commands
from dbhone.compilation.compile_commands import CompileCommand, count_commands, read_commands
from dbhone.errors import BuildError


def command(*argv: str, status: int = 0) -> CompileCommand:
    return CompileCommand(
        phase="compile",
        began=0.0,
        seconds=1.0,
        cpu=1.0,
        memory=1,
        status=status,
        program="gcc",
        argv=argv,
    )


@pytest.mark.parametrize("source", ["x.c", "x.cc", "x.cpp", "S"])
def test_a_source_file_is_compiled(source: str) -> None:
    assert command("-O2", "-c", source, "-o", "x.o").compiles
    assert not command("-O2", "-c", source, "-o", "x.o", status=1).compiles


@pytest.mark.parametrize("source", ["huf_decompress_amd64.S", "x.s"])
def test_assembly_is_not_compiled(source: str) -> None:
    assert not command("-O3", "-o", f"{source}.o", "-c", source).compiles


def test_linking_is_not_compiling() -> None:
    assert not command("-O2", "x.o", "-o", "x").compiles


@pytest.mark.parametrize(
    ("words", "tells"),
    [
        ((), True),
        (("-Wmissing-profile",), True),
        (("-Wmissing-profile", "-Wno-missing-profile"), False),
        (("-Wno-missing-profile", "-Wmissing-profile"), True),
    ],
)
def test_the_last_word_on_missing_profiles_holds(words: tuple[str, ...], tells: bool) -> None:
    assert command("-c", "x.c", *words).tells_missing_profile is tells


def record(**values: Any) -> str:
    times = {"began": 1.0, "seconds": 1.0, "cpu": 1.0}
    known = {"phase": "compile", "memory": 1, "status": 0, "program": "gcc", "argv": ["-c", "x.c"]}
    return json.dumps(known | times | values) + "\n"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e308, -1.0])
@pytest.mark.parametrize("name", ["began", "seconds", "cpu"])
def test_times_that_no_clock_shows_are_forged(tmp_path: Path, name: str, value: float) -> None:
    path = tmp_path / "commands.jsonl"
    path.write_text(record())
    assert len(read_commands(path)) == count_commands(path) == 1
    path.write_text(record(**{name: value}))
    with pytest.raises(BuildError, match="the build wrote to hone's record"):
        read_commands(path)


def test_a_record_longer_than_any_builds_is_forged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "commands.jsonl"
    path.write_text(record())
    monkeypatch.setattr(compile_commands, "_LONGEST_RECORD", 50)
    for read in (read_commands, count_commands):
        with pytest.raises(BuildError, match="the build wrote to hone's record"):
            read(path)
