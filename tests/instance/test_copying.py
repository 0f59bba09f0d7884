"""Copies of data directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.instance.copying import copy_tree

HOLE = 8 * 1024**2


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "file").write_bytes(os.urandom(300_000))
    (root / "empty").touch()
    (root / "link").symlink_to("deep/er/file")
    with (root / "sparse").open("wb") as file:
        file.seek(HOLE)
        file.write(b"after a hole")
        file.truncate(2 * HOLE)
    (root / "deep").chmod(0o750)
    (root / "empty").chmod(0o600)
    root.chmod(0o700)
    return root


def compare(source: Path, copy: Path) -> None:
    names = {path.relative_to(source) for path in source.rglob("*")}
    assert {path.relative_to(copy) for path in copy.rglob("*")} == names
    for name in (Path(), *names):
        before, after = (source / name).lstat(), (copy / name).lstat()
        assert after.st_mode == before.st_mode, name
        if not (source / name).is_dir():
            assert (copy / name).read_bytes() == (source / name).read_bytes()
    assert (copy / "link").readlink() == Path("deep/er/file")


def test_contents_modes_links_and_holes_are_kept(tree: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    copy_tree(tree, copy, None)
    compare(tree, copy)
    assert (copy / "sparse").stat().st_blocks * 512 < HOLE


def test_a_file_system_that_shares_nothing_and_copies_nothing_itself_will_do(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.ioctl", refuse)
    monkeypatch.setattr("os.copy_file_range", refuse)
    copy = tmp_path / "copy"
    copy.mkdir()
    copy_tree(tree, copy, None)
    compare(tree, copy)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_copy_belongs_to_its_owner_whole(tree: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    copy_tree(tree, copy, (54321, 54322))
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in (copy, *copy.rglob("*"))}
    assert owners == {(54321, 54322)}
    assert tree.stat().st_uid == 0
