"""What is read out of the record of a compile command."""

from __future__ import annotations

import pytest

from dbhone.compilation.manifest import CompileCommand


def command(*argv: str, status: int = 0) -> CompileCommand:
    return CompileCommand(
        phase="compile", began=0.0, seconds=1.0, cpu=1.0, memory=1, status=status, argv=argv
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
