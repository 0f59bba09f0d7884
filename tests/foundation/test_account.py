"""The account that servers run as."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from dbhone.account import Account, check_reachable, own, server_account
from dbhone.errors import MachineError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv("DBHONE_ACCOUNT", raising=False)


def account_of(name: str, uid: int) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, 995, "", "/nonexistent", "/usr/sbin/nologin"))


def test_who_is_not_root_runs_servers_as_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert server_account() is None


@pytest.mark.usefixtures("root")
def test_root_runs_them_as_dbhone_or_as_whom_he_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwnam", lambda name: account_of(name, 999))
    assert server_account() == Account("dbhone", 999, 995)
    monkeypatch.setenv("DBHONE_ACCOUNT", "mysql")
    assert server_account() == Account("mysql", 999, 995)


@pytest.mark.usefixtures("root")
def test_a_missing_account_is_told_with_the_command_that_makes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBHONE_ACCOUNT", "no-such-account")
    with pytest.raises(MachineError, match="no account 'no-such-account'") as caught:
        server_account()
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("useradd --system")


@pytest.mark.usefixtures("root")
def test_servers_never_run_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBHONE_ACCOUNT", "root")
    with pytest.raises(MachineError, match="is root"):
        server_account()


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
def test_a_tree_is_given_away_but_not_what_its_links_lead_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch()
    tree = tmp_path / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").touch()
    (tree / "link").symlink_to(outside)
    own(tree, Account("x", 54321, 54322))
    for path in (tree, tree / "folder", tree / "folder" / "file", tree / "link"):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (54321, 54322)
    assert outside.stat().st_uid == 0
