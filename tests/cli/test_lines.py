"""Where the command line writes files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbhone.cli.lines import check_output, write_output
from dbhone.errors import UsageError


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As root, /dev/stdout would be a regular file from then on."""
    reader, writer = os.pipe()
    link = tmp_path / "stdout"
    link.symlink_to(f"/proc/self/fd/{writer}")
    write_output(link, "report", force=False)
    assert os.read(reader, 99) == b"report"
    assert [each.name for each in tmp_path.iterdir()] == ["stdout"]
    assert link.is_symlink()
    os.close(reader)
    os.close(writer)


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    write_output(link, "new", force=True)
    assert link.is_symlink()
    assert file.read_text() == "new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_device_is_no_wrong_use(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_output(link, "report", force=False)
    assert link.is_symlink()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        write_output(tmp_path, "report", force=False)


def test_a_name_that_no_file_can_have_is_wrong_use_and_no_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*: File name too long"):
        check_output(tmp_path / ("x" * 300), force=False)
