"""Accounts of strangers' programs: files that are given to them, and what they can reach."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dbhone.account import (
    LENT,
    Account,
    check_reachable,
    check_readable,
    lendable,
    own,
    take_back,
    user_database,
)
from dbhone.errors import MachineError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_a_folder_that_the_account_cannot_enter_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    inner = closed / "inner"
    inner.mkdir(parents=True, mode=0o755)
    closed.chmod(0o700)
    stranger = Account("dbhone", 54321, 54321)
    with pytest.raises(
        MachineError, match="'dbhone', which servers run as, cannot enter"
    ) as caught:
        check_reachable(inner, stranger)
    assert caught.value.hint is not None
    assert "--home or DBHONE_HOME" in caught.value.hint
    check_reachable(inner, None)
    check_reachable(Path("/"), stranger)
    check_reachable(inner, lendable(LENT[0]))  # it lives in sandboxes


@as_root
def test_who_is_to_let_others_read_a_file_is_told_to_open_that_file_alone(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.touch(mode=0o600)
    with pytest.raises(MachineError, match="cannot read") as caught:
        check_readable((script,))
    assert caught.value.hint == f"let others read it: chmod a+r {script}"


def test_the_owners_bits_decide_for_the_owner(tmp_path: Path) -> None:
    status = tmp_path.stat()
    owner = Account("me", status.st_uid, 54321)
    tmp_path.chmod(0o077)
    try:
        with pytest.raises(MachineError, match="cannot enter"):
            check_reachable(tmp_path, owner)
    finally:
        tmp_path.chmod(0o700)


@as_root
def test_a_tree_is_given_away_and_taken_back_but_not_what_its_links_lead_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    tree = tmp_path / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").touch()
    (tree / "link").symlink_to(outside)
    paths = (tree, tree / "folder", tree / "folder" / "file", tree / "link")
    own(tree, Account("x", 54321, 54322))
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in paths} == {(54321, 54322)}
    own(tree / "link", Account("x", 54323, 54323))
    assert {path.stat().st_uid for path in (outside, outside / "file")} == {0}
    take_back(tree)
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in paths} == {(0, 0)}


@as_root
def test_a_program_that_changes_its_tree_meanwhile_gets_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    for folder in (outside, tree / "folder"):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    chown = os.chown

    def give_and_swap(name: str | Path, *arguments: int, **options: Any) -> None:
        chown(name, *arguments, **options)
        if Path(name).name == "folder" and not (tree / "aside").exists():
            (tree / "folder").rename(tree / "aside")
            (tree / "folder").symlink_to(outside)

    monkeypatch.setattr(os, "chown", give_and_swap)
    own(tree, Account("x", 54321, 54321))
    assert (tree / "folder").is_symlink()
    assert {path.stat().st_uid for path in (outside, outside / "file")} == {0}
    assert {path.stat().st_uid for path in (tree, tree / "aside")} == {54321}


def test_a_sandbox_knows_root_nobody_and_its_own_account_alone() -> None:
    users, groups = user_database(lendable(60800))
    assert groups.splitlines() == ["root:x:0:", "dbhone:x:60800:", "nobody:x:65534:"]
    assert users.splitlines() == [
        "root:x:0:0::/root:/bin/sh",
        "dbhone:x:60800:60800::/nonexistent:/bin/sh",
        "nobody:x:65534:65534::/nonexistent:/bin/sh",
    ]
    assert f":{os.getuid()}:{os.getgid()}:" in user_database(None)[0]
