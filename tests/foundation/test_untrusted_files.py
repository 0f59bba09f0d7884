"""Files and trees that a hostile server has prepared for whoever reads or removes them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dbhone.errors import UntrustedFileError
from dbhone.files import digest_of_tree, tree_size
from dbhone.untrusted_files import keep_untrusted, open_folders, read_untrusted, remove_tree, walk


def nested(folder: Path, depth: int) -> Path:
    """Make a chain of folders that no path can name, with a file at its end; return the first."""
    first = folder / "deep"
    first.mkdir()
    descriptor = os.open(first, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 20, dir_fd=descriptor)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
    os.close(descriptor)
    return first


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one two")
    assert read_untrusted(path) == b"one two"
    assert read_untrusted(path, start=4) == b"two"


def test_a_file_is_kept_if_that_is_possible(tmp_path: Path) -> None:
    log, kept = tmp_path / "log", tmp_path / "kept"
    log.write_bytes(b"a" * 100)
    assert keep_untrusted(log, kept, limit=10) == kept
    assert kept.read_bytes() == b"aaaaa\n[...]\naaaaa"
    assert keep_untrusted(tmp_path / "none", kept, limit=10) is None
    assert not kept.exists()


def test_a_fifo_does_not_hold_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    with pytest.raises(UntrustedFileError, match="pid is a FIFO, not an ordinary file"):
        read_untrusted(tmp_path / "pid")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "pid").symlink_to("/etc/passwd")
    with pytest.raises(UntrustedFileError, match="is a link"):
        read_untrusted(tmp_path / "pid")


def test_a_socket_a_folder_and_a_device_are_no_files(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(UntrustedFileError, match="is a socket"):
            read_untrusted(tmp_path / "s")
    with pytest.raises(UntrustedFileError, match="is a folder"):
        read_untrusted(tmp_path)
    with pytest.raises(UntrustedFileError, match="is a device"):
        read_untrusted(Path("/dev/zero"))


def test_of_a_huge_file_the_beginning_and_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(1 << 40)
        file.write(b"end")
    text = read_untrusted(path, limit=1000)
    assert text.startswith(b"begin")
    assert text.endswith(b"end")
    assert len(text) < 1100


def test_a_missing_file_is_just_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_untrusted(tmp_path / "absent")


def test_a_tree_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    remove_tree(nested(tmp_path, 5000))
    assert not list(tmp_path.iterdir())


def test_a_tree_too_deep_for_a_path_is_named(tmp_path: Path) -> None:
    deep = nested(tmp_path, 1000)
    for read in (digest_of_tree, tree_size, lambda root: list(open_folders(root))):
        with pytest.raises(UntrustedFileError, match="nested too deep"):
            read(deep)
    remove_tree(deep)


def test_what_links_lead_to_is_neither_removed_nor_walked(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(kept)
    os.mkfifo(root / "fifo")
    assert list(walk(root)) == [(root, [], ["fifo", "out"])]
    remove_tree(root)
    assert not root.exists()
    assert (kept / "file").exists()


def test_a_folder_that_becomes_a_link_meanwhile_is_not_opened(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (outside / "inner", root / "a" / "inner", root / "b" / "inner"):
        folder.mkdir(parents=True)
    opened = []
    for descriptor, names in open_folders(root):
        opened.append((Path(f"/proc/self/fd/{descriptor}").readlink(), names))
        if len(opened) == 2:
            for name in ("a", "b"):
                (root / name).rename(tmp_path / name)
                (root / name).symlink_to(outside)
    assert opened == [(root, ["a", "b"]), (root / "a", ["inner"])]


def test_a_frozen_tree_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "root" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "file").touch()
    for path in (folder, folder.parent, folder.parent.parent):
        path.chmod(0o500)
    remove_tree(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_link_in_the_place_of_a_tree_is_removed_itself(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "root").symlink_to("kept")
    remove_tree(tmp_path / "root")
    remove_tree(tmp_path / "absent")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_walking_passes_over_folders_that_are_taken_out(tmp_path: Path) -> None:
    for name in ("a", "b/c"):
        (tmp_path / name).mkdir(parents=True)
    visited = []
    for folder, folders, _ in walk(tmp_path):
        visited.append(folder.name)
        folders[:] = [name for name in folders if name != "b"]
    assert visited == [tmp_path.name, "a"]
