from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import SourceError
from dbhone.source.prebuilt import find_server, require_server
from tests.source.make_elf import OTHER_MACHINE, elf


def put(root: Path, name: str, content: bytes = b"") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content or elf())


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("bin/mysqld", "."),
        ("sbin/mariadbd", "."),
        ("libexec/mysqld", "."),
        ("a/b/linux/bin/mysqld", "a/b/linux"),
        ("usr/sbin/mariadbd", "usr"),
        ("usr/lib/postgresql/15/bin/postgres", "usr/lib/postgresql/15"),
    ],
)
def test_a_server_is_found_in_a_folder_for_programs(tmp_path: Path, name: str, prefix: str) -> None:
    put(tmp_path, name)
    found = find_server(tmp_path)
    assert found is not None
    assert (found.program, found.prefix) == (tmp_path / name, tmp_path / prefix)


def test_a_server_is_found_beside_its_share(tmp_path: Path) -> None:
    put(tmp_path, "server/mysqld")
    assert find_server(tmp_path) is None
    put(tmp_path, "server/share/english/errmsg.sys", b"x")
    found = find_server(tmp_path)
    assert found is not None
    assert found.prefix == tmp_path / "server"


def test_of_several_servers_the_one_nearest_to_the_top_is_meant(tmp_path: Path) -> None:
    for name in ("b/bin/mysqld", "a/deep/bin/mysqld", "b/bin/mariadbd"):
        put(tmp_path, name)
    found = find_server(tmp_path)
    assert found is not None
    assert found.program == tmp_path / "b/bin/mariadbd"


@pytest.mark.parametrize(
    "content",
    [
        b"#!/bin/sh\n",
        elf()[:30],
        elf(type=1),
        b"\x7fELF" + bytes(60),
        b"\x7fELF" + b"\xff" * 200,
    ],
)
def test_what_is_no_program_is_no_server(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, "bin/mysqld", content)
    assert find_server(tmp_path) is None


def test_a_link_that_leads_out_is_no_server(tmp_path: Path) -> None:
    put(tmp_path, "elsewhere/mysqld")
    (tmp_path / "tree" / "bin").mkdir(parents=True)
    (tmp_path / "tree" / "bin" / "mysqld").symlink_to(tmp_path / "elsewhere" / "mysqld")
    assert find_server(tmp_path / "tree") is None


def test_a_tree_without_a_server_is_told_with_its_top(tmp_path: Path) -> None:
    put(tmp_path, "README", b"x")
    put(tmp_path, "lib/libmysql.so")
    with pytest.raises(SourceError) as caught:
        require_server(tmp_path, "npm:a@1.0.0")
    assert caught.value.message == "there is no server in npm:a@1.0.0"
    for part in ("mariadbd, mysqld or postgres", "at its top: README, lib/"):
        assert part in str(caught.value.hint)


def test_a_server_for_another_machine_is_told_as_such(tmp_path: Path) -> None:
    put(tmp_path, "bin/postgres", elf(machine=OTHER_MACHINE))
    assert find_server(tmp_path) is None
    with pytest.raises(SourceError) as caught:
        require_server(tmp_path, "maven:a:b:1")
    assert "the postgres in maven:a:b:1 is for another machine" in caught.value.message
