from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.command import Command
from dbhone.errors import MachineError, SourceError
from dbhone.files import digest_of_tree
from dbhone.home import Home
from dbhone.process import run
from dbhone.sandbox import TRUST_VARIABLE
from dbhone.session import Session, open_session
from dbhone.source.fetch import FetchJob
from dbhone.source.kinds import git
from dbhone.source.kinds.base import parse_reference
from dbhone.source.tree import SourceTree, acquire, check_trust, kept_tree, unchanged_tree
from dbhone.untrusted_files import remove_tree
from tests.files import put

REFERENCE = "git:/nowhere@v1"
COMMIT = "a" * 40


class FakeKind:
    """Stands in for the git kind: fills the tree by a function, and counts."""

    def __init__(self) -> None:
        self.fetched = 0
        self.fill: Callable[[FetchJob], None] = self.write
        self.content = "one"

    def write(self, job: FetchJob) -> None:
        (job.into / "file").write_text(self.content)

    def fetch(self, job: FetchJob) -> str:
        self.fetched += 1
        self.fill(job)
        return f"git:/nowhere@{COMMIT}"


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> FakeKind:
    fake = FakeKind()
    monkeypatch.setattr(git, "PLUGIN", dataclasses.replace(git.PLUGIN, fetch=fake.fetch))
    return fake


def get(session: Session, text: str = REFERENCE, *, refresh: bool = False) -> SourceTree:
    return acquire(text, session, refresh=refresh, notify=lambda line: None)


def test_a_tree_with_a_damaged_record_is_no_tree(session: Session, kind: FakeKind) -> None:
    tree = get(session)
    record = tree.path.parent / "source.json"
    fields = json.loads(record.read_text())
    assert fields.keys() == {"reference", "resolved", "digest", "fetched_at", "change", "origin"}
    undated = {name: value for name, value in fields.items() if name != "fetched_at"}
    others: list[object] = [undated, [], {**fields, "digest": 5}, {**fields, "fetched_at": "soon"}]
    assert kept_tree(tree.digest, session.home) == tree
    for damaged in others:
        record.write_text(json.dumps(damaged))
        assert kept_tree(tree.digest, session.home) is None


def everything(home: Home) -> set[str]:
    """Return what is in the home apart from the session that is open."""
    found = (path.relative_to(home.root) for path in home.root.rglob("*"))
    return {str(path) for path in found if path.parts[0] not in ("sessions", "scratch")}


def test_a_tree_is_named_by_its_digest_and_lies_in_the_home(
    session: Session, kind: FakeKind
) -> None:
    tree = get(session)
    assert tree.path == session.home.sources / tree.digest / "tree"
    assert tree.digest == digest_of_tree(tree.path)
    assert (tree.path / "file").read_text() == "one"
    assert (tree.path.parent / "source.json").is_file()
    assert tree.resolved == f"git:/nowhere@{COMMIT}"
    assert tree.fetched_at.tzinfo is not None


def test_a_tree_cannot_be_written_to(session: Session, folder: Path) -> None:
    tree = get(session, f"dir:{folder}")
    for path in (tree.path, *tree.path.rglob("*")):
        assert path.stat().st_mode & 0o222 == 0
    assert os.access(tree.path / "configure", os.X_OK)


def test_the_same_reference_again_is_not_fetched_again(session: Session, kind: FakeKind) -> None:
    first = get(session)
    assert get(session) == first
    assert kind.fetched == 1


def test_what_it_resolved_to_is_not_fetched_again_either(session: Session, kind: FakeKind) -> None:
    first = get(session)
    again = get(session, first.resolved)
    assert again == dataclasses.replace(first, reference=first.resolved)
    assert kind.fetched == 1


def test_another_revision_is_fetched(session: Session, kind: FakeKind) -> None:
    get(session)
    get(session, "git:/nowhere@v2")
    assert kind.fetched == 2


def test_refresh_looks_again_and_is_remembered(session: Session, kind: FakeKind) -> None:
    first = get(session)
    kind.content = "two"
    second = get(session, refresh=True)
    assert second.digest != first.digest
    assert get(session) == second
    assert (first.path / "file").read_text() == "one"


def test_the_same_content_is_stored_once(session: Session, kind: FakeKind) -> None:
    first = get(session)
    second = get(session, "git:/nowhere@v2")
    assert first.path == second.path
    assert len(list(session.home.sources.glob("*/tree"))) == 1


def test_a_tree_deleted_by_hand_comes_back(session: Session, kind: FakeKind) -> None:
    first = get(session)
    remove_tree(first.path)
    assert get(session).path == first.path
    assert (first.path / "file").read_text() == "one"
    assert kind.fetched == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"digest": "x"}', "\xff"])
def test_a_damaged_memory_is_forgotten(session: Session, kind: FakeKind, damage: str) -> None:
    get(session)
    for pin in (session.home.sources / "references").iterdir():
        pin.write_bytes(damage.encode("latin-1"))
    get(session)
    assert kind.fetched == 2


def test_a_folder_is_looked_at_each_time(session: Session, folder: Path) -> None:
    first = get(session, f"dir:{folder}")
    assert get(session, f"dir:{folder}").digest == first.digest
    (folder / "src" / "main.c").write_text("changed\n")
    assert get(session, f"dir:{folder}").digest != first.digest


