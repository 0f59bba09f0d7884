"""Files that are whole or absent, and digests."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone import files
from dbhone.errors import UsageError
from dbhone.files import (
    absolute_path,
    copy_tree,
    digest_of,
    digest_of_tree,
    freeze,
    publish,
    tree_size,
    write_whole,
)
from dbhone.untrusted_files import remove_tree, walk


def test_a_users_path_begins_in_his_folder_and_names_a_home_only_by_its_first_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert absolute_path("mine", tmp_path) == tmp_path / "mine"
    assert absolute_path("~/mine", tmp_path) == Path("/home/me/mine")
    assert absolute_path("./~nobody-here/mine", tmp_path) == tmp_path / "~nobody-here" / "mine"
    with pytest.raises(UsageError, match="there is no such user"):
        absolute_path("~nobody-here/mine", tmp_path)


@given(st.dictionaries(st.text(), st.integers()))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert digest_of(value) == digest_of(backwards)


@given(st.dictionaries(st.text(), st.integers()), st.dictionaries(st.text(), st.integers()))
def test_different_values_have_different_digests(one: dict[str, int], two: dict[str, int]) -> None:
    assert (digest_of(one) == digest_of(two)) == (one == two)


def make_tree(root: Path) -> Path:
    (root / "sub").mkdir(parents=True)
    (root / "a").write_text("a")
    (root / "sub" / "b").write_text("b")
    (root / "link").symlink_to("a")
    return root


def test_a_trees_digest_sees_content_names_execute_bits_and_links(tmp_path: Path) -> None:
    first = digest_of_tree(make_tree(tmp_path / "one"))
    other = make_tree(tmp_path / "two")
    assert digest_of_tree(other) == first
    (other / "a").chmod(0o755)
    executable = digest_of_tree(other)
    (other / "link").unlink()
    (other / "link").symlink_to("sub/b")
    relinked = digest_of_tree(other)
    (other / "a").write_text("changed")
    changed = digest_of_tree(other)
    (other / "a").rename(other / "c")
    assert len({first, executable, relinked, changed, digest_of_tree(other)}) == 5


def test_a_trees_digest_ignores_times(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "one")
    first = digest_of_tree(root)
    os.utime(root / "a", (1, 1))
    assert digest_of_tree(root) == first


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")
    write_whole(path, b"new")
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file_and_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_whole(tmp_path / "file", "old")
    monkeypatch.setattr(os, "fsync", full)
    for name in ("file", "other"):
        with pytest.raises(OSError, match="No space left"):
            write_whole(tmp_path / name, b"new" * 9999)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_what_is_published_first_stays(tmp_path: Path) -> None:
    final = tmp_path / "final" / "x"
    for content in ("first", "second"):
        draft = tmp_path / content
        draft.mkdir()
        (draft / "file").write_text(content)
        publish(draft, final)
        assert not draft.exists()
    assert (final / "file").read_text() == "first"


def test_what_is_published_is_on_its_disk_and_other_disks_are_left_alone(
    tmp_path: Path, synced: list[Path]
) -> None:
    (tmp_path / "draft").mkdir()
    publish(tmp_path / "draft", tmp_path / "final")
    assert (tmp_path / "final").is_dir()
    assert synced == [tmp_path / "draft"]


def test_a_disk_that_does_not_take_what_was_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> int:
        ctypes.set_errno(errno.ENOSPC)
        return -1

    monkeypatch.setattr(files, "_LIBC", SimpleNamespace(syncfs=fail))
    with pytest.raises(OSError, match="No space left"):
        files.sync_file_system(tmp_path)


def test_a_copy_is_the_same_with_its_times_and_modes(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "one")
    os.utime(root / "sub" / "b", (1, 1))
    os.utime(root / "sub", (2, 2))
    freeze(root)
    copy_tree(root, tmp_path / "two")
    assert digest_of_tree(tmp_path / "two") == digest_of_tree(root)
    for name in ("a", "sub", "sub/b"):
        copied, original = (tmp_path / "two" / name).stat(), (root / name).stat()
        assert (copied.st_mtime, copied.st_mode) == (original.st_mtime, original.st_mode)


def test_what_is_left_out_of_a_copy_is_so_at_any_depth(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "one")
    (root / "sub" / "a").mkdir()
    (root / "sub" / "link").symlink_to("b")
    copy_tree(root, tmp_path / "two", left_out=("a", "link"))
    found = sorted(str(path.relative_to(tmp_path / "two")) for path in tmp_path.glob("two/**/*"))
    assert found == ["sub", "sub/b"]


def test_a_copy_ends_with_the_first_error(tmp_path: Path) -> None:
    tried = []

    def full(source: Path, target: Path) -> None:
        tried.append(source.name)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source, None, target)

    with pytest.raises(OSError, match="No space left") as caught:
        copy_tree(make_tree(tmp_path / "one"), tmp_path / "two", copy=full)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename2 == tmp_path / "two" / "a"
    assert tried == ["a"]


def test_a_frozen_tree_can_be_removed(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "one")
    assert tree_size(root) >= 2
    freeze(root)
    assert not (root / "a").stat().st_mode & 0o222
    remove_tree(root)
    remove_tree(root)
    assert not root.exists()


def test_a_file_with_several_names_takes_its_space_once(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "one")
    before = tree_size(root)
    (root / "sub" / "again").hardlink_to(root / "a")
    assert tree_size(root) == before
    (root / "sub" / "copy").write_bytes((root / "a").read_bytes())
    assert tree_size(root) == before + 1


def test_what_is_removed_while_sizes_are_added_up_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_tree(tmp_path / "one")
    found = list(walk(root))

    def remove_first(*_: object, **__: object) -> list[tuple[Path, list[str], list[str]]]:
        remove_tree(root / "sub")
        return found

    before = tree_size(root)
    with monkeypatch.context() as patched:
        patched.setattr("dbhone.files.walk", remove_first)
        found_then = tree_size(root)
    assert found_then == tree_size(root) < before
    assert list(walk(tmp_path / "none", missing_ok=True)) == []
