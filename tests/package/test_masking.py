from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.variant import parse_variant
from dbhone.home import Home
from dbhone.package.masking import PrivatePaths
from tests.compilation.plain_build import plain_build

HOME = Home(Path("/home/bob/.local/share/dbhone"))
ROOT = str(HOME.root).encode()
OF_HOME = PrivatePaths.of(HOME.root)


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_a_programs_paths_are_replaced_without_moving_anything(parts: list[bytes]) -> None:
    data = (ROOT + b"/sources/x.c\0").join(parts)
    found = OF_HOME.masked(data)
    assert len(found) == len(data)
    assert not OF_HOME.are_in(found)
    assert found.count(b"/dbhone////") >= data.count(ROOT)


def test_a_home_that_is_reached_by_a_link_is_replaced_where_it_lies_too(tmp_path: Path) -> None:
    lies, link = tmp_path / "disk", tmp_path / "link"
    lies.mkdir()
    link.symlink_to(lies)
    paths = PrivatePaths.of(link)
    assert paths.are_in(f"{lies}/scratch/x.c".encode())
    assert paths.are_in(f"{link}/scratch/x.c".encode())


def test_a_longer_name_that_begins_with_the_homes_is_not_replaced() -> None:
    for text in (ROOT + b"-old/x.c", ROOT + b"2/x.c"):
        assert OF_HOME.masked(text) == text


def test_a_replaced_path_is_still_one_path() -> None:
    found = OF_HOME.masked(ROOT + b"/sources/x.c").decode()
    assert Path(found) == Path("/dbhone/sources/x.c")


def paths_of(tmp_path: Path, *options: str, compiler: str = "gcc") -> PrivatePaths:
    variant = parse_variant("rel")
    inputs = BuildInputs(
        dbms="mysql", source="dir:tree", variant=variant, options=options, compiler=compiler
    )
    steps = (("cmake", "-DCMAKE_C_FLAGS=-O3 -I/srv/ssl/include", "-B/hone-build", "/hone-source"),)
    return PrivatePaths.of_build(plain_build(tmp_path, inputs, steps=steps), HOME)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"/opt/boost/boost/any.hpp\0", b"/dbhone////boost/any.hpp\0"),
        (b"/srv/ssl/include/ssl.h:12", b"/dbhone//////////ssl.h:12"),
        (b"/opt/gcc/include/c++/13/vector.h", b"/dbhone//include/c++/13/vector.h"),
        (b"/x/m4/x.c\0", b"/dbho/x.c\0"),
    ],
)
def test_what_was_named_for_a_build_is_replaced_in_names_of_source_files(
    before: bytes, after: bytes, tmp_path: Path
) -> None:
    options = ("-DWITH_BOOST=/opt/boost", "-DMORE=/x/m4")
    assert len(before) == len(after)
    assert paths_of(tmp_path, *options, compiler="/opt/gcc/bin/gcc").masked(before) == after


@pytest.mark.parametrize(
    "kept",
    [
        b"/opt/boost/data\0",
        b"/opt/boost2/any.hpp",
        b"/hone-source/opt/boost/any.hpp",
        b"/hone-source/sql/sql_parse.cc",
        b"/usr/include/stdio.h",
        b"/opt/boost\0.h",
    ],
)
def test_what_a_program_needs_and_what_is_not_the_users_stays(kept: bytes, tmp_path: Path) -> None:
    paths = paths_of(tmp_path, "-DWITH_BOOST=/opt/boost", "-DWITH_SSL=/usr")
    assert paths.masked(kept) == kept


def test_a_named_link_is_known_by_where_it_leads_too(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths = paths_of(tmp_path, f"-DWITH_BOOST={tmp_path}/link")
    for name in ("real", "link"):
        assert paths.are_in(f"{tmp_path}/{name}/any.hpp".encode())
