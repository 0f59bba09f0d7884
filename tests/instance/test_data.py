"""Copies of saved data directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.account import Account, Tenant
from dbhone.instance import data
from dbhone.instance.place import make_place
from dbhone.session import Session

HOLE = 8 * 1024**2


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    root = tmp_path / "saved" / "data"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "file").write_bytes(os.urandom(300_000))
    (root / "link").symlink_to("deep/file")
    with (root / "sparse").open("wb") as file:
        file.seek(HOLE)
        file.write(b"after a hole")
    (root / "deep").chmod(0o750)
    root.chmod(0o700)
    return root.parent


def test_contents_modes_links_and_holes_are_kept(saved: Path, open_session_home: Session) -> None:
    place = make_place(open_session_home, Tenant())
    data.restore(saved, place)
    source = saved / "data"
    names = {path.relative_to(source) for path in source.rglob("*")}
    assert {path.relative_to(place.data) for path in place.data.rglob("*")} == names
    for name in (Path(), *names):
        before, after = (source / name).lstat(), (place.data / name).lstat()
        assert after.st_mode == before.st_mode, name
        if not (source / name).is_dir():
            assert (place.data / name).read_bytes() == (source / name).read_bytes()
    assert (place.data / "link").readlink() == Path("deep/file")
    assert (place.data / "sparse").stat().st_blocks * 512 < HOLE


def test_a_copy_is_on_its_disk_and_other_disks_are_left_alone(
    saved: Path, open_session_home: Session, synced: list[Path]
) -> None:
    place = make_place(open_session_home, Tenant())
    data.restore(saved, place)
    assert (place.data / "deep" / "file").is_file()
    assert synced == [place.data]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_copy_belongs_to_the_servers_account_whole(
    saved: Path, open_session_home: Session
) -> None:
    place = make_place(open_session_home, Tenant(account=Account("x", 54321, 54322)))
    data.restore(saved, place)
    paths = (place.data, *place.data.rglob("*"))
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in paths}
    assert owners == {(54321, 54322)}
    assert saved.stat().st_uid == 0
