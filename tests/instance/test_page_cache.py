"""Files that the kernel is to forget."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.errors import MachineError
from dbhone.instance import page_cache

MEBIBYTE = 1024 * 1024


@pytest.fixture
def folder(open_folder: Path) -> Path:
    """Return a folder on a disk; /tmp may be none."""
    (open_folder / "base").mkdir()
    (open_folder / "base" / "table").write_bytes(os.urandom(4 * MEBIBYTE))
    (open_folder / "empty").touch()
    (open_folder / "link").symlink_to("nowhere")
    return open_folder


def test_files_are_forgotten_and_stay_what_they_are(folder: Path) -> None:
    table = folder / "base" / "table"
    before = table.read_bytes()
    assert page_cache.cached_bytes(table) == 4 * MEBIBYTE
    page_cache.evict(folder)
    assert page_cache.cached_bytes(table) < 4 * MEBIBYTE // 10
    assert table.read_bytes() == before
    assert page_cache.cached_bytes(folder / "empty") == 0


def test_programs_are_read_anew_where_that_can_be_done(folder: Path) -> None:
    program, other = folder / "base" / "table", folder / "other"
    other.write_bytes(os.urandom(MEBIBYTE))
    page_cache.evict_programs([folder / "link", folder / "none", program])
    assert page_cache.cached_bytes(program) < MEBIBYTE // 10
    assert page_cache.cached_bytes(other) == MEBIBYTE


def test_all_programs_and_libraries_of_a_tree_are_read_anew(folder: Path) -> None:
    program, other = folder / "base" / "table", folder / "other"
    other.write_bytes(os.urandom(MEBIBYTE))
    page_cache.evict_programs([folder])
    assert page_cache.cached_bytes(program) < MEBIBYTE // 10
    assert page_cache.cached_bytes(other) < MEBIBYTE // 10


def test_a_file_system_on_a_disk_can_be_made_to_forget(folder: Path) -> None:
    page_cache.check_evictable(folder)
    assert {path.name for path in folder.iterdir()} == {"base", "empty", "link"}


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no file system in memory")
def test_a_file_system_in_memory_is_refused() -> None:
    folder = Path("/dev/shm") / f"hone-test-{os.getpid()}"
    folder.mkdir()
    try:
        with pytest.raises(
            MachineError, match=r"the kernel keeps 4\.0 MiB of the 4\.0 MiB"
        ) as caught:
            page_cache.check_evictable(folder)
        assert "--home" in str(caught.value.hint)
    finally:
        folder.rmdir()
