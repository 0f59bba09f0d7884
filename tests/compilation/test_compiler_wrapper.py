"""What the program that stands in a compiler's place records of a call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dbhone.compilation import compiler_wrapper
from dbhone.compilation.compile_commands import CompileCommand, read_commands
from tests.files import put_program

COMPILER = shutil.which("true")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no program that does nothing")


PROGRAM = (sys.executable, "-I", "-S", compiler_wrapper.__file__)


def recorded(folder: Path, *arguments: str) -> CompileCommand:
    assert COMPILER is not None
    record = folder / "record"
    subprocess.run([*PROGRAM, str(record), COMPILER, *arguments], cwd=folder, check=True)
    (command,) = read_commands(record)
    return command


@pytest.mark.parametrize(
    ("written", "jobs", "executed"),
    [
        ("-O2 -flto=auto a.o -o program", "3", "-O2 -flto=3 a.o -o program"),
        ("-flto=thin -fuse-ld=lld a.o", "1", "-flto=thin -flto-jobs=1 -fuse-ld=lld a.o"),
        ("-O2 a.o -o program", "3", "-O2 a.o -o program"),
        ("-flto=thin -c a.c", "3", "-flto=thin -c a.c"),
        ("-flto=auto a.o", "", "-flto=auto a.o"),
    ],
    ids=["gcc", "clang", "no optimisation", "compile", "not told"],
)
def test_link_time_optimisation_runs_the_jobs_that_it_is_told(
    tmp_path: Path, written: str, jobs: str, executed: str
) -> None:
    compiler, record = put_program(tmp_path / "cc", 'echo "$@"'), tmp_path / "record"
    printed = subprocess.run(
        (*PROGRAM, str(record), str(compiler), *written.split()),
        env={**os.environ, "DBHONE_LINK_JOBS": jobs},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed == f"{executed}\n"
    (command,) = read_commands(record)
    assert command.argv == tuple(written.split())


def test_a_response_file_is_recorded_as_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "inner.rsp").write_text("two.o")
    (tmp_path / "outer.rsp").write_text("-o program 'a name.o'\n@inner.rsp -lm")
    command = recorded(tmp_path, "-O2", "@outer.rsp")
    assert command.argv == ("-O2", "-o", "program", "a name.o", "two.o", "-lm")
    assert command.links


def test_what_is_no_response_file_is_recorded_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "odd.rsp").write_text("'never closed")
    assert recorded(tmp_path, "@missing", "@odd.rsp").argv == ("@missing", "@odd.rsp")
