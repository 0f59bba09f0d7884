from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from dbhone.compilation.manifest import Build
from dbhone.dbms.base import load_dbms
from dbhone.errors import PackageError, SourceError
from dbhone.home import Home
from dbhone.package.content import content_of, public_training, without_paths
from tests.package.builds import put_tree, server_build


def test_a_build_that_was_altered_is_not_packed(home: Home, build: Build) -> None:
    program = build.path("server")
    program.write_bytes(program.read_bytes()[:-1] + b"!")
    with pytest.raises(PackageError, match="is no longer what was built"):
        content_of(build, home)


def test_no_word_of_a_training_command_is_public() -> None:
    trained_on = ("point-query", "hiroi10/read-write_range=10", "./t.sh --token=s3cret /home/bob/x")
    assert public_training(trained_on) == [*trained_on[:2], "a command of the user's"]


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("-O2", "-O2"),
        ("-fprofile-use=/home/bob/profiles/1", "-fprofile-use=PATH"),
        ("-DWITH_SSL=/opt/ssl", "-DWITH_SSL=PATH"),
        ("-I/home/bob/include", "-IPATH"),
        ("-B/home/bob/gcc/bin -isystem/home/bob/include", "-BPATH -isystemPATH"),
        ("-I/usr/include/tcl8.6", "-I/usr/include/tcl8.6"),
        ("-Wl,-rpath,$ORIGIN/../lib", "-Wl,-rpath,$ORIGIN/../lib"),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc (Debian 12.2.0-14+deb12u1) 12.2.0"),
        ("read-write/410 at 1/2", "read-write/410 at 1/2"),
    ],
)
def test_no_path_of_the_machine_stands_in_a_text(text: str, public: str) -> None:
    assert without_paths(text) == public


@pytest.mark.parametrize(
    ("dbms", "files", "enclosed"),
    [
        ("mysql", ("COPYING", "README", "VERSION"), {"COPYING", "README"}),
        ("mysql", ("LICENSE", "README", "MYSQL_VERSION"), {"LICENSE", "README"}),
        ("percona", ("LICENSE", "README.md"), {"LICENSE", "README.md"}),
        ("myrocks", ("COPYING", "rocksdb/LICENSE.leveldb"), {"COPYING", "LICENSE.leveldb"}),
        ("mariadb", ("COPYING", "THIRDPARTY"), {"COPYING", "THIRDPARTY"}),
    ],
)
def test_a_package_encloses_the_licence_of_its_source(
    home: Home, dbms: str, files: tuple[str, ...], enclosed: set[str], tmp_path: Path
) -> None:
    content = content_of(server_build(tmp_path, put_tree(home, *files), dbms=dbms), home)
    names = {Path(entry.name).name for entry in content.entries if "licences/" in entry.name}
    assert names == enclosed
    assert content.licence.name == "GPL-2.0-only"
    assert "the complete source" in content.licence.duty
    assert content.lacks == load_dbms(dbms).lacks


def test_a_build_whose_source_is_gone_is_not_packed(home: Home, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"the source tree of this build, .*, is no longer kept"):
        content_of(server_build(tmp_path, "0" * 64), home)


def test_a_build_whose_source_has_no_licence_is_not_packed(home: Home, tmp_path: Path) -> None:
    with pytest.raises(
        PackageError, match=r"has no .*COPYING.*, and hone makes no package without"
    ):
        content_of(server_build(tmp_path, put_tree(home, "README.txt")), home)


def test_a_link_of_the_source_puts_no_file_from_outside_into_a_package(
    home: Home, tmp_path: Path
) -> None:
    private = tmp_path / "id_ed25519"
    private.write_text("secret")
    source = put_tree(home, "LICENSE", links={"COPYING": private})
    with pytest.raises(PackageError, match="the link COPYING leads out of the source tree"):
        content_of(server_build(tmp_path, source), home)


def test_a_licence_that_is_a_link_inside_its_source_is_enclosed(home: Home, tmp_path: Path) -> None:
    source = put_tree(home, "doc/GPL", links={"COPYING": Path("doc/GPL")})
    content = content_of(server_build(tmp_path, source), home)
    licences = {entry.name: entry.data for entry in content.entries if "licences/" in entry.name}
    assert licences == {"licences/COPYING": b"doc/GPL"}


@pytest.mark.parametrize("packaging", [None, "deb"])
def test_a_folder_that_was_named_for_a_build_does_not_leave_the_machine(
    home: Home, packaging: Literal["deb"] | None, tmp_path: Path
) -> None:
    program = b"\0/home/bob/boost/boost/any.hpp\0"
    tree = put_tree(home, "LICENSE")
    build = server_build(tmp_path, tree, program=program, packaging=packaging)
    steps = (("cmake", "-DWITH_BOOST=/home/bob/boost", "/hone-source"),)
    build = Build(build.folder, build.manifest.model_copy(update={"steps": steps}))
    if packaging is not None:
        with pytest.raises(PackageError, match="names a folder of this machine"):
            content_of(build, home)
        return
    content = content_of(build, home)
    assert content.masked == 1
    assert content.entries[0].data == b"\0/dbhone/////////boost/any.hpp\0"
