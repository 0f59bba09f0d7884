from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dbhone.errors import HoneError, SourceError, ToolError
from dbhone.session import Session
from dbhone.source.tree import SourceTree, acquire
from tests.files import put_program
from tests.source.repositories import Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def content(tree: SourceTree) -> str:
    return (tree.path / "file").read_text()


def get(session: Session, repository: Repository, revision: str, **options: bool) -> SourceTree:
    text = f"git:{repository.root}@{revision}"
    return acquire(text, session, notify=lambda line: None, **options)


def refused(session: Session, repository: Repository, revision: str) -> HoneError:
    before = list(session.home.sources.iterdir())
    with pytest.raises(HoneError) as caught:
        get(session, repository, revision)
    assert list(session.home.sources.iterdir()) == before
    return caught.value


def test_tags_branches_and_commits_are_found(session: Session, repository: Repository) -> None:
    commits = {}
    for name in ("one", "two", "three"):
        commits[name] = repository.commit(name)
        repository.git("tag", f"v-{name}")
    repository.git("tag", "--annotate", "--message", "signed off", "noted", commits["one"])
    repository.git("branch", "topic/x", commits["two"])
    revisions = {
        "v-one": "one",
        "noted": "one",
        "topic/x": "two",
        "refs/heads/main": "three",
        "HEAD": "three",
        commits["one"]: "one",
        commits["two"][:10]: "two",
    }
    for revision, expected in revisions.items():
        tree = get(session, repository, revision)
        assert content(tree) == expected
        assert tree.resolved == f"git:{repository.root}@{commits[expected]}"


def test_a_branch_of_what_was_cloned_is_found_as_git_finds_it(
    session: Session, repository: Repository, tmp_path: Path
) -> None:
    """As on a machine of CI, which has cloned what is to be compared."""
    first = repository.commit("one")
    repository.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    clone.commit("two")
    assert get(session, clone, "origin/main").resolved == f"git:{clone.root}@{first}"


def test_a_commit_is_found_by_the_way_to_it(session: Session, repository: Repository) -> None:
    commits = {name: repository.commit(name) for name in ("one", "two", "three")}
    repository.git("tag", "--annotate", "--message", "signed off", "noted", commits["two"])
    repository.git("branch", "topic/x", commits["two"])
    revisions = {
        "HEAD~1": "two",
        "HEAD^^": "one",
        "main~2": "one",
        "topic/x~": "one",
        "noted^{}": "two",
        "noted^{commit}^1": "one",
        f"{commits['three'][:8]}~2": "one",
        f"{commits['three']}^": "two",
    }
    for revision, expected in revisions.items():
        tree = get(session, repository, revision)
        assert content(tree) == expected
        assert tree.resolved == f"git:{repository.root}@{commits[expected]}"
    error = refused(session, repository, "HEAD~3")
    assert "has no commit 'HEAD~3'" in error.message


def test_a_commit_that_no_branch_holds_any_more_is_found(
    session: Session, repository: Repository
) -> None:
    repository.commit("one")
    lost = repository.commit("two")
    repository.git("tag", "kept", lost)
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    assert content(get(session, repository, lost[:12])) == "two"


def test_nothing_of_git_is_in_the_tree(session: Session, repository: Repository) -> None:
    repository.commit("one")
    tree = get(session, repository, "main")
    assert [path.name for path in tree.path.iterdir()] == ["file"]


def test_a_branch_is_remembered_until_refreshed(session: Session, repository: Repository) -> None:
    repository.commit("one")
    assert content(get(session, repository, "main")) == "one"
    repository.commit("two")
    assert content(get(session, repository, "main")) == "one"
    assert content(get(session, repository, "main", refresh=True)) == "two"


def test_submodules_come_at_the_commit_that_is_recorded(
    session: Session, repository: Repository, tmp_path: Path
) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("first")
    repository.git("submodule", "--quiet", "add", "../inner", "lib/inner")
    repository.commit("one")
    inner.commit("later")
    tree = get(session, repository, "main")
    assert (tree.path / "lib" / "inner" / "file").read_text() == "first"
    assert not list(tree.path.rglob(".git"))


