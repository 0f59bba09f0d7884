"""What the log of a build tells: how far compiling is, and why it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.compilation.build_log import advance, first_error, lacks_header, last_step

CMAKE = """\
$ cmake -G Ninja -S /source -B . -DERROR=no
-- Looking for pthread.h - found
-- Looking for dlerror - found
-- Performing test for error - Failed
CMake Error at cmake/ssl.cmake:231 (MESSAGE):
  Cannot find appropriate system libraries for SSL.  Make sure you've
  specified a supported SSL version.

  Valid options are: bundled or yes
Call Stack (most recent call first):
  CMakeLists.txt:411 (MYSQL_CHECK_SSL)

-- Configuring incomplete, errors occurred!
"""
MODULE = """\
CMake Error at /usr/share/cmake-3.25/Modules/FindPackageHandleStandardArgs.cmake:230 (message):

  Could NOT find BISON (missing: BISON_EXECUTABLE)
"""
BARE = "CMake Error: The source directory does not exist.\nSpecify --help for usage\n"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            CMAKE,
            "cmake/ssl.cmake:231: Cannot find appropriate system libraries for SSL.  Make sure"
            " you've specified a supported SSL version.",
        ),
        (
            MODULE,
            "/usr/share/cmake-3.25/Modules/FindPackageHandleStandardArgs.cmake:230:"
            " Could NOT find BISON (missing: BISON_EXECUTABLE)",
        ),
        (BARE, "CMake Error: The source directory does not exist."),
        ("cc -c a.c\na.c:1:9: error: expected ';'\n", "a.c:1:9: error: expected ';'"),
        (
            "configure: error: no acceptable C compiler\n",
            "configure: error: no acceptable C compiler",
        ),
        ("cc -o dlerror b.c\nb.c: fatal error: x.h: No\n", "b.c: fatal error: x.h: No"),
        (
            'a.c:3:5: warning: too few\n    3 |   print("(error %d)");\n      |   ^\n'
            "b.c:2:1: error: 'x' undeclared\n",
            "b.c:2:1: error: 'x' undeclared",
        ),
        ("make: *** [Makefile:3: all] Error 2\n", "make: *** [Makefile:3: all] Error 2"),
        (
            "make -C error all\nld: cannot find -lz\nmake: *** [x] Error 1\n",
            "make: *** [x] Error 1",
        ),
        (
            "x: error while loading shared libraries: y\n",
            "x: error while loading shared libraries: y",
        ),
        ("Error copying file a to b.\n", "Error copying file a to b."),
        ("all went well\n", None),
        ("", None),
    ],
)
def test_the_first_error_is_reported_with_its_reason(log: str, cause: str | None) -> None:
    assert first_error(log) == cause


def test_what_an_earlier_step_printed_is_no_error_of_the_last_one() -> None:
    log = "$ ./configure\ntest.c:1: error: no\n$ make -Dx='error: '\nb.c:2: error: yes\n"
    assert first_error(last_step(log)) == "b.c:2: error: yes"
    assert last_step("$ make\nall\n") == "$ make\nall\n"


def test_a_long_error_is_cut() -> None:
    assert len(first_error("error: " + "x" * 1000) or "") == 300


@pytest.mark.parametrize(
    ("cause", "lacks"),
    [
        ("b.c:1:10: fatal error: x.h: No such file or directory", True),
        ("b.c:1:10: fatal error: 'x.h' file not found", True),
        ("b.c:1:10: error: 'x.h' was not declared in this scope", False),
    ],
)
def test_a_missing_header_is_told_from_other_causes(cause: str, *, lacks: bool) -> None:
    assert lacks_header(cause) is lacks


@pytest.mark.parametrize(
    ("printed", "recorded", "said"),
    [
        ("", 0, ""),
        ("checking for gcc... yes\n", 0, ""),
        ("[1/2363] Building C object a.o\n[468/2363] Building C object b.o\n", 3, "468 of 2,363"),
        ("[  6%] Building C object a.o\n[ 45%] Linking b\nb.c: warning\n", 3, "45%"),
        ("gcc -c a.c\ngcc -c b.c\n", 1200, "1,200 files"),
        ("a list: [7/9] in a line\n", 0, ""),
        ("[80/80] Linking a\n$ ninja -C objects mysqld\n", 0, ""),
    ],
)
def test_the_build_systems_own_count_is_reported_and_else_what_was_recorded(
    tmp_path: Path, printed: str, recorded: int, said: str
) -> None:
    log, commands = tmp_path / "build.log", tmp_path / "commands.jsonl"
    log.write_text(printed)
    if recorded:
        commands.write_text("{}\n" * recorded)
    assert advance(log, commands) == said


def test_the_last_count_of_a_long_log_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("".join(f"[{number}/9000] {'x' * 99}\n" for number in range(1, 9001)))
    assert advance(log, tmp_path / "none") == "9,000 of 9,000"
