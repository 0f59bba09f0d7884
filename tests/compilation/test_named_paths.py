"""What a user names for a build, beside its source, is an input of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.compilation import named_paths
from dbhone.compilation.spec import BuildSpec
from tests.compilation.tiny import Tiny, make_spec, make_tree


@pytest.fixture(autouse=True)
def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBHONE_LIBRARIES", raising=False)


def spec_of(tmp_path: Path, *options: str, configure: tuple[str, ...] = ()) -> BuildSpec:
    dbms = Tiny(configure=configure)
    dbms.takes_options = True
    tree = make_tree(tmp_path / "source")
    return make_spec(tree, dbms=dbms, options=options)


def digest_of(spec: BuildSpec) -> str:
    """Return the digest as another hone would find it."""
    named_paths._identity.cache_clear()
    return spec.digest()


def test_the_content_of_a_file_is_an_input_and_its_time_is_none(tmp_path: Path) -> None:
    file = tmp_path / "toolchain.cmake"
    file.write_text("set(A 1)")
    spec = spec_of(tmp_path, f"-DCMAKE_TOOLCHAIN_FILE={file}")
    before = digest_of(spec)
    os.utime(file, (1, 1))
    assert digest_of(spec) == before
    file.write_text("set(A 2)")
    assert digest_of(spec) != before


def test_the_files_of_a_folder_are_inputs(tmp_path: Path) -> None:
    header = tmp_path / "ssl" / "include" / "ssl.h"
    header.parent.mkdir(parents=True)
    header.write_text("1")
    (tmp_path / "link").symlink_to(tmp_path / "ssl")
    spec = spec_of(tmp_path, f"-DWITH_SSL={tmp_path}/link")
    before = digest_of(spec)
    (header.parent / "empty").mkdir()
    assert digest_of(spec) == before, "no file has changed"
    os.utime(header, (1, 1))
    assert digest_of(spec) != before


def test_of_the_users_libraries_only_those_that_a_build_takes_are_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = tmp_path / "libraries"
    for name in ("boost_1_59_0", "boost_1_73_0"):
        (libraries / name).mkdir(parents=True)
        (libraries / name / "boost.h").write_text("1")
    monkeypatch.setenv("DBHONE_LIBRARIES", str(libraries))
    option = f"-DWITH_BOOST={libraries}/boost_1_59_0"
    spec = spec_of(tmp_path, configure=("cmake", option, f"-DOTHER={libraries}-more"))
    before = digest_of(spec)
    (libraries / "boost_1_73_0" / "more.h").touch()
    assert digest_of(spec) == before
    (libraries / "boost_1_59_0" / "more.h").touch()
    changed = digest_of(spec)
    assert changed != before
    moved = libraries.rename(tmp_path / "moved")
    monkeypatch.setenv("DBHONE_LIBRARIES", str(moved))
    words = ("cmake", f"-DWITH_BOOST={moved}/boost_1_59_0", f"-DOTHER={moved}-more")
    assert digest_of(make_spec(spec.tree, dbms=Tiny(configure=words))) == changed


@pytest.mark.parametrize(
    "option",
    [
        "-DX=1",
        "-DWITH_SSL=system",
        "-DWITH_SSL=/usr",
        "-DSYSCONFDIR=/etc",
        "-DMYSQL_DATADIR=/var/lib/mysql",
        "-DTMPDIR=/tmp",
        "-DPREFIX=/no/such/folder",
    ],
)
def test_what_names_nothing_or_the_distributions_leaves_the_digest_as_it_was(
    option: str,
) -> None:
    assert named_paths.named_paths((option,), ()) == {}
