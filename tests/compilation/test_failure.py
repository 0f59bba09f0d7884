"""What a failed build says of its cause."""

from __future__ import annotations

import pytest

from dbhone.compilation.failure import first_error, lacks_header

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
        ("all went well\n", None),
        ("", None),
    ],
)
def test_the_first_error_is_reported_with_its_reason(log: str, cause: str | None) -> None:
    assert first_error(log) == cause


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
