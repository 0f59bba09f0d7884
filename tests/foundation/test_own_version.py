"""The version that hone tells of itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import dbhone
from dbhone.own_version import local_version, own_version

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(clone: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", "-C", str(clone), *who, *words), check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("one")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "one")
    git(tmp_path, "tag", "v9.9")
    return tmp_path


@needs_git
def test_a_clone_adds_its_commit(clone: Path) -> None:
    assert re.fullmatch(r"\+g[0-9a-f]{7}", local_version(clone))


@needs_git
def test_a_clone_with_changed_files_says_so(clone: Path) -> None:
    (clone / "file").write_text("two")
    assert re.fullmatch(r"\+g[0-9a-f]{7}\.dirty", local_version(clone))


@needs_git
def test_a_clone_without_a_commit_adds_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert local_version(tmp_path) == ""


def test_a_folder_that_is_no_clone_adds_nothing(tmp_path: Path) -> None:
    assert local_version(tmp_path) == ""


def test_without_git_nothing_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert local_version(tmp_path) == ""


def test_it_begins_with_the_version_of_the_package() -> None:
    assert own_version().partition("+")[0] == dbhone.__version__
