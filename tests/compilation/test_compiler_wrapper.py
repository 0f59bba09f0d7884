"""What the program that stands in a compiler's place records of a call."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dbhone.compilation import compiler_wrapper
from dbhone.compilation.compile_commands import CompileCommand, read_commands

COMPILER = shutil.which("true")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no program that does nothing")


def recorded(folder: Path, *arguments: str) -> CompileCommand:
    assert COMPILER is not None
    record = folder / "record"
    program = (sys.executable, "-I", "-S", compiler_wrapper.__file__)
    subprocess.run([*program, str(record), COMPILER, *arguments], cwd=folder, check=True)
    (command,) = read_commands(record)
    return command


def test_a_response_file_is_recorded_as_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "inner.rsp").write_text("two.o")
    (tmp_path / "outer.rsp").write_text("-o program 'a name.o'\n@inner.rsp -lm")
    command = recorded(tmp_path, "-O2", "@outer.rsp")
    assert command.argv == ("-O2", "-o", "program", "a name.o", "two.o", "-lm")
    assert command.links


def test_what_is_no_response_file_is_recorded_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "odd.rsp").write_text("'never closed")
    assert recorded(tmp_path, "@missing", "@odd.rsp").argv == ("@missing", "@odd.rsp")
