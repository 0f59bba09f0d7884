"""Trees that are derived from trees: edited ones, and those whose server was unpacked."""

from __future__ import annotations

import errno
import lzma
import os
import shutil
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from dbhone.dbms._compatibility import table
from dbhone.dbms.myrocks import PLUGIN as MYROCKS
from dbhone.errors import NoSpaceError, SourceError
from dbhone.session import Session
from dbhone.source.derive import Derivation, find_unpacked, for_build, unpack_server
from dbhone.source.ready_made import find_server
from dbhone.source.tree import SourceTree, kept_tree
from tests.files import put
from tests.source.conftest import Notifications
from tests.source.getting import get
from tests.source.make_archives import tarred, zipped
from tests.source.make_elf import OTHER_MACHINE, elf

SCRIPT = "storage/rocksdb/get_rocksdb_files.sh"
BEFORE = {
    "storage/rocksdb/CMakeLists.txt": "COMMAND env -i ${CMAKE_SOURCE_DIR}/a.sh\n",
    SCRIPT: "bv=rocksdb/util/build_version.cc\necho > $bv\n",
    "rocksdb/util/build_version.cc.in": 'sha = "@@GIT_SHA@@"\n#define CHANGES @GIT_MOD@\n',
}
AFTER = {
    "storage/rocksdb/CMakeLists.txt": "COMMAND env -i PATH=$ENV{PATH} ${CMAKE_SOURCE_DIR}/a.sh\n",
    SCRIPT: "bv=/dev/null\necho > $bv\n",
    "rocksdb/util/build_version.cc": 'sha = "@@GIT_SHA@@"\n#define CHANGES 1\n',
}


def make(root: Path, files: dict[str, str], session: Session) -> SourceTree:
    root.mkdir()
    (root / "README").write_text("a server\n")
    for name, text in files.items():
        put(root / name, text)
    return get(session, f"dir:{root}")


def editing(tree: SourceTree, version: str = "5.6.35") -> Derivation:
    return for_build(tree, MYROCKS, version)


def test_what_a_tree_needs_makes_another_tree_and_leaves_the_first(
    tmp_path: Path, session: Session
) -> None:
    tree = make(tmp_path / "release", BEFORE, session)
    notified: list[str] = []
    found = editing(tree).make(session, notified.append)
    for name, text in AFTER.items():
        assert (found.path / name).read_text() == text
    for name, text in BEFORE.items():
        assert (tree.path / name).read_text() == text
    assert found.digest != tree.digest
    names = "path-for-make, nothing-written-into-the-tree, rocksdb-version"
    assert found.resolved == tree.resolved
    assert found.label == f"{tree.resolved} with {names}"
    assert notified[0] == (
        "changing storage/rocksdb/CMakeLists.txt: CMake has a script call make without any PATH,"
        " and make finds no program then"
    )


def test_it_is_made_once_and_needs_nothing_more(tmp_path: Path, session: Session) -> None:
    tree = make(tmp_path / "release", BEFORE, session)
    assert editing(tree).find(session.home) is None
    notified: list[str] = []
    first = editing(tree).make(session, print)
    again = editing(tree).make(session, notified.append)
    assert again.digest == first.digest
    assert notified == []
    assert editing(tree).find(session.home) == kept_tree(first.digest, session.home)
    assert editing(first).make(session, print) is first


def test_other_versions_need_less(tmp_path: Path, session: Session) -> None:
    tree = make(tmp_path / "release", BEFORE, session)
    found = editing(tree, "8.0.32").make(session, print)
    assert "env -i $" in (found.path / "storage/rocksdb/CMakeLists.txt").read_text()
    assert (found.path / SCRIPT).read_text() == AFTER[SCRIPT]


def test_a_tree_with_edits_and_a_fix_is_one_tree(tmp_path: Path, session: Session) -> None:
    tree = make(tmp_path / "release", BEFORE, session)
    patch = put(tmp_path / "mine.patch", "--- /dev/null\n+++ b/mine.c\n@@ -0,0 +1 @@\n+int mine;\n")
    found = for_build(tree, MYROCKS, "8.0.32", (str(patch),)).make(session, print)
    assert (found.path / SCRIPT).read_text() == AFTER[SCRIPT]
    assert (found.path / "mine.c").is_file()
    assert found.origin == tree.digest
    names = "nothing-written-into-the-tree, rocksdb-version"
    assert found.label == f"{tree.resolved} with {names}, {patch}"
    assert len(list(session.home.sources.glob("*/tree"))) == 2


@pytest.mark.parametrize("edit", table()["edit"], ids=itemgetter("name"))
def test_no_edit_is_needed_once_it_is_made(edit: dict[str, Any]) -> None:
    for old, new in edit["replace"].items():
        assert old not in new


@pytest.mark.parametrize("files", [{}, AFTER])
def test_a_tree_in_which_nothing_is_found_is_left_as_it_is(
    tmp_path: Path, session: Session, files: dict[str, str]
) -> None:
    tree = make(tmp_path / "release", files, session)
    assert editing(tree).make(session, print) is tree
    assert editing(tree).find(session.home) is tree


