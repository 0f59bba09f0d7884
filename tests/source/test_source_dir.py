from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone.errors import NoSpaceError, SourceError, UsageError
from dbhone.session import Session
from dbhone.source.kinds.dir import copy_source
from dbhone.source.tree import last_tree, recall
from tests.files import put
from tests.source.getting import get

NOBODY = 65534


def entries(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_everything_is_copied_except_git(session: Session, folder: Path) -> None:
    for name in (".git", "src/.git"):
        (folder / name).mkdir()
        (folder / name / "HEAD").write_text("ref\n")
    (folder / ".gitignore").write_text("main.c\n")
    (folder / "empty").mkdir()
    tree = get(session, f"dir:{folder}")
    assert entries(tree.path) == [".gitignore", "configure", "empty", "src", "src/main.c"]
    assert tree.resolved == f"dir:{folder}"


@pytest.mark.parametrize(
    "marks",
    [
        ("CMakeCache.txt",),
        ("config.status", "src/Makefile.global"),
        ("meson-private/coredata.dat",),
    ],
)
def test_folders_in_which_somebody_builds_are_left_out_and_reported(
    session: Session, folder: Path, notified: list[str], marks: tuple[str, ...]
) -> None:
    alone = get(session, f"dir:{folder}")
    for name in ("build", "src/build-debug"):
        for mark in (*marks, "made.o", "inner/made.o"):
            put(folder / name / mark)
    tree = get(session, f"dir:{folder}", notified.append)
    assert tree.digest == alone.digest
    assert [line for line in notified if "left out" in line] == [
        f"left out {folder / name}: somebody builds there" for name in ("build", "src/build-debug")
    ]


def test_what_only_looks_like_a_folder_in_which_somebody_builds_is_copied(
    session: Session, folder: Path
) -> None:
    for name in ("CMakeCache.txt", "tests/config.status", "tests/CMakeCache.txt.in"):
        put(folder / name)
    (folder / "tests" / "cache").symlink_to("../CMakeCache.txt")
    tree = get(session, f"dir:{folder}")
    assert entries(tree.path) == entries(folder)


def test_a_folder_is_looked_at_again_but_what_it_was_is_known(
    session: Session, folder: Path
) -> None:
    reference = f"dir:{folder}"
    assert last_tree(reference, session.home) is None
    tree = get(session, reference)
    (folder / "more").write_text("new")
    assert recall(reference, session.home) is None
    assert last_tree(reference, session.home) == tree
    assert get(session, reference).digest != tree.digest


def test_times_modes_and_links_are_kept(session: Session, folder: Path) -> None:
    os.utime(folder / "configure", (1_600_000_000, 1_600_000_000))
    (folder / "link").symlink_to("src")
    (folder / "dangling").symlink_to("nowhere")
    tree = get(session, f"dir:{folder}")
    assert (tree.path / "configure").stat().st_mtime == 1_600_000_000
    assert (tree.path / "configure").stat().st_mode & 0o777 == 0o555
    assert (tree.path / "link").readlink() == Path("src")
    assert (tree.path / "dangling").readlink() == Path("nowhere")


def test_the_source_is_not_touched(session: Session, folder: Path) -> None:
    before = {path: path.lstat() for path in (folder, *folder.rglob("*"))}
    get(session, f"dir:{folder}")
    for path, status in before.items():
        now = path.lstat()
        assert (now.st_mode, now.st_mtime_ns) == (status.st_mode, status.st_mtime_ns)


def test_pipes_and_sockets_are_left_out_and_reported(
    session: Session, folder: Path, notified: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        tree = get(session, f"dir:{folder}", notified.append)
    assert entries(tree.path) == ["configure", "src", "src/main.c"]
    assert sum("left out" in line for line in notified) == 2


@pytest.mark.parametrize(
    ("name", "part"), [("missing", "No such file"), ("configure", "is not a folder")]
)
def test_what_is_no_folder_is_refused(session: Session, folder: Path, name: str, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        get(session, f"dir:{folder / name}")
    assert part in caught.value.message
    assert str(folder / name) in caught.value.message


def test_an_empty_folder_is_refused(session: Session, tmp_path: Path) -> None:
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    with pytest.raises(SourceError, match="no files"):
        get(session, f"dir:{tmp_path / 'empty'}")


def test_a_folder_that_holds_the_home_is_refused(session: Session, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="home folder"):
        get(session, f"dir:{tmp_path}")


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder for an ordinary user, who we are for the time of the test even if we are root."""
    root = Path(tempfile.mkdtemp(prefix="dbhone-test-"))
    try:
        if os.geteuid() == 0:
            os.chown(root, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield root
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        for path in root.rglob("*"):
            path.chmod(0o700)
        shutil.rmtree(root)


def test_a_full_disk_is_named_as_such(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path, **_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source, None, target)

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(NoSpaceError, match=r"no space left on .*configure while copying a source"):
        get(session, f"dir:{folder}")


@pytest.mark.parametrize("locked", ["src", "src/main.c"])
def test_what_cannot_be_read_is_named(unprivileged: Path, locked: str) -> None:
    root = unprivileged / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.c").write_text("int x;\n")
    (root / locked).chmod(0)
    with pytest.raises(SourceError) as caught:
        copy_source(root, unprivileged / "copy", lambda line: None)
    assert str(root / locked) in caught.value.message
    assert "Permission denied" in caught.value.message
    (root / "src").chmod(0o700)
