"""A user's data for a captured workload: what may be given, and when it counts as changed."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import pytest

from dbhone.errors import UsageError
from dbhone.workload.drivers import replay
from dbhone.workload.drivers.replay import PLUGIN, UsersData
from dbhone.workload.task import DataFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "main"
    (folder / "base").mkdir(parents=True)
    (folder / "PG_VERSION").write_text("15\n")
    (folder / "base" / "1").write_bytes(b"x" * 1000)
    (tmp_path / "shop.dump").write_bytes(b"PGDMP")
    return folder


def given(**keys: object) -> UsersData:
    return PLUGIN.data_set({"workload": "/w/shop.workload", **keys}, Path("/scripts"), None)


def test_a_dump_is_restored_and_a_folder_copied(folder: Path) -> None:
    dump = given(dump=str(folder.with_name("shop.dump")))
    assert dump.data_folder is None
    copied = given(folder=str(folder), database="shop")
    assert copied.data_folder == DataFolder(path=folder, database="shop")
    assert copied.volume == 1003
    assert copied.least_bytes == 1003


@pytest.mark.parametrize("name", ["PG_VERSION", "base/1", "base/2"])
def test_a_folder_in_which_anything_changed_is_other_data(folder: Path, name: str) -> None:
    before = given(folder=str(folder), database="shop").key
    assert given(folder=str(folder), database="shop").key == before
    (folder / name).write_bytes(b"another")
    assert given(folder=str(folder), database="shop").key != before
    assert given(folder=str(folder), database="other").key != before


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "needs the data that its queries are about"),
        ({"dump": "shop.dump", "database": "shop"}, "a dump is given alone"),
        ({"dump": "shop.dump", "folder": "main"}, "a dump is given alone"),
        ({"dump": "main"}, "is a folder, not a dump"),
        ({"dump": "by-directory"}, "is a dump in pg_dump's directory format"),
        ({"folder": "by-directory", "database": "shop"}, "is a dump in pg_dump's directory format"),
        ({"dump": "none.dump"}, "there is no dump"),
        ({"folder": "none", "database": "shop"}, "there is no folder"),
        ({"folder": "a-file", "database": "shop"}, "is a file, not a data directory"),
        ({"folder": "empty", "database": "shop"}, "there is nothing in the folder"),
        ({"rows": 5}, "'rows' is invalid"),
    ],
)
def test_what_cannot_be_meant_is_refused(folder: Path, keys: dict[str, object], said: str) -> None:
    (folder.parent / "a-file").touch()
    (folder.parent / "empty").mkdir()
    (folder.parent / "by-directory").mkdir()
    (folder.parent / "by-directory" / "toc.dat").touch()
    found = {
        key: str(folder.parent / str(value)) if key in ("dump", "folder") else value
        for key, value in keys.items()
    }
    with pytest.raises(UsageError, match=said):
        given(**found)


def test_a_folder_that_cannot_be_read_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path / "base"))

    monkeypatch.setattr(replay, "walk", refuse)
    with pytest.raises(UsageError, match=r"cannot read .*/base: Permission denied"):
        given(folder=str(folder), database="shop")


def test_a_link_that_leads_nowhere_is_part_of_the_data(folder: Path) -> None:
    (folder / "pg_tblspc").symlink_to("nowhere")
    assert given(folder=str(folder), database="shop").key