def test_a_disk_that_is_full_is_named_and_nothing_is_kept(
    tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = make(tmp_path / "release", BEFORE, session)

    def full(source: Path, target: Path, **_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source, None, target)

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(NoSpaceError, match=r"no space left on .* while changing dir:"):
        editing(tree).make(session, print)
    assert editing(tree).find(session.home) is None


def test_nothing_outside_is_changed(tmp_path: Path, session: Session) -> None:
    outside = tmp_path / "outside.sh"
    outside.write_text(BEFORE[SCRIPT])
    root = tmp_path / "release"
    (root / SCRIPT).parent.mkdir(parents=True)
    (root / SCRIPT).symlink_to(outside)
    tree = get(session, f"dir:{root}")
    with pytest.raises(SourceError, match=f"{SCRIPT} leads out of the source tree"):
        editing(tree).make(session, print)
    assert outside.read_text() == BEFORE[SCRIPT]


def test_links_that_run_in_a_circle_are_left_as_they_are(tmp_path: Path, session: Session) -> None:
    root = tmp_path / "release"
    (root / SCRIPT).parent.mkdir(parents=True)
    (root / SCRIPT).symlink_to(Path(SCRIPT).name)
    tree = get(session, f"dir:{root}")
    assert editing(tree).make(session, print) is tree


def test_nothing_outside_is_made(tmp_path: Path, session: Session) -> None:
    root = tmp_path / "release"
    (root / "rocksdb/util").mkdir(parents=True)
    (root / "rocksdb/util/build_version.cc.in").write_text("@GIT_MOD@\n")
    (root / "rocksdb/util/build_version.cc").symlink_to(tmp_path / "made.cc")
    tree = get(session, f"dir:{root}")
    with pytest.raises(SourceError, match="leads out of the source tree"):
        editing(tree).make(session, print)
    assert not (tmp_path / "made.cc").exists()


def test_nothing_else_in_a_file_is_changed(tmp_path: Path, session: Session) -> None:
    root = tmp_path / "release"
    (root / SCRIPT).parent.mkdir(parents=True)
    (root / SCRIPT).write_bytes(b"# \xe4\r\nbv=rocksdb/util/build_version.cc\n\t\r\n")
    (root / SCRIPT).chmod(0o755)
    tree = get(session, f"dir:{root}")
    script = editing(tree).make(session, print).path / SCRIPT
    assert script.read_bytes() == b"# \xe4\r\nbv=/dev/null\n\t\r\n"
    assert script.stat().st_mode & 0o111


SERVER = {"mysql/bin/mysqld": elf(), "mysql/share/english/errmsg.sys": b"x"}


def tree_of(files: dict[str, bytes], folder: Path, session: Session) -> SourceTree:
    root = folder / "brought"
    for name, content in files.items():
        put(root / name, content)
    return get(session, f"dir:{root}")


def test_a_server_in_an_archive_is_unpacked_into_another_tree(
    tmp_path: Path, session: Session, notified: Notifications
) -> None:
    wrapped = {"linux/db.txz": lzma.compress(tarred(SERVER)), "linux/README": b"x"}
    tree = tree_of(wrapped, tmp_path, session)
    found = unpack_server(tree, session, notified)
    server = find_server(found.path)
    assert server is not None
    assert server.program == found.path / "linux/db/bin/mysqld"
    assert (found.path / "linux/README").is_file()
    assert found.digest != tree.digest
    assert found.label == f"{tree.resolved} (unpacked)"
    assert (tree.path / "linux/db.txz").is_file()
    assert notified == ["unpacking db.txz, which is inside"]


def test_what_was_opened_once_is_kept(
    tmp_path: Path, session: Session, notified: Notifications
) -> None:
    tree = tree_of({"db.zip": zipped(SERVER)}, tmp_path, session)
    assert find_unpacked(tree, session.home) is tree
    first = unpack_server(tree, session, notified)
    notified.clear()
    assert unpack_server(tree, session, notified).path == first.path
    assert find_unpacked(tree, session.home).path == first.path
    assert not notified


def test_a_server_that_lies_open_needs_no_other_tree(
    tmp_path: Path, session: Session, notified: Notifications
) -> None:
    brought = {"bin/mysqld": elf(), "share/more.zip": zipped(SERVER)}
    tree = tree_of(brought, tmp_path, session)
    assert unpack_server(tree, session, notified) is tree


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
    brought: dict[str, bytes], why: str, tmp_path: Path, session: Session, notified: Notifications
) -> None:
    tree = tree_of(brought, tmp_path, session)
    with pytest.raises(SourceError, match=why):
        unpack_server(tree, session, notified)
    assert find_unpacked(tree, session.home) is tree


def test_an_archive_inside_cannot_write_outside_its_folder(
    tmp_path: Path, session: Session, notified: Notifications
) -> None:
    escaping = tarred({"../../escaped": b"x", **SERVER})
    tree = tree_of({"db.tar": escaping}, tmp_path, session)
    with pytest.raises(SourceError, match="escaped"):
        unpack_server(tree, session, notified)
    assert not list(tmp_path.rglob("escaped"))
