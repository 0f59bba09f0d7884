from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.home import Home
from dbhone.package.content import masked, without_paths

HOME = Home(Path("/home/bob/.local/share/dbhone"))
ROOT = str(HOME.root).encode()


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_a_programs_paths_are_replaced_without_moving_anything(parts: list[bytes]) -> None:
    data = (ROOT + b"/sources/x.c\0").join(parts)
    found = masked(data, HOME)
    assert len(found) == len(data)
    assert ROOT not in found
    assert found.count(b"/dbhone////") >= data.count(ROOT)


def test_a_replaced_path_is_still_one_path() -> None:
    found = masked(ROOT + b"/sources/x.c", HOME).decode()
    assert Path(found) == Path("/dbhone/sources/x.c")


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("-O2", "-O2"),
        ("-fprofile-use=/home/bob/profiles/1", "-fprofile-use=PATH"),
        ("-DWITH_SSL=/opt/ssl", "-DWITH_SSL=PATH"),
        ("-I/home/bob/include", "-IPATH"),
        ("-I/usr/include/tcl8.6", "-I/usr/include/tcl8.6"),
        ("-Wl,-rpath,$ORIGIN/../lib", "-Wl,-rpath,$ORIGIN/../lib"),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc (Debian 12.2.0-14+deb12u1) 12.2.0"),
        ("read-write/410 at 1/2", "read-write/410 at 1/2"),
    ],
)
def test_no_path_of_the_machine_stands_in_a_text(text: str, public: str) -> None:
    assert without_paths(text) == public