def test_an_unknown_revision_is_refused_with_the_nearest(
    session: Session, repository: Repository
) -> None:
    repository.commit("one")
    repository.git("tag", "version-1.0")
    error = refused(session, repository, "version-1.1")
    assert isinstance(error, SourceError)
    assert "no tag, branch or commit 'version-1.1'" in error.message
    assert "'version-1.0'" in str(error.hint)


@pytest.mark.parametrize("revision", ["abcdef1", "a" * 40])
def test_an_unknown_commit_is_refused(
    session: Session, repository: Repository, revision: str
) -> None:
    repository.commit("one")
    error = refused(session, repository, revision)
    assert isinstance(error, SourceError)
    assert revision in error.message


def test_a_repository_without_commits_is_refused(session: Session, repository: Repository) -> None:
    assert "no tag, branch or commit" in refused(session, repository, "main").message


def test_what_is_no_repository_is_refused_with_gits_words(
    session: Session, tmp_path: Path, folder: Path
) -> None:
    with pytest.raises(SourceError, match="does not appear to be a git repository") as caught:
        acquire(f"git:{folder}@main", session, notify=lambda line: None)
    assert caught.value.log is not None
    assert "ls-remote" in caught.value.log.read_text()


def test_a_repository_of_another_user_is_refused_with_gits_own_remedy(
    session: Session, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = f"{repository.root}/.git"
    remedy = f"git config --global --add safe.directory {folder}"
    script = f"""case "$*" in *ls-remote*) cat >&2 <<'END'
fatal: detected dubious ownership in repository at '{folder}'
To add an exception for this directory, call:

\t{remedy}
fatal: Could not read from remote repository.

Please make sure you have the correct access rights
and the repository exists.
END
exit 128 ;; esac"""
    program = put_program(tmp_path / "bin" / "git", script)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    error = refused(session, repository, "main")
    assert "detected dubious ownership" in error.message
    assert error.hint == f"if you trust its owner: {remedy}"


def test_a_repository_that_lacks_a_file_is_reported_in_its_own_words(
    session: Session, repository: Repository
) -> None:
    repository.commit("one")
    blob = repository.git("rev-parse", "HEAD:file")
    (repository.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    error = refused(session, repository, "main")
    assert f"unable to read {blob}" in error.message
    assert error.log is not None
    assert b"\r" not in error.log.read_bytes()


def test_a_missing_git_is_reported_with_what_to_install(
    session: Session, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one")
    monkeypatch.setenv("PATH", str(put_program(tmp_path / "bin" / "apt-get").parent))
    error = refused(session, repository, "main")
    assert isinstance(error, ToolError)
    assert "needs git, which this machine lacks" in error.message
    assert "recommends git" in str(error.hint)


def test_no_hook_of_the_user_runs(
    session: Session, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one")
    hook = put_program(tmp_path / "hooks" / "post-checkout", f"touch {tmp_path}/ran")
    configuration = tmp_path / "gitconfig"
    configuration.write_text(f"[core]\n\thooksPath = {hook.parent}\n\tautocrlf = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    get(session, repository, "main")
    assert not (tmp_path / "ran").exists()


def test_the_repository_that_hone_is_called_from_is_left_alone(
    session: Session, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("one")
    caller = Repository(tmp_path / "caller")
    before = caller.commit("caller")
    monkeypatch.setenv("GIT_DIR", str(caller.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(caller.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(caller.root / ".git" / "index"))
    assert content(get(session, repository, "main")) == "one"
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert caller.git("status", "--porcelain") == ""
    assert caller.git("rev-parse", "HEAD") == before


def test_the_source_repository_is_not_touched(session: Session, repository: Repository) -> None:
    repository.commit("one")
    (repository.root / "file").write_text("not committed")
    before = {
        path: path.stat().st_mtime_ns for path in repository.root.rglob("*") if path.is_file()
    }
    assert content(get(session, repository, "main")) == "one"
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert repository.git("status", "--porcelain") == "M file"