@pytest.mark.parametrize("ending", [KeyboardInterrupt(), SourceError("no"), RecursionError()])
def test_a_fetch_that_ends_badly_leaves_nothing(
    session: Session, kind: FakeKind, ending: BaseException
) -> None:
    before = everything(session.home)

    def fill(job: FetchJob) -> None:
        kind.write(job)
        raise ending

    kind.fill = fill
    with pytest.raises(type(ending)):
        get(session)
    assert everything(session.home) == before
    assert not list(session.scratch.iterdir())


def test_a_fetch_that_is_killed_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from dbhone.home import Home
from dbhone.session import open_session
from dbhone.source import tree
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
setattr(tree, sys.argv[3], die)
with open_session(Home(Path(sys.argv[1]))) as session:
    tree.acquire("dir:" + sys.argv[2], session, notify=print)
"""
    home = Home(tmp_path / "home")
    with open_session(home):
        before = everything(home)
    for moment in ("digest_of_tree", "write_whole", "freeze", "publish"):
        argv = (sys.executable, "-c", program, str(home.root), str(folder), moment)
        assert run(Command(argv=argv, cwd=tmp_path)).status == -signal.SIGKILL
        with open_session(home):
            assert everything(home) == before
            assert len(list(home.scratch.iterdir())) == 0


def test_a_full_disk_is_reported_as_such(session: Session, kind: FakeKind) -> None:
    def fill(job: FetchJob) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(job.into))

    kind.fill = fill
    with pytest.raises(MachineError, match="no space left") as caught:
        get(session)
    assert caught.value.hint is not None


def test_other_troubles_of_the_disk_are_errors_of_the_source(
    session: Session, kind: FakeKind
) -> None:
    def fill(job: FetchJob) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(job.into))

    kind.fill = fill
    with pytest.raises(SourceError, match="Input/output error"):
        get(session)


def test_an_empty_tree_is_refused(session: Session, kind: FakeKind) -> None:
    kind.fill = lambda job: None
    with pytest.raises(SourceError, match="empty"):
        get(session)


@pytest.mark.parametrize(
    ("target", "leads_out"),
    [("src/main.c", False), ("/etc/hostname", True), ("../outside", True), ("loop", False)],
)
def test_links_that_lead_out_are_reported(
    session: Session, folder: Path, notified: list[str], target: str, leads_out: bool
) -> None:
    (folder / "loop").symlink_to(target)
    acquire(f"dir:{folder}", session, notify=notified.append)
    assert any("the link loop leads out" in line for line in notified) == leads_out


@pytest.mark.parametrize(("named", "kept"), [(True, ["words"]), (False, [])])
def test_a_log_is_kept_only_when_an_error_names_it(
    session: Session, kind: FakeKind, named: bool, kept: list[str]
) -> None:
    def fill(job: FetchJob) -> None:
        job.log.write_text("words")
        raise SourceError("no", log=job.log if named else None)

    kind.fill = fill
    with pytest.raises(SourceError):
        get(session)
    assert [log.read_text() for log in session.home.logs.iterdir()] == kept


def test_a_strangers_tree_needs_a_sandbox_or_the_users_trust(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE, raising=False)
    monkeypatch.setattr("dbhone.source.tree.why_not_enclosed", lambda: "bwrap is missing")
    stranger = parse_reference("npm:some-server@1.0.0")
    with pytest.raises(MachineError, match=r"must run in a sandbox.*: bwrap is missing") as raised:
        check_trust(stranger)
    assert "hone --trust" in (raised.value.hint or "")
    for own in ("apt:sqlite3", "deb:mariadb-server-core", f"dir:{tmp_path}"):
        check_trust(parse_reference(own))
    monkeypatch.setenv(TRUST_VARIABLE, "1")
    check_trust(stranger)


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        (lambda folder: None, False),
        (lambda folder: (folder / "a.c").write_text("int b;"), True),
        (lambda folder: (folder / "new.c").touch(), True),
        (lambda folder: (folder / "a.c").unlink(), True),
        (lambda folder: (folder / ".git" / "index").write_text("x"), False),
        (lambda folder: (folder / "build" / "new.o").touch(), False),
    ],
    ids=["nothing", "a file", "a new file", "a file less", "git's own", "a build's"],
)
def test_a_folder_that_may_have_changed_is_no_tree_that_is_known(
    change: Callable[[Path], object], is_another: bool, session: Session, tmp_path: Path
) -> None:
    folder = tmp_path / "edited"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.c").write_text("int a;")
    (folder / ".git" / "index").write_text("")
    put(folder / "build" / "CMakeCache.txt")
    reference = f"dir:{folder}"
    assert unchanged_tree(reference, session.home) is None
    time.sleep(0.01)  # the clock of file systems is coarser than the other
    tree = acquire(reference, session, notify=lambda _: None)
    time.sleep(0.01)
    change(folder)
    known = unchanged_tree(reference, session.home)
    assert known == (None if is_another else tree)


def test_a_folder_that_changes_while_it_is_fetched_is_no_tree_that_is_known(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit_and_digest(tree: Path) -> str:
        time.sleep(0.01)  # the clock of file systems is coarser than the other
        (folder / "new.c").touch()
        return digest_of_tree(tree)

    monkeypatch.setattr("dbhone.source.tree.digest_of_tree", edit_and_digest)
    tree = get(session, f"dir:{folder}")
    assert not (tree.path / "new.c").exists()
    assert unchanged_tree(tree.resolved, session.home) is None
