"""What counters have counted, and whether more training would still change it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone import process
from dbhone.compilation.counter_tool import CounterTool
from dbhone.compilation.profile_counts import (
    ProfileCounts,
    counters_of,
    newly_executed,
    total_variation,
)
from dbhone.compilation.toolchain import Compiler, find_compiler, installed
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.errors import ProfileError, UntrustedFileError
from dbhone.process import can_enclose, why_not_enclosed
from dbhone.session import Session
from tests.compilation.compilers import CLANG, GCC
from tests.files import put_program

PROGRAM = """\
#include <stdlib.h>
__attribute__((noinline)) static int often(int n) { int s = 0; while (n--) s += n; return s; }
__attribute__((noinline)) static int seldom(int n) { return n > 7 ? n * 3 : n; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 0;
  return (argc > 2 ? seldom(n) : often(n)) == -1;
}
"""
FUNCTIONS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 10**12))


def counts_of(totals: dict[str, int], functions: int = 10) -> ProfileCounts:
    return ProfileCounts(functions=functions, functions_executed=len(totals), totals=totals)


@pytest.fixture
def compiler(compiler: str) -> Compiler:
    return find_compiler(compiler)


@pytest.fixture
def program(tmp_path: Path, compiler: Compiler) -> Path:
    (tmp_path / "program.c").write_text(PROGRAM)
    flags = parse_variant("pgo").flags(compiler, Pass.INSTRUMENT, build_folder=str(tmp_path))
    argv = (str(compiler.path), *flags.compile, "program.c", "-o", "program")
    subprocess.run(argv, cwd=tmp_path, check=True)
    return tmp_path / "program"


def train(program: Path, session: Session, compiler: Compiler, *arguments: str) -> ProfileCounts:
    counters = counters_of(compiler, program.parent / "counters", session)
    counters.folder.mkdir(exist_ok=True)
    env = os.environ | counters.environment
    subprocess.run([program, *arguments], env=env, check=True)
    return counters.read()


def test_functions_are_counted(program: Path, session: Session, compiler: Compiler) -> None:
    first = train(program, session, compiler, "1000")
    assert (first.functions, first.functions_executed) == (3, 2)
    assert max(first.totals.values()) >= 1000


def test_a_profile_may_be_larger_than_what_is_held_of_an_output(
    program: Path, session: Session, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CAPTURE_LIMIT", 100)
    assert train(program, session, compiler, "1000").functions == 3


def test_another_round_of_the_same_changes_little(
    program: Path, session: Session, compiler: Compiler
) -> None:
    first = train(program, session, compiler, "1000")
    second = train(program, session, compiler, "1000")
    assert total_variation(first, second) < 0.01
    assert newly_executed(first, second) == 0


def test_a_round_of_something_else_is_noticed(
    program: Path, session: Session, compiler: Compiler
) -> None:
    first = train(program, session, compiler, "1")
    second = train(program, session, compiler, "9", "other")
    assert total_variation(first, second) > 0.1
    assert newly_executed(first, second) == pytest.approx(1 / 3)


def test_a_folder_without_counters_has_counted_nothing(
    session: Session, compiler: Compiler
) -> None:
    counters = counters_of(compiler, session.workdir("counters"), session)
    assert counters.read() == counts_of({}, functions=0)


def test_what_is_no_profile_is_reported(session: Session) -> None:
    if not installed("clang"):
        pytest.skip("clang is not installed")
    folder = session.workdir("counters")
    (folder / "broken.profraw").write_text("nothing")
    with pytest.raises(ProfileError, match=r"llvm-profdata\S* cannot read the profile"):
        counters_of(find_compiler("clang"), folder, session).merge()


@pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))
def test_the_program_that_reads_counters_reaches_nothing_else(
    tmp_path: Path, session: Session
) -> None:
    """It parses what a stranger's program wrote, and may be led to do whatever that wants."""
    (tmp_path / "key").write_text("a key")
    tools = tmp_path / "tools" / "bin"
    attack = f"""
        echo > {tmp_path}/marked; echo > {session.home.builds}/marked
        echo > no-counters; echo > {tools}/llvm-profdata
        cat {tmp_path}/key /etc/shadow; kill -9 {os.getpid()}; id -u
        for word; do last=$word; done; ln -s {tmp_path}/key "${{last#-o=}}"
        exit 0
    """
    program = put_program(tools / "llvm-profdata", attack)
    before = program.read_text()
    clang = dataclasses.replace(CLANG, path=tools / "clang", version="99.0.0")
    counters = counters_of(clang, session.workdir("counters"), session)
    (counters.folder / "counters-1.profraw").touch()
    tool = CounterTool(program=program, folder=counters.folder, session=session)
    printed = list(tool.printed("show"))
    assert "a key" not in "".join(printed)
    assert "0" not in printed  # it is not root
    with pytest.raises(UntrustedFileError, match="is a link"):
        counters.merge()
    assert not list(tmp_path.rglob("marked"))
    assert [path.name for path in counters.folder.iterdir()] == ["counters-1.profraw"]
    assert program.read_text() == before


def test_gcc_reads_the_counters_where_they_are(tmp_path: Path, session: Session) -> None:
    assert counters_of(GCC, tmp_path, session).merge() == tmp_path


@given(FUNCTIONS, FUNCTIONS)
def test_a_change_is_a_distance(one: dict[str, int], other: dict[str, int]) -> None:
    found = total_variation(counts_of(one), counts_of(other))
    assert 0 <= found <= 1
    assert found == pytest.approx(total_variation(counts_of(other), counts_of(one)))
    if one:
        assert total_variation(counts_of(one), counts_of(one)) == 0
    if one and not one.keys() & other.keys():
        assert found == pytest.approx(1)


@given(FUNCTIONS.filter(bool), st.integers(2, 9))
def test_more_of_the_same_is_no_change(totals: dict[str, int], times: int) -> None:
    more = {name: count * times for name, count in totals.items()}
    assert total_variation(counts_of(totals), counts_of(more)) == pytest.approx(0, abs=1e-9)


def test_half_of_the_counts_elsewhere_is_a_change_of_a_half() -> None:
    assert total_variation(counts_of({"a": 4}), counts_of({"a": 2, "b": 2})) == pytest.approx(0.5)
