"""Fixes: what they are for, and trees that are made with them."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.dbms.base import load_dbms
from dbhone.errors import MachineError, SourceError, UnknownName, UsageError
from dbhone.session import Session
from dbhone.source import fixes
from dbhone.source.archive import unpack
from dbhone.source.derive import for_build
from dbhone.source.fetch import FetchJob
from dbhone.source.fixes import CLONE_VARIABLE, Fix, all_fixes, check_fix, fix_inputs
from dbhone.source.tree import SourceTree, kept_tree, publish_tree
from dbhone.versions import VersionRange, numbers
from tests.source.getting import get
from tests.source.make_archives import tarred

NEW = "int answer(void) { return 42; }\n"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path, session: Session) -> SourceTree:
    """An acquired tree of the release before the fix; it came without its tests."""
    root = tmp_path / "release"
    root.mkdir()
    (root / "answer.c").write_text("int answer(void) { return 41; }\n")
    return get(session, f"dir:{root}")


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A clone in which the fix is a commit that brings a test along; return the commit."""
    clone = tmp_path / "clone"
    (clone / "mysql-test").mkdir(parents=True)
    (clone / "answer.c").write_text("int answer(void) { return 41; }\n")
    (clone / "mysql-test" / "a.test").write_text("old\n")
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "release")
    (clone / "answer.c").write_text(NEW)
    (clone / "mysql-test" / "a.test").write_text("new\n")
    git(clone, "commit", "-qam", "fix")
    monkeypatch.setenv(CLONE_VARIABLE, str(clone))
    commit = git(clone, "rev-parse", "HEAD")
    monkeypatch.setattr(fixes, "all_fixes", lambda: {"answer": a_fix(commit)})
    return commit


def a_fix(commit: str) -> Fix:
    return Fix(
        name="answer",
        title="the answer",
        dbms=frozenset({"mysql"}),
        span=VersionRange(since="8.0.11", until="8.0.22"),
        why="it was wrong",
        source="a bug",
        commits=(commit,),
    )


def fixed(
    tree: SourceTree, session: Session, fix: str, *, dbms: str = "mysql", version: str = "8.0.18"
) -> SourceTree:
    return for_build(tree, load_dbms(dbms), version, (fix,)).make(session, print)


@pytest.mark.usefixtures("upstream")
def test_a_fix_makes_another_tree_and_leaves_the_first(tree: SourceTree, session: Session) -> None:
    found = fixed(tree, session, "answer")
    assert (found.path / "answer.c").read_text() == NEW
    assert "41" in (tree.path / "answer.c").read_text()
    assert found.digest != tree.digest
    assert found.label == f"{tree.resolved} with answer"
    assert not (found.path / "mysql-test").exists()


