"""Trees whose server lies in an archive, of kinds that leave archives as they are."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from dbhone.errors import SourceError
from dbhone.home import Session
from dbhone.source.derive import find_unpacked, unpack_server
from dbhone.source.prebuilt import find_server
from dbhone.source.tree import SourceTree, acquire
from tests.source.conftest import Told
from tests.source.make_archives import tarred, zipped
from tests.source.make_elf import OTHER_MACHINE, elf

SERVER = {"mysql/bin/mysqld": elf(), "mysql/share/english/errmsg.sys": b"x"}


def tree_of(files: dict[str, bytes], folder: Path, session: Session) -> SourceTree:
    root = folder / "brought"
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return acquire(f"dir:{root}", session, notify=lambda _: None)


def test_a_server_in_an_archive_is_unpacked_into_another_tree(
    tmp_path: Path, session: Session, told: Told
) -> None:
    wrapped = {"linux/db.txz": lzma.compress(tarred(SERVER)), "linux/README": b"x"}
    tree = tree_of(wrapped, tmp_path, session)
    found = unpack_server(tree, session, told)
    server = find_server(found.path)
    assert server is not None
    assert server.program == found.path / "linux/db/bin/mysqld"
    assert (found.path / "linux/README").is_file()
    assert found.digest != tree.digest
    assert found.reference == f"{tree.reference} (unpacked)"
    assert (tree.path / "linux/db.txz").is_file()
    assert told == ["unpacking db.txz, which is inside"]


def test_what_was_opened_once_is_kept(tmp_path: Path, session: Session, told: Told) -> None:
    tree = tree_of({"db.zip": zipped(SERVER)}, tmp_path, session)
    assert find_unpacked(tree, session.home) is tree
    first = unpack_server(tree, session, told)
    told.clear()
    assert unpack_server(tree, session, told).path == first.path
    assert find_unpacked(tree, session.home).path == first.path
    assert not told


def test_a_server_that_lies_open_needs_no_other_tree(
    tmp_path: Path, session: Session, told: Told
) -> None:
    brought = {"bin/mysqld": elf(), "share/more.zip": zipped(SERVER)}
    tree = tree_of(brought, tmp_path, session)
    assert unpack_server(tree, session, told) is tree


@pytest.mark.parametrize(
    ("brought", "why"),
    [
        ({"README": b"x"}, "there is no server in "),
        ({"more.zip": zipped({"README": b"x"})}, "there is no server in "),
        ({"bin/mysqld": elf(machine=OTHER_MACHINE)}, "is for another machine"),
    ],
    ids=["nothing", "nothing inside", "another machine's"],
)
def test_without_a_server_nothing_is_kept(
    brought: dict[str, bytes], why: str, tmp_path: Path, session: Session, told: Told
) -> None:
    tree = tree_of(brought, tmp_path, session)
    with pytest.raises(SourceError, match=why):
        unpack_server(tree, session, told)
    assert find_unpacked(tree, session.home) is tree


def test_an_archive_inside_cannot_write_outside_its_folder(
    tmp_path: Path, session: Session, told: Told
) -> None:
    escaping = tarred({"../../escaped": b"x", **SERVER})
    tree = tree_of({"db.tar": escaping}, tmp_path, session)
    with pytest.raises(SourceError, match="escaped"):
        unpack_server(tree, session, told)
    assert not list(tmp_path.rglob("escaped"))