@pytest.mark.usefixtures("upstream")
def test_it_is_made_once(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fixed(tree, session, "answer")
    monkeypatch.delenv(CLONE_VARIABLE)
    assert fixed(tree, session, "answer").digest == first.digest
    assert kept_tree(first.digest, session.home) is not None


def test_a_patch_of_the_users_is_applied(
    tree: SourceTree, session: Session, tmp_path: Path
) -> None:
    patch = tmp_path / "mine.patch"
    patch.write_text(
        "--- a/answer.c\n+++ b/answer.c\n@@ -1 +1 @@\n"
        "-int answer(void) { return 41; }\n+int answer(void) { return 43; }\n"
    )
    found = fixed(tree, session, str(patch), dbms="mariadb")
    assert "43" in (found.path / "answer.c").read_text()


@pytest.mark.usefixtures("upstream")
@pytest.mark.parametrize("folder", [".git/", ""])
def test_a_tree_from_an_archive_names_no_program_for_git_to_run(
    session: Session, tmp_path: Path, job_for: Callable[[str], FetchJob], folder: str
) -> None:
    """A repository lies in a folder ``.git`` or, a bare one, in the tree's own folder."""
    ran = tmp_path / "ran"
    bare = str(not folder).lower()
    settings = f'[core]\n bare = {bare}\n[filter "x"]\n clean = tee {ran}\n'
    files = {
        f"{folder}HEAD": "ref: refs/heads/main\n",
        f"{folder}config": settings,
        f"{folder}info/attributes": "* filter=x\n",
        f"{folder}objects/pack/x": "",
        f"{folder}refs/heads/x": "",
        "answer.c": "int answer(void) { return 41; }\n",
    }
    job = job_for(f"https://h.example/a.tar#sha256={0:064}")
    archive = job.scratch / "archive"
    archive.write_bytes(tarred({name: text.encode() for name, text in files.items()}))
    unpack(archive, job.into, scratch=job.scratch)
    draft = tmp_path / "draft"
    draft.mkdir()
    job.into.rename(draft / "tree")
    tree = publish_tree(draft, session.home, reference="https:x", resolved="https:x")
    assert (fixed(tree, session, "answer").path / "answer.c").read_text() == NEW
    assert not ran.exists()


@pytest.mark.usefixtures("upstream")
def test_a_fix_that_does_not_apply_leaves_nothing(
    tree: SourceTree, session: Session, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "answer.c").write_text("int answer(void);\n")
    foreign = get(session, f"dir:{other}")
    with pytest.raises(SourceError, match="'answer' does not apply") as caught:
        fixed(foreign, session, "answer")
    assert caught.value.log is not None
    assert "answer.c" in caught.value.log.read_text()
    assert foreign.digest != tree.digest


@pytest.mark.usefixtures("upstream")
@pytest.mark.parametrize(
    ("fix", "dbms", "version", "message"),
    [
        ("answer", "mysql", "8.0.22", "from 8.0.11 to before 8.0.22, not for 8.0.22"),
        ("answer", "mysql", "8.0.4", "not for 8.0.4"),
        ("answer", "mariadb", "8.0.18", "is for mysql, not for mariadb"),
        ("./nowhere.patch", "mysql", "8.0.18", "there is no patch nowhere.patch"),
        ("~no-such-user-here/x.patch", "mysql", "8.0.18", "there is no such user"),
    ],
)
def test_a_fix_that_is_for_others_is_refused(
    tree: SourceTree, session: Session, fix: str, dbms: str, version: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fixed(tree, session, fix, dbms=dbms, version=version)
    assert message in caught.value.message


def test_a_patch_that_cannot_be_read_is_refused(
    tree: SourceTree, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = tmp_path / "mine.patch"
    patch.touch()

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    for method in ("is_file", "open"):
        with monkeypatch.context() as patched:
            patched.setattr(Path, method, denied)  # root may read everything
            with pytest.raises(UsageError, match=r"cannot read the patch .*: Permission denied"):
                fix_inputs(str(patch), dbms="mysql", version="8.0.18")


@pytest.mark.usefixtures("upstream")
def test_without_a_clone_the_commit_is_named(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CLONE_VARIABLE)
    with pytest.raises(MachineError, match="which hone takes from your clone"):
        fixed(tree, session, "answer")


@pytest.mark.usefixtures("upstream")
def test_a_clone_without_the_commit_is_reported(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixes, "all_fixes", lambda: {"answer": a_fix("0" * 40)})
    with pytest.raises(SourceError, match="has no commit 000000000000"):
        fixed(tree, session, "answer")


def test_the_fixes_that_ship_have_whole_commits_and_a_range() -> None:
    for name, fix in all_fixes().items():
        assert name == fix.name
        assert fix.title, name
        assert fix.why, name
        assert fix.source, name
        assert numbers(fix.span.since) < numbers(fix.span.until)
        assert all(len(each) == 40 and int(each, 16) for each in fix.commits)


def test_an_unknown_fix_names_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        check_fix("logsys")
    assert caught.value.hint is not None
    assert "'log-sys'" in caught.value.hint
